"""Commands on files of bags: forecast, score and predict; and what fit shares."""

from __future__ import annotations

import contextlib
import csv
import dataclasses
import io
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.command import SIGNED, command, numbers
from sparsetoken.cli.output import Answer, printable

if TYPE_CHECKING:
    from sparsetoken.bags import LabelledBags


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Source:
    """The columns of labels, ids and tokens in a file of bags."""

    label: o.LabelColumn = ""
    bag: o.BagColumn = "bag"
    groups: o.Groups = ""
    columns: o.Columns = ""
    positive: o.Positive = ""

    def read(
        self, file: Path, columns: list[str] | None = None, *, empty: bool = False
    ) -> LabelledBags:
        """Read bags and labels, which are True or False if one label is the positive one.

        Columns are those of the options, else the given ones. Bags may be without a token if empty
        ones are allowed.
        """
        from sparsetoken.bags.files import loaded

        wanted = names(self.columns) or columns
        data = loaded(file, self.label, self.bag, wanted, self.groups, empty=empty)
        return data.against_rest(self.positive) if self.positive else data


def names(text: str) -> list[str] | None:
    """Return the names in a comma-separated list, None if it is empty."""
    return [name.strip() for name in text.split(",")] if text else None


def columns_told(data: LabelledBags) -> str:
    """Return the number of columns of the tokens, with their names if they are few."""
    from sparsetoken.bags.labelled import SHOWN, some

    used = f"Columns of the tokens: {len(data.columns)}"
    if len(data.columns) <= SHOWN:
        used += f" ({', '.join(data.columns)})"
    return used + (f"; unused: {some(data.left_out)}" if data.left_out else "")


