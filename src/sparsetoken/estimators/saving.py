"""Fitted classifiers in files that run no code when they are read.

The format is that of skops: arrays, plain values, and the names of a few known types. A pickle,
which joblib writes, can run any code when it is loaded; such files are read on demand only.
"""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from sparsetoken.extras import needed
from sparsetoken.files import written_whole
from sparsetoken.validation import InvalidInput

PICKLES = (".joblib", ".pickle", ".pkl")
_UNREADABLE = (EOFError, KeyError, OSError, RuntimeError, TypeError, ValueError, AttributeError)


def save(estimator: Any, path: Path | str) -> None:
    """Write a fitted classifier, whole or not at all.

    Parameters
    ----------
    estimator : classifier of this package
        A step that is not of this package or of scikit-learn is refused when it is loaded.
    path : path
        If it ends in .joblib, .pickle or .pkl, a pickle is written, which `load` reads only if
        it is told to trust it.

    Returns
    -------
    None

    Raises
    ------
    InvalidInput
        If skops is not installed.
    OSError
        If the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() in PICKLES:
        import joblib  # type: ignore[import-untyped]

        with written_whole(path) as aside:
            joblib.dump(estimator, aside)
        return
    content = _skops().dumps(estimator)
    with written_whole(path) as aside:
        aside.write_bytes(content)


def load(path: Path | str, *, trust_pickle: bool = False) -> Any:
    """Read what `save` wrote.

    Parameters
    ----------
    path : path
    trust_pickle : bool
        Whether a pickle is loaded. It can run any code: only from those whom you trust.

    Returns
    -------
    estimator
        The fitted classifier.

    Raises
    ------
    InvalidInput
        If there is no such file, if it is damaged or lacks what this version keeps of a fit, if it
        names types other than those of this
        package and the ones that skops knows to be harmless, or if it is a pickle that is not
        trusted.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from sparsetoken.estimators import PooledLinearClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(40, 3, 2)), np.arange(40) % 2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(PooledLinearClassifier().fit(X, y), folder + "/model.skops")
    ...     load(folder + "/model.skops")
    PooledLinearClassifier()
    """
    path = Path(path)
    if not path.is_file():
        raise InvalidInput("MODEL", "a file that is there", str(path))
    if zipfile.is_zipfile(path):
        return _complete(_harmless(path), path)
    if not trust_pickle:
        legal = "a file that runs no code when it is read, as save writes"
        remedy = "For a pickle from someone you trust give trust_pickle=True."
        raise InvalidInput("MODEL", legal, str(path), remedy)
    import joblib

    try:
        found = joblib.load(path)
    except Exception as error:  # a damaged pickle raises whatever it likes
        raise _damaged(path, error) from None
    return _complete(found, path)


def _harmless(path: Path) -> Any:
    skops = _skops()
    try:
        content = path.read_bytes()
        strange = sorted(set(skops.get_untrusted_types(data=content)) - _own_types())
        if not strange:
            return skops.loads(content, trusted=sorted(_own_types()))
    except (*_UNREADABLE, zipfile.BadZipFile) as error:
        raise _damaged(path, error) from None
    legal = "of types of this package and of scikit-learn"
    raise InvalidInput(f"MODEL {path.name}", legal, ", ".join(strange))


def _complete(model: Any, path: Path) -> Any:
    """Return a model that has all fitted attributes of its class, or raise `InvalidInput`."""
    names = [name for kind in type(model).__mro__ for name in vars(kind).get("__annotations__", {})]
    missing = sorted(name for name in names if name.endswith("_") and not hasattr(model, name))
    if missing and hasattr(model, "classes_"):
        got = f"{path} without {', '.join(missing)}"
        remedy = "Another version saved it: fit and save it again."
        raise InvalidInput("MODEL", "a classifier that this version saved", got, remedy)
    return model


def _damaged(path: Path, error: Exception) -> InvalidInput:
    remedy = f"It cannot be loaded: {type(error).__name__}."
    return InvalidInput("MODEL", "a classifier that was saved", str(path), remedy)


def _own_types() -> set[str]:
    from sparsetoken import estimators

    kinds = (getattr(estimators, name) for name in estimators.__all__)
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds if isinstance(kind, type)}


def _skops() -> Any:
    return needed("skops.io", "to save and load models", "app")
