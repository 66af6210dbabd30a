"""Commands of the group bags: pack, forecast, score and predict; and what fit shares."""

from __future__ import annotations

import csv
import dataclasses
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.bag_options import (
    PANEL,
    File,
    LabelledSource,
    Source,
    warnings_of,
)
from sparsetoken.cli.output import Answer, printable

if TYPE_CHECKING:
    from sparsetoken.bags import LabelledBags


RefuseEmpty = Annotated[
    bool,
    Option(
        group=PANEL,
        negative="",
        help="Refuse bags without a token, of which the class rate or the mean is predicted.",
    ),
]


def columns_told(data: LabelledBags) -> str:
    """Return the number of columns of the tokens, with their names if they are few."""
    from sparsetoken.bags.labels import SHOWN, some

    used = f"Columns of the tokens: {len(data.columns)}"
    if len(data.columns) <= SHOWN:
        used += f" ({', '.join(data.columns)})"
    return used + (f"; unused: {some(data.left_out)}" if data.left_out else "")


def pack(
    file: File,
    /,
    *,
    out: Annotated[Path, Option(help="The folder to write, which must not be there yet.")],
    source: Source = Source(),
    common: o.Common = o.Common(),
) -> Answer:
    """Put the tokens of many files, or of a table, into one folder that the other commands read.

    Example: sparsetoken bags pack slides/ --labels labels.csv --out slides.bags
    """
    from sparsetoken import bags
    from sparsetoken.bags.table_files import TABLES

    options = source.options()
    if not source.labels and file.suffix.lower() not in (*TABLES, ".npz"):
        options["labels"] = None  # they may come later
    with warnings_of(bags.SkippedWarning) as told:
        folder = bags.pack(file, out, **options)
    values = {"path": str(folder), "status": "converged"}
    return Answer("", values, [f"Wrote {folder}"], advice=told)


def forecast(
    file: File,
    /,
    *,
    sizes: Annotated[
        o.Numbers | None,
        o.number(
            "Numbers of labelled bags, at least the number n in the file. By default n, 2n and 4n."
        ),
    ] = None,
    source: LabelledSource = LabelledSource(),
    seed: o.Seed = 0,
    common: o.Common = o.Common(),
) -> Answer:
    """Forecast test errors with more labelled bags: bag, attention and pooled, as in fit --model.

    Example: sparsetoken bags forecast bags.npz --sizes 200,400
    """
    from sparsetoken import forecasting

    wanted = None if sizes is None else o.listed(sizes)
    seed = o.random_state(seed)
    data = source.read(file)
    forecasts = forecasting.forecast(
        data.bags, data.y, wanted, groups=data.groups, random_state=seed
    )
    plain = str(dataclasses.replace(forecasts, advice=()))
    lines = [columns_told(data), *plain.splitlines()]
    return Answer("", forecasts.to_dict(), lines, advice=list(forecasts.advice))


def score(
    model: Annotated[Path, Option("MODEL", help="A model that `fit --out` saved.")],
    file: File,
    /,
    *,
    source: LabelledSource = LabelledSource(),
    refuse_empty: RefuseEmpty = False,
    common: o.Common = o.Common(),
) -> Answer:
    """Score a saved model on labelled bags: accuracies, AUC, log-loss; R^2 and errors of numbers.

    Beside the accuracy stand that of always answering with the largest class and the mean over
    classes (balanced); of two classes the share found of the second (sensitivity) and of the
    first (specificity). AUC and average precision of more than two classes are means of those of
    each class against the rest. Of the bags that the model was fitted to, all are too good: `fit`
    prints those of left-out bags.

    Example: sparsetoken bags score model.skops new.npz
    """
    from sparsetoken.estimators import EmptyBagWarning

    estimator = loaded_model(model)
    data = source.read(file, columns_of_model(estimator, file), empty=not refuse_empty)
    scores = _class_scores if hasattr(estimator, "classes_") else _number_scores
    with warnings_of(EmptyBagWarning) as told:
        values, why = scores(estimator, data)
    return Answer(f"Score of {model}", values, advice=[*told, *why])


def _number_scores(estimator: Any, data: LabelledBags) -> tuple[dict[str, Any], list[str]]:
    """Return how well a regressor predicts numbers."""
    from sklearn.metrics import mean_absolute_error, r2_score, root_mean_squared_error

    from sparsetoken.estimators.fitting.targets import read_numbers

    y, predicted = read_numbers(data.bags, data.y, None).given, estimator.predict(data.bags)
    values = {
        "bags": len(y),
        "r2": r2_score(y, predicted) if len(y) > 1 else None,
        "root_mean_squared_error": root_mean_squared_error(y, predicted),
        "mean_absolute_error": mean_absolute_error(y, predicted),
    }
    return values, [] if len(y) > 1 else ["R^2 is not defined for one bag."]


