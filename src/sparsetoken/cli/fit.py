"""The command that fits a classifier to the user's bags and compares it with mean pooling."""

from __future__ import annotations

import warnings
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.bag_options import File, LabelledSource
from sparsetoken.cli.bag_options import names as option_names
from sparsetoken.cli.bags import columns_told
from sparsetoken.cli.output import Answer, not_written

if TYPE_CHECKING:
    from sparsetoken.estimators.thresholds import Threshold as Line
    from sparsetoken.forecasting import CrossValidation

_ESTIMATORS = {
    "bag": "BagClassifier",
    "attention": "AttentionClassifier",
    "pooled": "PooledClassifier",
    "vectorized": "VectorizedLinearClassifier",
}
Folds = Annotated[
    int, o.number("Folds of the cross-validation, at least 2; fewer for a rare class.")
]
Threshold = Annotated[
    str,
    Option(
        help="Of two classes, the probability from which on a bag is predicted to be of the "
        "positive one: 0.2, or sensitivity:0.95 to find such a share of it. "
        "Only of --model bag; auto is 0.5.",
        allow_leading_hyphen=True,
    ),
]


def fit(
    file: File,
    /,
    *,
    source: LabelledSource = LabelledSource(),
    model: Annotated[str, Option(help="bag, attention, pooled or vectorized.")] = "bag",
    numbers: Annotated[
        bool, Option(help="Whether labels are numbers to predict, by BagRegressor.", negative="")
    ] = False,
    folds: Folds = 5,
    threshold: Threshold = "auto",
    exclude: Annotated[
        str,
        Option(
            help="Members to leave out of --model bag, separated by commas: forest, mean, maxima, "
            "attention, attention of centred tokens, statistics, prototypes, forest of prototypes; "
            "or size, the number of tokens in a bag, which the forest then does not see either."
        ),
    ] = "",
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

    Folds hold whole groups, where the file or --groups has them, and then scores stand by group
    too: of the mean probabilities of their bags. Scores have 90% intervals, over bags or groups.

    The accuracy is the share of bags that are classified rightly by a model that has not seen them,
    the balanced accuracy its mean over classes. Of two classes the shares of bags that are found
    are stated too: sensitivity of the positive one, specificity of the other. The AUC is of pairs
    of bags that are held out together, of several classes a mean of each against the rest. Mean
    pooling draws the line at one half, whatever --threshold.

    With --numbers BagRegressor is fitted, and scored by R^2 and mean errors.

    Example: sparsetoken bags fit bags.npz --out model.skops
    """
    import numpy as np

    from sparsetoken import forecasting
    from sparsetoken.base.files import require_place
    from sparsetoken.base.validation import InvalidInput, choice, integer
    from sparsetoken.estimators.fitting.targets import read_classes, read_numbers
    from sparsetoken.estimators.inputs import QueryWarning, first_look
    from sparsetoken.estimators.saving import check_savable, save
    from sparsetoken.estimators.thresholds import AUTO, check_threshold
    from sparsetoken.forecasting.crossvalidation import most_folds

    choice("model", model, list(_ESTIMATORS))
    folds, seed = integer("folds", folds, 2), o.random_state(seed)
    if out is not None:
        require_place("--out", out, file)
        check_savable("--out", out)
    line = as_threshold(threshold)
    if numbers:
        _check_numbers(model, source, line)
    for option, given in (("threshold", line != AUTO), ("exclude", exclude)):
        if model != "bag" and given:
            raise InvalidInput("model", f"bag with --{option}", model, "Leave --model out.")
    data = source.read(file)
    if numbers:
        targets = read_numbers(data.bags, data.y, None, data.groups)
    else:
        targets = read_classes(data.bags, data.y, None, None, data.groups)
        check_threshold(line, len(targets.classes))
    most_folds(targets, folds)  # refuses classes of one bag before the work
    names = dict.fromkeys((model,) if numbers else (model, "pooled"))
    made = {name: _estimator(name, seed, numbers) for name in names}
    positive = {str(c): c for c in targets.classes.tolist()}.get(source.positive)
    if model == "bag":
        own = {} if numbers else {"threshold": line, "positive": positive}
        made[model].set_params(exclude=tuple(option_names(exclude) or ()), **own)
    labels = None if numbers else targets.given
    with first_look(data.bags, labels, targets.groups, ids=data.ids, stacklevel=4) as leaks:
        fitted = made[model].fit(data.bags, targets.given, groups=data.groups)
        found = {
            name: forecasting.cross_validated(
                one,
                data.bags,
                targets.given,
                groups=data.groups,
                folds=folds,
                random_state=seed,
                positive=positive,
            )
            for name, one in made.items()
        }
    if not numbers and not isnan((known := found[model].bags.scores["auc"]).value):
        # Members and weights were chosen by the scores of the fit: this AUC knows nothing of them.
        fitted.left_out_auc_ = np.array(known)
    failure = ""
    if out is not None:
        try:
            save(fitted, out)
        except OSError as error:
            failure = not_written("out", out, error)
    advice = []
    scores = {name: dict(one.bags.scores) for name, one in found.items()}
    missing = {"auc": "AUC: no fold has bags of all classes", "r2": "R^2: all numbers are equal"}
    for name, why in missing.items():
        if name in scores[model] and isnan(scores[model][name].value):
            advice.append(f"No {why}.")
    values = {
        "model": model,
        "bags": len(data.bags),
        "classes": [str(c) for c in targets.classes],
        "positive": None if found[model].positive is None else str(found[model].positive),
        "folds": found[model].folds,
        "scores": as_dicts(scores),
    }
    if groups := {name: one.groups.scores for name, one in found.items() if one.groups}:
        values["group_scores"] = as_dicts(groups)
    if not numbers:
        values["trivial_accuracy"] = float(np.bincount(targets.number).max() / len(data.y))
    if line != AUTO:
        values["threshold"] = fitted.threshold_
    if hasattr(fitted, "weights_"):
        weights = fitted.weights_[:, 0].tolist()
        values["weights"] = dict(zip(fitted.member_names_, weights, strict=True))
    if hasattr(fitted, "summary"):
        values["summary"] = fitted.summary()
        if told := fitted._at_chance():  # as the fit has warned, if no member has any weight
            warnings.warn(told, QueryWarning, stacklevel=2)
    values |= {
        "saved": str(out) if out is not None and not failure else None,
        "columns": data.columns,
        "left_out": data.left_out,
        "leaks": leaks,
    }
    lines = [columns_told(data), *_lines(values, found)]
    return Answer("", values, lines, advice, failure, code=1 if failure else 0)


def as_dicts(scores: dict[str, Any]) -> dict[str, Any]:
    """Return the value, low and high of each score of each model."""
    return {
        name: {measure: one._asdict() for measure, one in of.items()} for name, of in scores.items()
    }


def _estimator(model: str, seed: int, numbers: bool) -> Any:
    from sparsetoken import estimators

    kind = estimators.BagRegressor if numbers else getattr(estimators, _ESTIMATORS[model])
    return kind(random_state=seed) if "random_state" in kind().get_params() else kind()


def as_threshold(text: str) -> Line:
    """Return a threshold as `BagClassifier` takes it: auto, 0.2 or sensitivity:0.95 in words."""
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.estimators.thresholds import AUTO, check_threshold

    if text == AUTO:
        return text
    kind, of_share, share = text.partition(":")
    try:
        threshold: Line = {kind: float(share)} if of_share else float(text)
        check_threshold(threshold, 2)
    except ValueError:
        legal = "auto, a probability in (0, 1), or sensitivity:SHARE with a share in (0, 1]"
        raise InvalidInput("threshold", legal, text) from None
    return threshold


def _check_numbers(model: str, source: LabelledSource, threshold: Line) -> None:
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


def _lines(values: dict[str, Any], found: dict[str, CrossValidation]) -> list[str]:
    lines = []
    for name, one in found.items():
        lines += [f"{name}:", *str(one).splitlines()]
    if "trivial_accuracy" in values:
        trivial = values["trivial_accuracy"]
        lines.append(f"Always answering with the largest class: accuracy {trivial:.3g}")
    lines += values.get("summary", "").splitlines()
    return [*lines, f"Saved: {values['saved']}"] if values["saved"] else lines
