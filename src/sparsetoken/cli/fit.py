"""The command that fits a classifier to the user's bags and compares it with mean pooling."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.bag_options import File, LabelledSource
from sparsetoken.cli.bags import columns_told
from sparsetoken.cli.output import Answer, not_written, pairs, table

if TYPE_CHECKING:
    import numpy as np

    from sparsetoken.bags import LabelledBags
    from sparsetoken.estimators.fitting.targets import Targets
    from sparsetoken.estimators.thresholds import Threshold

FOLDS, SHOWN_BAGS, SHOWN_TOKENS = 10, 3, 3
ACCURACIES, AREAS = ("accuracy", "balanced_accuracy"), ("auc", "average_precision")
OF_TWO = ("specificity", "sensitivity")
"""The shares of the bags of the first class, and of the second, that are found."""
FITTED = ("ridge", "sharpness", "gain")
"""The reported values of a fitted model for each class, if any; an attribute ends in _."""
_ESTIMATORS = {
    "attention": "AttentionClassifier",
    "pooled": "PooledClassifier",
    "vectorized": "VectorizedLinearClassifier",
}


def fit(
    file: File,
    /,
    *,
    source: LabelledSource = LabelledSource(),
    model: Annotated[str, Option(help="bag, attention, pooled or vectorized.")] = "bag",
    numbers: Annotated[
        bool, Option(help="Whether labels are numbers to predict, by BagRegressor.", negative="")
    ] = False,
    folds: Annotated[
        int | None,
        o.number(
            "Folds of the cross-validation, at least 2. By default 10, or as many as the "
            "rarest class has bags. A class of one bag does not count."
        ),
    ] = None,
    threshold: Annotated[
        str,
        Option(
            help="Of two classes, the probability from which on a bag is predicted to be of the "
            "second, of labels in order: 0.2, or sensitivity:0.95 to find such a share of it. "
            "Only of --model bag; auto is 0.5.",
            allow_leading_hyphen=True,
        ),
    ] = "auto",
    out: Annotated[
        Path | None,
        Option(
            help="File, .skops, for the model fitted to all bags. Loading it runs no code.",
        ),
    ] = None,
    seed: o.Seed = 0,
    common: o.Common = o.Common(),
) -> Answer:
    """Fit a classifier to bags, and cross-validate it against mean pooling; or fit numbers.

    Folds hold whole groups, where the file or --groups has them.

    The accuracy is the share of bags that are classified rightly by a model that has not seen them,
    the balanced accuracy its mean over classes; their standard errors are over bags, or groups.
    AUC and average precision are means over folds, each counted by its bags, with the standard
    deviation over folds divided by the square root of their number. They ignore that folds share
    training bags. Of several classes AUC and average precision are means of each against the rest.

    Of two classes the shares of bags that are found are stated too: sensitivity of the second,
    specificity of the first. Mean pooling draws the line at one half, whatever --threshold.

    With --numbers BagRegressor is fitted, and scored by R^2 and root mean squared error, with
    standard errors of leaving out bags, or groups, one by one.

    Example: sparsetoken bags fit bags.npz --out model.skops
    """
    import numpy as np

    from sparsetoken.bags import LeakWarning, find_leaks
    from sparsetoken.base.files import require_place
    from sparsetoken.base.progress import progress_of
    from sparsetoken.base.validation import InvalidInput, choice, integer
    from sparsetoken.estimators import QueryWarning
    from sparsetoken.estimators.fitting.targets import read_classes, read_numbers
    from sparsetoken.estimators.saving import check_savable, save
    from sparsetoken.estimators.thresholds import AUTO, check_threshold

    choice("model", model, ["bag", *_ESTIMATORS])
    folds, seed = None if folds is None else integer("folds", folds, 2), o.random_state(seed)
    if out is not None:
        require_place("--out", out, file)
        check_savable("--out", out)
    line = _threshold(threshold)
    if numbers:
        _check_numbers(model, source, line)
    elif model != "bag" and line != AUTO:
        raise InvalidInput("model", "bag with --threshold", model, "Leave --model out.")
    data = source.read(file)
    if numbers:
        targets = read_numbers(data.bags, data.y, None, data.groups)
        data = dataclasses.replace(data, y=targets.given)
    else:
        targets = read_classes(data.bags, data.y, None, None, data.groups)
        check_threshold(line, len(targets.classes))
    splits = _splits(targets, folds, seed)
    models = dict.fromkeys((model,) if numbers else (model, "pooled"))
    score = _number_scores if numbers else _scores
    with progress_of("fits", 1 + len(models) * len(splits)) as done, warnings.catch_warnings():
        for kind in (QueryWarning, LeakWarning):  # of all bags, told below
            warnings.simplefilter("ignore", kind)
        made = {name: _estimator(name, seed, numbers) for name in models}
        if line != AUTO:
            made[model].set_params(threshold=line)
        fitted = made[model].fit(data.bags, data.y, groups=data.groups)
        done()
        scores = {
            name: score(one, data, splits, targets.groups, done) for name, one in made.items()
        }
    failure = ""
    if out is not None:
        try:
            save(fitted, out)
        except OSError as error:
            failure = not_written("out", out, error)
    leaks = find_leaks(data.bags, None if numbers else targets.given, targets.groups)
    leaking = [f"Warning: {one}" for one in leaks]
    if isnan(scores[model].get("auc", {"mean": 0.0})["mean"]):
        leaking.append("No AUC and average precision: no fold has bags of all classes.")
    if isnan(scores[model].get("r2", {"mean": 0.0})["mean"]):
        leaking.append("No R^2: all numbers are equal.")
    values = {
        "model": model,
        "bags": len(data.bags),
        "classes": [str(c) for c in targets.classes],
        "scores": scores,
        **(
            {}
            if numbers
            else {"trivial_accuracy": float(np.bincount(targets.number).max() / len(data.y))}
        ),
        **{n: list(found) for n in FITTED if (found := getattr(fitted, f"{n}_", None)) is not None},
        **({"threshold": fitted.threshold_} if line != AUTO else {}),
        **({"weights": _weights(fitted)} if hasattr(fitted, "weights_") else {}),
        **({"summary": fitted.summary()} if hasattr(fitted, "summary") else {}),
        "top_tokens": _top_tokens(fitted, data),
        "saved": str(out) if out is not None and not failure else None,
        "columns": data.columns,
        "left_out": data.left_out,
        "leaks": leaks,
    }
    lines = [columns_told(data), *_lines(values)]
    if data.groups is None:
        lines.append("Bags are taken as independent; --groups says which are of one patient.")
    return Answer("", values, lines, leaking, failure, code=1 if failure else 0)


def _estimator(model: str, seed: int, numbers: bool) -> Any:
    from sparsetoken import estimators

    own = "BagRegressor" if numbers else "BagClassifier"
    kind = getattr(estimators, own if model == "bag" else _ESTIMATORS[model])
    return kind(random_state=seed) if "random_state" in kind().get_params() else kind()


def _threshold(text: str) -> Threshold:
    """Return a threshold as `BagClassifier` takes it: auto, 0.2 or sensitivity:0.95 in words."""
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.estimators.thresholds import AUTO, check_threshold

    if text == AUTO:
        return text
    kind, of_share, share = text.partition(":")
    try:
        threshold: Threshold = {kind: float(share)} if of_share else float(text)
        check_threshold(threshold, 2)
    except ValueError:
        legal = "auto, a probability in (0, 1), or sensitivity:SHARE with a share in (0, 1]"
        raise InvalidInput("threshold", legal, text) from None
    return threshold


def _check_numbers(model: str, source: LabelledSource, threshold: Threshold) -> None:
    """Raise `InvalidInput` for options that numbers have no use for."""
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.estimators.thresholds import AUTO

    if model != "bag":
        raise InvalidInput("--model", "left out with --numbers", model, "BagRegressor has all.")
    if source.positive:
        raise InvalidInput("--positive", "left out with --numbers", source.positive)
    if threshold != AUTO:
        remedy = "Numbers have no classes."
        raise InvalidInput("--threshold", "left out with --numbers", "both", remedy)


def _splits(targets: Targets, folds: int | None, seed: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the bags of training and test of each fold, or raise `InvalidInput`."""
    import numpy as np
    from sklearn.model_selection import KFold, StratifiedKFold

    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.estimators.fitting.stacking import fold_numbers
    from sparsetoken.estimators.fitting.targets import counts_of_classes

    counts, groups = counts_of_classes(targets.number, targets.groups), targets.groups
    several = np.where(counts > 1, counts, counts.max())
    folds = min(FOLDS, max(int(several.min()), 2)) if folds is None else folds
    if several.min() < folds:
        each, rare = "", ""
        if not targets.numbers:
            each, rare = " of each class", f" of class {targets.classes[several.argmin()]}"
        what = "bags" if groups is None else "groups"
        legal = f"at least {folds}{each} for {folds} folds"
        raise InvalidInput(what, legal, f"{several.min()}{rare}")
    if groups is None:
        kind = KFold if targets.numbers else StratifiedKFold
        splits = kind(folds, shuffle=True, random_state=seed)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "The least populated class")  # it has one bag
            return list(splits.split(targets.number, targets.number))
    fold = fold_numbers(targets.number, folds, np.random.RandomState(seed), groups)
    places = np.arange(len(fold))
    return [(places[fold != k], places[fold == k]) for k in range(fold.max() + 1)]


