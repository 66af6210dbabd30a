"""Fitted classifiers in files: those of skops, with its list of trusted types.

A pickle, which joblib writes, can run any code when it is loaded; such files are read on demand
only.
"""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sparsetoken.base.files import path_of, refused, write_whole
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.declared import check_declared

__all__ = ["load", "save"]

PICKLES = (".joblib", ".pickle", ".pkl")
ENDINGS = (".skops", *PICKLES, "")
_LEGAL = "a classifier that was saved"
_HARMLESS = "of types of this package and of those that skops knows to be harmless"
_TREES = ("sklearn.tree._tree.Tree",)


def check_savable(name: str, path: Path) -> None:
    """Raise `InvalidInput` unless `save` can write a model to a path, before one is fitted.

    The name is that of the option that gives the path.
    """
    ending = path.suffix.lower()
    if ending not in ENDINGS:
        legal = f"a name that ends in {', '.join(ENDINGS[:-1])}, or has no ending"
        raise InvalidInput(name, legal, str(path), "Other formats are not written.")
    if ending not in PICKLES:
        _skops()


def save(estimator: Any, path: Path | str) -> None:
    """Write a fitted classifier, whole or not at all.

    Parameters
    ----------
    estimator : classifier of this package
    path : path
        One that ends in .skops, or has no ending. If it ends in .joblib, .pickle or .pkl, a pickle
        is written, which `load` reads only if `trust_pickle` is set.

    Returns
    -------
    None

    Raises
    ------
    InvalidInput
        If the model is not fitted, the path has another ending, skops is not installed, or a part
        is of a type that `load` would refuse.
    OSError
        If the file cannot be written.

    See Also
    --------
    load : The reverse.

    Examples
    --------
    >>> import numpy as np, os, tempfile
    >>> from sparsetoken.estimators import PooledLinearClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(40, 3, 2)), np.arange(40) % 2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(PooledLinearClassifier().fit(X, y), folder + "/model.skops")
    ...     os.listdir(folder)
    ['model.skops']
    """
    path = path_of("path", path)
    check_savable("path", path)
    _check_fitted("the model", estimator, "Call fit first.")
    if path.suffix.lower() in PICKLES:
        import joblib

        pickled = io.BytesIO()
        joblib.dump(estimator, pickled)
        write_whole(path, pickled.getbuffer())
        return
    content = _skops().dumps(estimator)
    if strange := _strange(content):
        remedy = "A path that ends in .joblib writes a pickle of all types."
        raise InvalidInput("the model", _HARMLESS, strange, remedy)
    write_whole(path, content)


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
        If there is no such file, if it is damaged, if its model was not fitted, if a fitted
        attribute is missing, of another kind or shape, or not finite, if the file names types other
        than those of this package and the ones that skops knows to be harmless, or if it is a
        pickle that is not trusted.

    See Also
    --------
    save : What writes it.

    Notes
    -----
    Load models and data only from people you trust.

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
    path = path_of("MODEL", path)
    if not path.is_file():
        raise InvalidInput("MODEL", "a file that is there", str(path))
    if zipfile.is_zipfile(path):
        return _complete(_harmless(path), path)
    with path.open("rb") as file:
        if file.read(2) == b"PK":  # how zip files begin
            raise InvalidInput("MODEL", _LEGAL, str(path), "The end of the file is missing.")
    if not trust_pickle:
        legal = "a file that runs no code when it is read, as save writes"
        remedy = "For a pickle from someone you trust give {}."
        raise InvalidInput("MODEL", legal, str(path), remedy, "trust_pickle=True")
    import joblib

    with refused("MODEL", _LEGAL, path):
        estimator = joblib.load(path)
    return _complete(estimator, path)


def _harmless(path: Path) -> Any:
    skops = _skops()
    with refused("MODEL", _LEGAL, path):
        content = path.read_bytes()
        strange = _strange(content)
        if not strange:
            return skops.loads(content, trusted=sorted(_trusted()))
    raise InvalidInput(f"MODEL {path.name}", _HARMLESS, strange)


def _strange(content: bytes) -> str:
    """Return the types of a saved model that are not known to be harmless."""
    return ", ".join(sorted(set(_skops().get_untrusted_types(data=content)) - _trusted()))


def _trusted() -> set[str]:
    return {*_own_types(), *_TREES}


def _complete(model: Any, path: Path) -> Any:
    """Return a model that is fitted and has what its classes declare, or raise `InvalidInput`."""
    _check_fitted(f"MODEL {path.name}", model, "Fit it and save it again.")
    check_declared(model, path)
    return model


def _check_fitted(name: str, model: Any, remedy: str) -> None:
    """Raise `InvalidInput` for an estimator that was not fitted."""
    try:
        if isinstance(model, BaseEstimator):
            check_is_fitted(model)
    except NotFittedError:
        got = f"{type(model).__name__} that was not fitted"
        raise InvalidInput(name, "fitted", got, remedy) from None


def _own_types() -> set[str]:
    from sparsetoken import estimators

    stacks = (estimators.BagClassifier, estimators.BagRegressor)
    kinds = [getattr(estimators, name) for name in estimators.__all__]
    kinds += [kind for stack in stacks for kind in stack._kinds]
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds if isinstance(kind, type)}


def _skops() -> Any:
    return needed("skops.io", "to save and load models", "app")