def separating(data: LabelledBags) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the columns that separate the classes on their own, with a warning about them.

    The column None is the bag size.
    """
    columns = [
        {
            **dataclasses.asdict(one),
            "label": str(one.label),
            "column": None if one.column is None else data.columns[one.column],
        }
        for one in data.separating
    ]
    leaks = data.leaks()
    return columns, [f"Warning: {leaks} (--columns names those to keep.)"] if leaks else []


@command
def forecast(
    file: o.File,
    *,
    sizes: Annotated[
        str,
        Option(
            help="Numbers of labelled bags, separated by commas, at least the number n in the "
            "file. By default n, 2n and 4n.",
        ),
        SIGNED,
    ] = "",
    source: Source = Source(),
    seed: o.Seed = 0,
) -> Answer:
    """Forecast test errors with more labelled bags: bag, attention and pooled, as in fit --model.

    Example: sparsetoken forecast bags.npz --sizes 200,400
    """
    from sparsetoken import forecasting

    wanted = numbers("--sizes", sizes, int) if sizes else None
    seed = o.random_state(seed)
    data = source.read(file)
    data.check_two_classes()
    forecasts = forecasting.forecast(
        data.bags, data.y, wanted, groups=data.groups, random_state=seed
    )
    _, warnings = separating(data)
    plain = str(dataclasses.replace(forecasts, advice=()))
    lines = [columns_told(data), *plain.splitlines()]
    return Answer("", forecasts.to_dict(), lines, advice=[*warnings, *forecasts.advice])


@command
def score(
    model: Annotated[Path, Option("MODEL", help="A model that `fit --out` saved.")],
    file: o.File,
    *,
    source: Source = Source(),
    trust_pickle: o.TrustPickle = False,
    refuse_empty: o.RefuseEmpty = False,
) -> Answer:
    """Score a saved model on labelled bags: accuracy, AUC and log-loss; R^2 and errors of numbers.

    The AUC of more than two classes is the mean of those of each class against the rest.

    Example: sparsetoken score model.skops new.npz
    """
    estimator = _loaded(model, trust_pickle)
    data = source.read(file, _columns(estimator, file), empty=not refuse_empty)
    scores = _class_scores if hasattr(estimator, "classes_") else _number_scores
    with _told() as told:
        values, why = scores(estimator, data)
    return Answer(f"Score of {model}", values, advice=[*told, *why])


@contextlib.contextmanager
def _told() -> Iterator[list[str]]:
    """Collect what is to be said of bags without a token."""
    from sparsetoken.estimators import EmptyBagWarning

    told: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", EmptyBagWarning)
        yield told
    told += dict.fromkeys(f"Warning: {one.message}" for one in caught)


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
    from sklearn.metrics import log_loss, roc_auc_score

    from sparsetoken.bags.labelled import some
    from sparsetoken.base.validation import InvalidInput
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
    auc, why, absent = None, [], sorted(set(classes.tolist()) - set(y.tolist()))
    if len(classes) == 2:
        auc = roc_auc_score(y == classes[1], estimator.decision_function(data.bags))
    elif absent:
        why = [
            f"No AUC: the mean over classes needs bags of each, there is none of {some(absent)}."
        ]
    elif chances is None:
        why = [
            "No AUC: that of more than two classes is of probabilities, which MODEL does not give."
        ]
    else:
        auc = roc_auc_score(y, chances, multi_class="ovr", average="macro", labels=classes)
    values = {
        "bags": len(data.bags),
        "accuracy": (estimator.predict(data.bags) == y).mean(),
        "auc": auc,
        "log_loss": None if chances is None else log_loss(y, chances, labels=classes),
    }
    return values, why


def predictions(
    model: Path, file: Path, bag: str, columns: str, trust_pickle: bool, refuse_empty: bool
) -> Answer:
    """Return the number of each bag of a file, or its class, with a probability if there is one."""
    from sparsetoken.bags.files import loaded

    estimator = _loaded(model, trust_pickle)
    wanted = names(columns) or _columns(estimator, file)
    data = loaded(file, None, bag, wanted, empty=not refuse_empty)
    bags = data.bags
    found: dict[str, list[Any]] = {"bag": [str(name) for name in data.ids.tolist()]}
    with _told() as told:
        predicted = estimator.predict(bags).tolist()
        if not hasattr(estimator, "classes_"):
            found["number"] = predicted
        else:
            found["label"] = list(map(str, predicted))
            found["probability"] = [None] * len(predicted)
            if hasattr(estimator, "predict_proba"):
                found["probability"] = estimator.predict_proba(bags).max(axis=1).tolist()
    rows = [dict(zip(found, row, strict=True)) for row in zip(*found.values(), strict=True)]
    table = io.StringIO()
    lines = csv.writer(table, lineterminator="\n")
    lines.writerow(found)
    shown = {"number": "{:.6g}", "probability": "{:.4f}"}
    for row in rows:
        written = {name: x for name, x in row.items() if x is not None}
        cells = [shown.get(n, "{}").format(written[n]) if n in written else "" for n in row]
        lines.writerow(map(printable, cells))
    return Answer("", {"predictions": rows}, table.getvalue().splitlines(), advice=told)


def _columns(estimator: Any, file: Path) -> list[str] | None:
    """Return the columns of a table that `fit` fitted the model to, whatever their order now."""
    table = file.suffix.lower() in (".parquet", ".pq")
    known = getattr(estimator, "feature_names_in_", None)
    return known.tolist() if table and known is not None else None


def _loaded(path: Path, trust_pickle: bool) -> Any:
    """Return a saved estimator; it says itself if bags are of another dimension."""
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.estimators.base import BagEstimator
    from sparsetoken.estimators.saving import load

    if path.suffix.lower() in (".npz", ".parquet", ".pq"):
        legal = "a classifier that was saved"
        raise InvalidInput("MODEL", legal, str(path), "MODEL comes first, then the FILE of bags.")
    estimator = load(path, trust_pickle=trust_pickle)
    if not isinstance(estimator, BagEstimator):
        legal = "a classifier or regressor of bags"
        raise InvalidInput("MODEL", legal, type(estimator).__name__, "`fit --out` saves one.")
    return estimator