def _scores(
    estimator: Any,
    data: LabelledBags,
    splits: list[tuple[np.ndarray, np.ndarray]],
    groups: np.ndarray | None,
    done: Callable[[], None],
) -> dict[str, dict[str, float]]:
    """Return accuracies, AUC and average precision of bags held out, with standard errors.

    Accuracies are over all bags, and their errors over bags or groups; AUC and average precision
    are means over folds, and folds that lack a class have none.
    """
    import numpy as np
    from sklearn.base import clone

    from sparsetoken.cli.ranking import ranked
    from sparsetoken.forecasting.measures import clustered_covariance
    from sparsetoken.results.simulation import standard_error

    scores, sizes, right = [], [], np.empty(len(data.y))
    for train, test in splits:
        part = None if groups is None else groups[train]
        tested, known_classes = (data.bags[test], data.y[test]), np.unique(data.y[train])
        areas = np.nan, np.nan
        if len(known_classes) == 1:  # the only bag of the other class is left out
            right[test] = tested[1] == known_classes[0]
        else:
            fitted = clone(estimator).fit(data.bags[train], data.y[train], groups=part)
            right[test] = fitted.predict(tested[0]) == tested[1]
            if np.array_equal(np.unique(tested[1]), known_classes):
                areas = ranked(fitted, *tested)
        scores.append(areas)
        sizes.append(len(test))
        done()
    known = np.isfinite(scores)
    weights = known * np.array(sizes)[:, None]
    means = (np.nan_to_num(scores) * weights).sum(axis=0) / np.maximum(weights.sum(axis=0), 1)
    means[~known.any(axis=0)] = np.nan
    columns = zip(np.transpose(scores), known.T, strict=True)
    errors = [standard_error(column[one]) for column, one in columns]
    classes, number = np.unique(data.y, return_inverse=True)
    of_class = np.bincount(number)
    recalls = np.bincount(number, right) / of_class
    # By how much a bag moves the share of its class that is found, were it the mean over all bags.
    moves = np.zeros((len(classes), len(number)))
    moves[number, np.arange(len(number))] = (right - recalls[number]) * (len(number) / of_class)[
        number
    ]
    shares, changes = [right.mean(), recalls.mean()], [right, moves.mean(axis=0)]
    if len(classes) == 2:
        shares, changes = [*shares, *recalls], [*changes, *moves]
    spreads = np.sqrt(np.diag(clustered_covariance(np.stack(changes), groups)))
    names = (*ACCURACIES, *OF_TWO[: len(shares) - 2], *AREAS)
    found = [*shares, *means], [*spreads, *errors]
    return pairs(*(dict(zip(names, row, strict=True)) for row in found))


