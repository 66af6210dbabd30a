"""Commands of the group bags: pack, forecast, score and predict; and what fit shares."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.bag_options import PANEL, File, LabelledSource, Source
from sparsetoken.cli.bag_tables import Out, answered, check_out, written
from sparsetoken.cli.output import Answer, not_written

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

    Example: sparsetoken bags pack slides/ --sheet labels.csv --out slides.bags
    """
    from sparsetoken import bags
    from sparsetoken.bags.table_files import TABLES
    from sparsetoken.base.validation import InvalidInput

    options = source.options()
    if not (source.sheet or source.labels) and file.suffix.lower() not in (*TABLES, ".npz"):
        options["labels"] = None  # they may come later
    try:
        folder = bags.pack(file, out, **options)
    except InvalidInput as error:
        name, *told = error.args
        raise InvalidInput("--out" if name == "to" else name, *told) from None
    return Answer("", {"path": str(folder), "status": "converged"}, [f"Wrote {folder}"])


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
    plot: Annotated[
        Path | None, Option(help="Draw the curves to this file, .svg, .png or .pdf.")
    ] = None,
    source: LabelledSource = LabelledSource(),
    seed: o.Seed = 0,
    common: o.Common = o.Common(),
) -> Answer:
    """Forecast test errors with more labelled bags: bag, attention and pooled, as in fit --model.

    Example: sparsetoken bags forecast bags.npz --sizes 200,400
    """
    from sparsetoken import forecasting
    from sparsetoken.cli.grid import PICTURES, check_file, picture
    from sparsetoken.estimators.inputs import first_look

    if plot is not None:
        check_file("--plot", plot, PICTURES, file)
    wanted = None if sizes is None else o.listed(sizes)
    seed = o.random_state(seed)
    data = source.read(file, classes=())  # two labels too are in order: False, True
    with first_look(data.bags, data.y, data.groups, ids=data.ids, stacklevel=4) as leaks:
        forecasts = forecasting.forecast(
            data.bags, data.y, wanted, groups=data.groups, random_state=seed
        )
    plain = str(dataclasses.replace(forecasts, advice=()))
    lines = [columns_told(data), *plain.splitlines()]
    values = {**forecasts.to_dict(), "leaks": leaks}
    failure = ""
    if plot is not None:
        try:
            with picture(plot, 5.6, 4.2) as figure:
                forecasts.plot(figure.subplots())
        except OSError as error:
            failure = not_written("plot", plot, error)
    return Answer("", values, lines, advice=list(forecasts.advice), shortfall=failure)


def score(
    model: Annotated[Path, Option("MODEL", help="A model that `fit --out` saved.")],
    file: File,
    /,
    *,
    out: Out = None,
    source: LabelledSource = LabelledSource(),
    refuse_empty: RefuseEmpty = False,
    common: o.Common = o.Common(),
) -> Answer:
    """Score a saved model on labelled bags: accuracies, AUC, log-loss; R^2 and errors of numbers.

    Beside the accuracy stand that of always answering with the largest class and the mean over
    classes (balanced); of two classes the share found of the positive one (sensitivity) and of the
    other (specificity). The positive one is that of the model, or of --positive; the average
    precision is of it. AUC and average precision of more than two classes are means of those of
    each class against the rest; they need bags of all classes, the other scores do not. Groups are
    scored too, by the mean probabilities, or numbers, of their bags. Intervals of 90% are over
    bags, or over groups, for the model as it is. Of the bags that the model was
    fitted to, all are too good: `fit` prints those of left-out bags.

    Example: sparsetoken bags score model.skops new.npz
    """
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.cli.scores import scores_of, table_of

    check_out(out, file, source.sheet)
    estimator = loaded_model(model)
    classes = [str(one) for one in getattr(estimator, "classes_", ())]
    if source.positive and not classes:
        raise InvalidInput("--positive", "left out for a model of numbers", source.positive)
    columns = columns_of_model(estimator, file)
    data = source.read(file, columns, empty=not refuse_empty, classes=classes)
    values, why = scores_of(estimator, data, source.positive)
    title, failure = f"Score of {model}, with 90% intervals", ""
    if out is not None:
        failure = written(table_of(values), out)
        values = {**values, "saved": None if failure else str(out)}
    return Answer(title, values, advice=why, shortfall=failure)


def predict(
    model: Annotated[Path, Option("MODEL", help="A model that `fit --out` saved.")],
    file: File,
    /,
    *,
    out: Out = None,
    source: Source = Source(),
    refuse_empty: RefuseEmpty = False,
    common: o.Common = o.Common(),
) -> Answer:
    """Predict the class of each bag with the probability of each class, or its number.

    Example: sparsetoken bags predict model.skops new.npz --out predictions.csv
    """
    import numpy as np

    check_out(out, file, source.sheet)
    estimator = loaded_model(model)
    columns = columns_of_model(estimator, file)
    data = source.loaded(file, columns, empty=not refuse_empty, labels=None)
    predicted = estimator.predict(data.bags)
    classes = [str(one) for one in getattr(estimator, "classes_", ())]
    kind, values = ("label", predicted.astype(str)) if classes else ("number", predicted)
    table = {"bag": np.asarray(data.ids, str), kind: values}
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(data.bags).T
        table |= {f"probability_{c}": one for c, one in zip(classes, chances, strict=True)}
    return answered("predictions", len(data.bags), table, out)


def columns_of_model(estimator: Any, file: Path) -> list[str] | None:
    """Return the columns of a table that `fit` fitted the model to, whatever their order now."""
    from sparsetoken.bags.table_files import TABLES

    known = getattr(estimator, "feature_names_in_", None)
    return known.tolist() if known is not None and file.suffix.lower() in TABLES else None


def loaded_model(path: Path) -> Any:
    """Return a saved estimator; it says itself if bags are of another dimension."""
    from sparsetoken.bags.array_files import ARRAYS
    from sparsetoken.bags.table_files import TABLES
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.estimators.base import BagEstimator
    from sparsetoken.estimators.saving import load

    if path.is_dir() or path.suffix.lower() in (*TABLES, *ARRAYS):
        legal = "a classifier that was saved"
        raise InvalidInput("MODEL", legal, str(path), "MODEL comes first, then the FILE of bags.")
    estimator = load(path)
    if not isinstance(estimator, BagEstimator):
        legal = "a classifier or regressor of bags"
        raise InvalidInput("MODEL", legal, type(estimator).__name__, "`fit --out` saves one.")
    return estimator
