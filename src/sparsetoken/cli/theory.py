"""Commands that answer from theory: align, predict, capacity."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from sparsetoken.cli import files as f
from sparsetoken.cli import options as o
from sparsetoken.cli.saved import predictions
from sparsetoken.cli.show import finish, guarded, message, put_values


@contextlib.contextmanager
def on_device(name: str | None) -> Iterator[None]:
    """Let JAX compute on the device of this name inside the block, or where it would anyway."""
    if name is None:
        yield
        return
    import jax

    from sparsetoken.numerics.devices import jax_device

    with jax.default_device(jax_device(name)):
        yield


def tell(advice: Sequence[str]) -> None:
    """Write advice about query and ridge, with the names of the options."""
    for text in advice:
        for field in ("eta_b", "eta_q", "positive_rate"):
            text = text.replace(field, "--" + field.replace("_", "-"))
        for field in ("alpha0", "beta"):
            text = text.replace(f" {field}", f" --{field}")
        message(f"Advice: {text}")


@guarded
@o.grouped
def align(
    task: o.TaskOptions,
    training: o.StepOptions,
    device: o.Device = None,
    as_json: o.AsJson = False,
) -> None:
    """Predict the query that two gradient steps find.

    Example: [cyan]sparsetoken align --informative 3 --positive-rate 0.2 --strength 6[/]
    """
    from sparsetoken.models import Attention
    from sparsetoken.theory.alignment.two_steps import align_point
    from sparsetoken.theory.query import advice_on

    problem, steps = task.problem(), training.steps()
    with on_device(device):
        result = align_point(problem, steps)
    names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine")
    values = {name: getattr(result, name) for name in names} | {"status": str(result.status.code)}
    put_values("Query after two gradient steps", values, as_json)
    tell(advice_on(problem, Attention(steps), result.query))
    finish(result.status)


@guarded
@o.grouped
def predict(
    model: o.ModelName,
    task: o.TaskOptions,
    training: o.ModelOptions,
    fit: o.ReadoutOptions,
    tolerance: o.Tolerance = 1e-4,
    device: o.Device = None,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            show_default=False,
            help="Bags (.npz or Parquet): then MODEL is a file that `fit --out` saved, and the "
            "class of each bag is printed.",
        ),
    ] = None,
    bag: f.BagColumn = "bag",
    columns: f.Columns = "",
    trust_pickle: f.TrustPickle = False,
    as_json: o.AsJson = False,
) -> None:
    """Predict errors, loss, AUC and overlaps of a trained classifier.

    With a FILE it predicts the classes of its bags by a saved model instead.

    Example: [cyan]sparsetoken predict attention --cosine 0.9 --sharpness 1 --alpha1 2[/]
    """
    if file is not None:
        predictions(Path(model), file, bag, columns, trust_pickle, as_json)
        return
    from sparsetoken import theory
    from sparsetoken.models import MODELS
    from sparsetoken.validation import InvalidInput

    if model not in MODELS and Path(model).is_file():
        remedy = "sparsetoken predict MODEL FILE predicts the classes of the bags in FILE."
        raise InvalidInput("FILE", f"given after the saved model {model}", "none", remedy)

    classifier, readout = training.model(model), fit.readout(training.loss)
    with on_device(device):
        result: Any = theory.predict(task.problem(), classifier, readout, tolerance=tolerance)
    query = {} if result.query is None else dataclasses.asdict(result.query)
    values = {
        "test_error": result.test_error,
        "training_loss": result.training_loss,
        "training_error": result.training_error,
        "auc": result.auc,
        **query,
        "overlaps": dataclasses.asdict(result.overlaps),
        "numerical_error": result.numerical_error,
        "status": str(result.status.code),
    }
    if not as_json and result.test_error < result.numerical_error:
        values["test_error"] = f"< {2 * result.numerical_error:.1g}"
    put_values(f"Prediction for {model}", values, as_json)
    tell(result.advice)
    finish(result.status)


@guarded
@o.grouped
def capacity(
    model: o.ModelName,
    task: o.TaskOptions,
    training: o.ModelOptions,
    tolerance: o.CapacityTolerance = 1e-4,
    device: o.Device = None,
    as_json: o.AsJson = False,
) -> None:
    """Predict the number of samples per dimension up to which the training set is separable.

    Example: [cyan]sparsetoken capacity pooled --length 4 --strength 2[/]
    """
    from sparsetoken import theory

    with on_device(device):
        result: Any = theory.capacity(task.problem(), training.model(model), tolerance=tolerance)
    values = {
        "capacity": result.capacity,
        "numerical_error": result.numerical_error,
        "status": str(result.status.code),
    }
    put_values(f"Capacity of {model}", values, as_json)
    tell(result.advice)
    finish(result.status)