def _number_scores(
    estimator: Any,
    data: LabelledBags,
    splits: list[tuple[np.ndarray, np.ndarray]],
    groups: np.ndarray | None,
    done: Callable[[], None],
) -> dict[str, dict[str, float]]:
    """Return R^2 and root mean squared error of all held-out bags, with jackknife errors.

    The standard error is that of leaving out bags, or groups, one by one.
    """
    import numpy as np
    from sklearn.base import clone

    predicted = np.empty(len(data.y))
    for train, test in splits:
        part = None if groups is None else groups[train]
        fitted = clone(estimator).fit(data.bags[train], data.y[train], groups=part)
        predicted[test] = fitted.predict(data.bags[test])
        done()
    owner = np.arange(len(data.y)) if groups is None else groups
    wrong, size = np.square(data.y - predicted), np.bincount(owner).astype(float)
    y = data.y - data.y.mean()
    sums = [np.bincount(owner, one) for one in (wrong, y, np.square(y))]

    def measures(left: np.ndarray | float) -> np.ndarray:
        n = size.sum() - left * size
        error, first, second = ((one.sum() - left * one) / n for one in sums)
        variance = second - first**2
        r2 = np.where(variance > 0, 1 - error / np.where(variance > 0, variance, 1.0), np.nan)
        return np.array([r2, np.sqrt(error)])

    (whole, *_), each = measures(0.0).T, measures(1.0)
    count = len(size)
    spread = np.sqrt((count - 1) / count * np.square(each - each.mean(1)[:, None]).sum(axis=1))
    names = ("r2", "root_mean_squared_error")
    return pairs(*(dict(zip(names, row.tolist(), strict=True)) for row in (whole, spread)))


