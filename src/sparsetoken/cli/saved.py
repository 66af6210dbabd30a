"""Commands on saved models: score one on labelled bags, and what it predicts for a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sparsetoken.cli import files as f
from sparsetoken.cli import options as o
from sparsetoken.cli.show import guarded, put, put_json, put_table


@guarded
def score(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            show_default=False,
            help="A model that `fit --out` saved.",
        ),
    ],
    file: f.File,
    label: f.LabelColumn = "",
    bag: f.BagColumn = "bag",
    columns: f.Columns = "",
    positive: f.Positive = "",
    trust_pickle: f.TrustPickle = False,
    as_json: o.AsJson = False,
) -> None:
    """Score a saved model on labelled bags: accuracy, AUC and log-loss.

    Example: [cyan]sparsetoken score model.skops new.npz[/]
    """
    from sklearn.metrics import log_loss, roc_auc_score

    from sparsetoken.validation import InvalidInput

    data = f.read_bags(file, label, bag, columns, positive)
    estimator = _loaded(model, trust_pickle)
    classes = estimator.classes_
    unknown = sorted({str(y) for y in data.y.tolist()} - {str(c) for c in classes.tolist()})
    if unknown:
        legal = f"of the classes of the model, {', '.join(map(str, classes))}"
        remedy = "Of a model fitted with --positive give the same --positive."
        raise InvalidInput("labels", legal, ", ".join(unknown), remedy)
    y = data.y.astype(classes.dtype)
    two = len(classes) == 2
    scores = estimator.decision_function(data.bags)
    values: dict[str, Any] = {
        "bags": len(data.bags),
        "accuracy": float((estimator.predict(data.bags) == y).mean()),
        "auc": float(roc_auc_score(y == classes[1], scores)) if two else None,
        "log_loss": None,
    }
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(data.bags)
        values["log_loss"] = float(log_loss(y, chances, labels=classes))
    if as_json:
        put_json(values)
    else:
        put_table(f"Score of {model}", {k: v for k, v in values.items() if v is not None})


def predictions(
    model: Path, file: Path, bag: str, columns: str, trust_pickle: bool, as_json: bool
) -> None:
    """Print the class of each bag of a file, and its probability where the model has one.

    Raises
    ------
    InvalidInput
        If a file cannot be read, or the model is for bags of another dimension.
    """
    named = f.read_unlabelled(file, bag, columns)
    estimator = _loaded(model, trust_pickle)
    found = estimator.predict(named.bags).tolist()
    chances: list[Any] = [None] * len(found)
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(named.bags).max(axis=1).tolist()
    rows = [
        {"bag": str(name), "label": str(label), "probability": chance}
        for name, label, chance in zip(named.ids.tolist(), found, chances, strict=True)
    ]
    if as_json:
        put_json({"predictions": rows})
        return
    put("bag,label,probability")
    for row in rows:
        chance = "" if row["probability"] is None else f"{row['probability']:.4f}"
        put(f"{row['bag']},{row['label']},{chance}")


def _loaded(path: Path, trust_pickle: bool) -> Any:
    """Return a saved classifier; it says itself if bags are of another dimension."""
    from sparsetoken.estimators.base import BagClassifier
    from sparsetoken.estimators.saving import load
    from sparsetoken.validation import InvalidInput

    estimator = load(path, trust_pickle=trust_pickle)
    if not isinstance(estimator, BagClassifier):
        legal = "a classifier of bags"
        raise InvalidInput("MODEL", legal, type(estimator).__name__, "`fit --out` saves one.")
    return estimator
