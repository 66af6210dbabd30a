"""One page on bags: what they are, how well a classifier predicts them, what more would bring."""

from __future__ import annotations

import os
import platform
from typing import Any

import numpy as np
from jaxtyping import Shaped
from sklearn.base import is_classifier
from sklearn.metrics import confusion_matrix

from sparsetoken.bags import Bags, as_bags
from sparsetoken.bags.labels import id_texts
from sparsetoken.base.files import path_of, require_place, write_whole
from sparsetoken.base.machine import made_with, needed
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import BagClassifier
from sparsetoken.estimators.fitting.targets import Targets, read_classes
from sparsetoken.estimators.inputs import first_look
from sparsetoken.forecasting.crossvalidation import (
    CrossValidation,
    HeldOutPredictions,
    as_seed,
    cross_validated,
)
from sparsetoken.forecasting.learning_curves import forecast

PACKAGES = ("sparsetoken", "numpy", "scipy", "scikit-learn", "matplotlib")


def bag_report(
    bags: Any,
    y: Any,
    out: str | os.PathLike[str] = "report.html",
    *,
    groups: Any = None,
    ids: Any = None,
    model: Any = None,
    folds: int = 5,
    random_state: Any = 0,
    progress: bool = True,
    command: str = "",
) -> CrossValidation:
    """Cross-validate a classifier of bags, and write what is found on one page.

    The page is a file that opens without a network. It has the numbers of bags, groups and tokens
    by class, the scores of `cross_validated` with their intervals, ROC and calibration curves, a
    confusion table, the forecast of `forecast`, maps of four bags with coordinates, and versions.

    Parameters
    ----------
    bags : any form of bags
        See `sparsetoken.bags.as_bags`.
    y : array of shape (n,)
        Labels.
    out : path
        The page, .html, which replaces a file of this name. It is checked before any work.
    groups : array of shape (n,), optional
        Of which patient, author or place each bag is. No fold splits them.
    ids : array of n str, optional
        Names of the bags on the maps; by default numbers from 0.
    model : classifier with predict_proba, optional
        By default `BagClassifier`. Maps need its ``predict_token_proba``.
    folds : int
        At least 2, as for `cross_validated`.
    random_state : int, RandomState or None
        Of the folds, the default model and the forecast.
    progress : bool
        Whether a call of more than two seconds shows its progress.
    command : str
        What is said to have made the page.

    Returns
    -------
    CrossValidation
        Its scores, with the models of the folds.

    Raises
    ------
    InvalidInput
        If the page cannot be written there, the model is no classifier with probabilities, or bags,
        labels, groups or ids do not match.

    See Also
    --------
    sparsetoken.cross_validated : Its scores.
    sparsetoken.forecast : Its forecast.

    Notes
    -----
    Maps are of the bags of each class with the largest and the smallest probability of their own
    class, by the models that were fitted without these bags. There are none if the 90% interval of
    the AUC is not above 0.5.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> import sparsetoken as st
    >>> labels, rng = np.arange(12) % 2, np.random.default_rng(0)
    >>> bags, model = rng.standard_normal((12, 6, 4)), st.estimators.PooledClassifier()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = st.bag_report(bags, labels, f"{folder}/report.html", model=model)
    >>> found.folds, len(found.estimators)
    (5, 5)
    """
    needed("matplotlib", "to draw curves", "app")
    needed("jinja2", "to write a page", "app")
    path = path_of("out", out)
    require_place("out", path)
    read, seed = as_bags(bags), as_seed(random_state)
    model = BagClassifier(random_state=seed) if model is None else model
    if not is_classifier(model):
        raise InvalidInput("model", "a classifier", type(model).__name__)
    targets = read_classes(read, y, None, None, groups)
    names = id_texts(np.arange(len(read)) if ids is None else ids)
    if names.shape != (len(read),):
        raise InvalidInput("ids", f"one for each of {len(read)} bags", f"shape {names.shape}")
    given: dict[str, Any] = {"groups": groups, "random_state": seed, "progress": progress}
    of_bags = read, targets.given, targets.groups
    with (
        first_look(*of_bags, ids=names, progress=progress, stacklevel=3) as leaks,
        progress_of("parts of the report", 2, progress) as done,
    ):
        found = cross_validated(
            model, read, targets.given, folds=folds, return_estimator=True, **given
        )
        done()
        try:
            ahead, why = forecast(read, targets.given, **given), ""
        except InvalidInput as error:
            ahead, why = None, str(error)
        done()
    from sparsetoken.figures.page import rendered
    from sparsetoken.forecasting import report_figures as figures

    lines = [one.threshold_ for one in found.estimators if hasattr(one, "threshold_")]
    held = {"bags": found.bags} | ({"groups": found.groups} if found.groups else {})
    text = rendered(
        "forecasting/report.html",
        {},
        model=type(model).__name__,
        found=found,
        data=[_of_class(read, targets, c) for c in range(len(targets.classes))],
        trivial=np.bincount(targets.number).max() / len(read),
        leaks=leaks,
        scores=found._shown(),
        curves=figures.curves_of(found),
        confusions={of: _confusion(one, found.classes) for of, one in held.items()},
        lines=[min(lines), max(lines)] if lines and len(found.classes) == 2 else [],
        forecast=None if ahead is None else (figures.curve_of(ahead), *ahead._shown()),
        why=why,
        maps=figures.maps_of(found, read, names),
        command=command,
        facts={**made_with(PACKAGES), "Python": platform.python_version(), "seed": seed},
    )
    write_whole(path, text.encode(errors="backslashreplace"))
    return found


def _of_class(bags: Bags, targets: Targets, c: int) -> dict[str, Any]:
    """Return the numbers of bags, groups and tokens of a class."""
    of = targets.number == c
    sizes, groups = bags.sizes[of], targets.groups
    row = {"class": targets.classes[c], "bags": of.sum(), "share": f"{of.mean():.0%}"}
    row |= {} if groups is None else {"groups": len(np.unique(groups[of]))}
    return row | {
        "tokens: median (range)": f"{np.median(sizes):g} ({sizes.min()} to {sizes.max()})"
    }


def _confusion(held: HeldOutPredictions, classes: Shaped[np.ndarray, " C"]) -> list[dict[str, Any]]:
    """Return how many of each class are predicted to be of which."""
    counts = confusion_matrix(held.y, held.predicted, labels=classes)
    columns = ["", *(f"predicted {one}" for one in classes), "all"]
    return [
        dict(zip(columns, [one, *row, row.sum()], strict=True))
        for one, row in zip(classes, counts, strict=True)
    ]