def _class_scores(estimator: Any, data: LabelledBags) -> tuple[dict[str, Any], list[str]]:
    """Return how well a classifier predicts labels, and why an AUC is missing."""
    import numpy as np
    from sklearn.metrics import log_loss

    from sparsetoken.bags.labels import some
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.cli.ranking import ranked
    from sparsetoken.estimators.fitting.targets import read_classes

    read_classes(data.bags, data.y, None, None)  # an AUC needs two classes
    classes = estimator.classes_
    unknown = sorted(set(data.classes) - set(map(str, classes.tolist())))
    if unknown:
        legal = f"of the classes of the model, {', '.join(map(str, classes))}"
        remedy = "For a model fitted with --positive, give the same --positive."
        raise InvalidInput("labels", legal, ", ".join(unknown), remedy)
    y = data.y.astype(classes.dtype)
    chances = estimator.predict_proba(data.bags) if hasattr(estimator, "predict_proba") else None
    areas: tuple[float | None, float | None] = (None, None)
    why, absent = [], sorted(set(classes.tolist()) - set(y.tolist()))
    if absent:
        why = [
            "No AUC and average precision: the means over classes need bags of each, there is none "
            f"of {some(absent)}."
        ]
    elif len(classes) > 2 and chances is None:
        why = [
            "No AUC and average precision: those of more than two classes are of probabilities, "
            "which MODEL does not give."
        ]
    else:
        areas = ranked(estimator, data.bags, y)
    right = estimator.predict(data.bags) == y
    present, counts = np.unique(y, return_counts=True)
    recalls = [right[y == one].mean() for one in present]
    two = len(classes) == 2 and not absent
    values = {
        "bags": len(data.bags),
        "trivial_accuracy": counts.max() / len(y),
        "accuracy": right.mean(),
        "balanced_accuracy": np.mean(recalls),
        **(dict(zip(("specificity", "sensitivity"), recalls, strict=True)) if two else {}),
        "auc": areas[0],
        "average_precision": areas[1],
        "log_loss": None if chances is None else log_loss(y, chances, labels=classes),
    }
    return values, why


def predict(
    model: Annotated[Path, Option("MODEL", help="A model that `fit --out` saved.")],
    file: File,
    /,
    *,
    source: Source = Source(),
    refuse_empty: RefuseEmpty = False,
    common: o.Common = o.Common(),
) -> Answer:
    """Predict the class of each bag with the probability of each class, or its number.

    Example: sparsetoken bags predict model.skops new.npz
    """
    from sparsetoken.estimators import EmptyBagWarning

    estimator = loaded_model(model)
    columns = columns_of_model(estimator, file)
    data = source.loaded(file, columns, empty=not refuse_empty, labelled=False)
    bags = data.bags
    classes = [str(one) for one in getattr(estimator, "classes_", ())]
    kind, form = ("label", "{}") if classes else ("number", "{:.6g}")
    with warnings_of(EmptyBagWarning) as told:
        predicted = estimator.predict(bags).tolist()
        probable = classes if hasattr(estimator, "predict_proba") else []
        chances = estimator.predict_proba(bags).tolist() if probable else [[]] * len(bags)
    rows = []
    table = io.StringIO()
    lines = csv.writer(table, lineterminator="\n")
    lines.writerow(map(printable, ["bag", kind, *(f"probability_{one}" for one in probable)]))
    for name, given, of_classes in zip(data.ids.tolist(), predicted, chances, strict=True):
        row = {"bag": str(name), kind: str(given) if classes else given}
        if classes:
            row["probability"] = dict(zip(probable, of_classes, strict=True))
        rows.append(row)
        cells = [str(name), form.format(given), *(f"{one:.4f}" for one in of_classes)]
        lines.writerow(map(printable, cells))
    return Answer("", {"predictions": rows}, table.getvalue().splitlines(), advice=told)


def columns_of_model(estimator: Any, file: Path) -> list[str] | None:
    """Return the columns of a table that `fit` fitted the model to, whatever their order now."""
    from sparsetoken.bags.table_files import TABLES

    known = getattr(estimator, "feature_names_in_", None)
    return known.tolist() if known is not None and file.suffix.lower() in TABLES else None


def loaded_model(path: Path) -> Any:
    """Return a saved estimator; it says itself if bags are of another dimension."""
    from sparsetoken.bags.files import READERS
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.estimators.base import BagEstimator
    from sparsetoken.estimators.saving import load

    if path.is_dir() or path.suffix.lower() in READERS:
        legal = "a classifier that was saved"
        raise InvalidInput("MODEL", legal, str(path), "MODEL comes first, then the FILE of bags.")
    estimator = load(path)
    if not isinstance(estimator, BagEstimator):
        legal = "a classifier or regressor of bags"
        raise InvalidInput("MODEL", legal, type(estimator).__name__, "`fit --out` saves one.")
    return estimator
