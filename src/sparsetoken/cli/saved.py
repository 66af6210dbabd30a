"""Commands on saved models: score one on labelled bags, and predict the classes of a file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.bags import Source, names
from sparsetoken.cli.command import command
from sparsetoken.cli.output import Answer


@command
def score(
    model: Annotated[Path, Option("MODEL", help="A model that `fit --out` saved.")],
    file: o.File,
    *,
    source: Source = Source(),
    trust_pickle: o.TrustPickle = False,
) -> Answer:
    """Score a saved model on labelled bags: accuracy, AUC and log-loss.

    Example: sparsetoken score model.skops new.npz
    """
    from sklearn.metrics import log_loss, roc_auc_score

    from sparsetoken.estimators.labels import read_targets
    from sparsetoken.validation import InvalidInput

    estimator = _loaded(model, trust_pickle)
    if not hasattr(estimator, "classes_"):
        remedy = "predict gives its numbers."
        raise InvalidInput("MODEL", "a classifier", type(estimator).__name__, remedy)
    data = source.read(file, _columns(estimator, file))
    read_targets(data.bags, data.y, None, None)  # an AUC needs two classes
    classes = estimator.classes_
    unknown = sorted(set(data.classes) - set(map(str, classes.tolist())))
    if unknown:
        legal = f"of the classes of the model, {', '.join(map(str, classes))}"
        remedy = "For a model fitted with --positive, give the same --positive."
        raise InvalidInput("labels", legal, ", ".join(unknown), remedy)
    y = data.y.astype(classes.dtype)
    scores = estimator.decision_function(data.bags)
    chances = estimator.predict_proba(data.bags) if hasattr(estimator, "predict_proba") else None
    values = {
        "bags": len(data.bags),
        "accuracy": (estimator.predict(data.bags) == y).mean(),
        "auc": roc_auc_score(y == classes[1], scores) if len(classes) == 2 else None,
        "log_loss": None if chances is None else log_loss(y, chances, labels=classes),
    }
    return Answer(f"Score of {model}", values)


def predictions(model: Path, file: Path, bag: str, columns: str, trust_pickle: bool) -> Answer:
    """Return the class or number of each bag of a file, and a probability if the model has one."""
    from sparsetoken.bags.files import loaded

    estimator = _loaded(model, trust_pickle)
    data = loaded(file, None, bag, names(columns) or _columns(estimator, file))
    found = estimator.predict(data.bags).tolist()
    chances: list[float | None] = [None] * len(found)
    if hasattr(estimator, "predict_proba"):
        chances = estimator.predict_proba(data.bags).max(axis=1).tolist()
    rows, lines = [], ["bag,label,probability"]
    for name, label, chance in zip(data.ids.tolist(), found, chances, strict=True):
        rows.append({"bag": str(name), "label": str(label), "probability": chance})
        lines.append(f"{name},{label},{'' if chance is None else f'{chance:.4f}'}")
    return Answer("", {"predictions": rows}, lines)


def _columns(estimator: Any, file: Path) -> list[str] | None:
    """Return the columns of a table that `fit` fitted the model to, whatever their order now."""
    table = file.suffix.lower() in (".parquet", ".pq")
    return getattr(estimator, "columns_", None) if table else None


def _loaded(path: Path, trust_pickle: bool) -> Any:
    """Return a saved estimator; it says itself if bags are of another dimension."""
    from sparsetoken.estimators.base import BagEstimator
    from sparsetoken.estimators.saving import load
    from sparsetoken.validation import InvalidInput

    estimator = load(path, trust_pickle=trust_pickle)
    if not isinstance(estimator, BagEstimator):
        legal = "a classifier or regressor of bags"
        raise InvalidInput("MODEL", legal, type(estimator).__name__, "`fit --out` saves one.")
    return estimator