def _top_tokens(estimator: Any, data: LabelledBags) -> list[dict[str, Any]]:
    """Return the top tokens of the bags of highest score: of each class, of two of the second."""
    import numpy as np

    if not hasattr(estimator, "top_tokens"):
        return []
    score = getattr(estimator, "decision_function", estimator.predict)
    scores = score(data.bags).reshape(len(data.bags), -1)
    shown = []
    names = getattr(estimator, "classes_", np.array([""]))[-scores.shape[1] :]
    for k, name in enumerate(names.tolist()):
        best = np.argsort(-scores[:, k], kind="stable")[:SHOWN_BAGS]
        few = data.bags[best]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the summary says whether attention is off
            top = estimator.top_tokens(few, SHOWN_TOKENS)
        rows = zip(best, top, estimator.attention_weights(few), strict=True)
        for bag, orders, weights in rows:
            order = orders.reshape(len(orders), -1)[:, k]
            shown.append(
                {
                    "class": str(name),
                    "bag": str(data.ids[bag]),
                    "label": str(data.y[bag]),
                    "tokens": order.tolist(),
                    "weights": weights.reshape(len(weights), -1)[order, k],
                }
            )
    return shown


def _weights(fitted: Any) -> dict[str, Any]:
    """Return the weight of each member of a stacked classifier, by name."""
    return dict(zip(fitted.member_names_, fitted.weights_.tolist(), strict=True))


def _lines(values: dict[str, Any]) -> list[str]:
    lines = table(f"Cross-validated on {values['bags']} bags", values["scores"])
    if "trivial_accuracy" in values:
        trivial = values["trivial_accuracy"]
        lines.append(f"Always answering with the largest class: accuracy {trivial:.3g}")
    if "threshold" in values:
        second = values["classes"][1]
        lines.append(f"Predicted {second} from a probability of {values['threshold']:.3g} on")
    for name in ("sharpness", "ridge"):
        if name in values:
            lines.append(f"{name}: {', '.join(f'{x:.3g}' for x in values[name])}")
    lines += values.get("summary", "").splitlines()
    for one in values["top_tokens"]:
        top = zip(one["tokens"], one["weights"], strict=True)
        tokens = ", ".join(f"{token} (attention {weight:.2g})" for token, weight in top)
        of_class = f"class {one['class']}: " if len(values["classes"]) > 2 else ""
        lines.append(f"{of_class}bag {one['bag']} (label {one['label']}): top tokens {tokens}")
    return [*lines, f"Saved: {values['saved']}"] if values["saved"] else lines
