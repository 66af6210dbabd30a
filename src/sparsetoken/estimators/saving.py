"""Fitted estimators in files of skops, which run no code when they are loaded."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from sparsetoken.base.files import path_of, refused, write_whole
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput
from sparsetoken.version import __version__

__all__ = ["load", "save"]

ENDINGS = (".skops", "")
_LEGAL = "an estimator that was saved"
_HARMLESS = "of types of this package and of those that skops knows to be harmless"
_TREES = ("sklearn.tree._tree.Tree",)


def check_savable(name: str, path: Path) -> None:
    """Raise `InvalidInput` unless `save` can write a model to a path, before one is fitted.

    The name is that of the option that gives the path.
    """
    if path.suffix.lower() not in ENDINGS:
        raise InvalidInput(name, "a name that ends in .skops, or has no ending", str(path))
    _skops()


def save(estimator: Any, path: Path | str) -> None:
    """Write a fitted estimator, whole or not at all.

    Parameters
    ----------
    estimator : estimator of this package, or a pipeline with one
    path : path
        One that ends in .skops, or has no ending.

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
    >>> from sparsetoken.estimators import PooledClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(40, 3, 2)), np.arange(40) % 2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(PooledClassifier().fit(X, y), folder + "/model.skops")
    ...     os.listdir(folder)
    ['model.skops']
    """
    path = path_of("path", path)
    check_savable("path", path)
    _check_fitted("the model", estimator, "Call fit first.")
    content = _skops().dumps({"version": __version__, "model": estimator})
    if strange := _strange(content):
        remedy = "joblib.dump writes a pickle of all types, which can run code when it is loaded."
        raise InvalidInput("the model", _HARMLESS, strange, remedy)
    write_whole(path, content)


def load(path: Path | str) -> Any:
    """Read what `save` wrote.

    Parameters
    ----------
    path : path

    Returns
    -------
    estimator
        The fitted one.

    Raises
    ------
    InvalidInput
        If there is no such file, if it is damaged or of another version of this package, if its
        model was not fitted, or if the file names types other than those of this package and the
        ones that skops knows to be harmless.

    See Also
    --------
    save : What writes it.

    Notes
    -----
    Load models and data only from people you trust: what a model holds is not checked.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from sparsetoken.estimators import PooledClassifier
    >>> X, y = np.random.default_rng(0).normal(size=(40, 3, 2)), np.arange(40) % 2
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(PooledClassifier().fit(X, y), folder + "/model.skops")
    ...     load(folder + "/model.skops")
    PooledClassifier()
    """
    path = path_of("MODEL", path)
    if not path.is_file():
        raise InvalidInput("MODEL", "a file that is there", str(path))
    if not zipfile.is_zipfile(path):
        with path.open("rb") as file:
            cut = file.read(2) == b"PK"  # how zip files begin
        remedy = "The end of the file is missing." if cut else "It is no file that save wrote."
        raise InvalidInput("MODEL", _LEGAL, str(path), remedy)
    saved = _harmless(path)
    version = saved.get("version") if isinstance(saved, dict) else None
    if version != __version__:
        legal = f"written by save of version {__version__}"
        got = "a file without a version" if version is None else f"version {version}"
        remedy = "Fit it and save it again."
        raise InvalidInput(f"MODEL {path.name}", legal, got, remedy)
    model = saved.get("model")
    _check_fitted(f"MODEL {path.name}", model, "Fit it and save it again.")
    return model


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


def _check_fitted(name: str, model: Any, remedy: str) -> None:
    """Raise `InvalidInput` for an estimator that was not fitted."""
    if not isinstance(model, BaseEstimator):
        raise InvalidInput(name, "an estimator of scikit-learn or of this package", model)
    try:
        check_is_fitted(model)
    except NotFittedError:
        got = f"{type(model).__name__} that was not fitted"
        raise InvalidInput(name, "fitted", got, remedy) from None


def _own_types() -> set[str]:
    from sparsetoken import estimators
    from sparsetoken.estimators.bag_classifier import SimilarityClassifier
    from sparsetoken.estimators.bag_regressor import MEMBERS

    kinds = [
        *(getattr(estimators, name) for name in estimators.__all__),
        SimilarityClassifier,
        *MEMBERS,
    ]
    return {f"{kind.__module__}.{kind.__qualname__}" for kind in kinds if isinstance(kind, type)}


def _skops() -> Any:
    return needed("skops.io", "to save and load models", "app")
