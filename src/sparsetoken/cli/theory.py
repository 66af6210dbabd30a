"""Commands that answer from theory: align, predict, capacity."""

from __future__ import annotations

import contextlib
import dataclasses
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from sparsetoken.cli import options as o
from sparsetoken.cli.show import finish, guarded, message, put_json, put_table

if TYPE_CHECKING:
    from sparsetoken.problem import SparseTokenProblem
    from sparsetoken.training import FourStageTraining, Query

__all__ = [
    "align",
    "capacity",
    "chosen_query",
    "four_stages",
    "on_device",
    "predict",
    "warn_of_trained_query",
]


def chosen_query(cosine: float | None, sharpness: float | None) -> Query | None:
    """Return the query given by hand, or None if the training sets it."""
    from sparsetoken.training import Query
    from sparsetoken.validation import InvalidInput

    if cosine is None and sharpness is None:
        return None
    if cosine is None or sharpness is None:
        got = "--cosine alone" if sharpness is None else "--sharpness alone"
        remedy = "Give both, or neither to let the two gradient steps set the query."
        raise InvalidInput("--cosine and --sharpness", "given together", got, remedy)
    return Query(cosine, sharpness)


def four_stages(
    loss: str, ridge: float, alpha0: float, eta_w: float, eta_b: float, eta_q: float, beta: float
) -> FourStageTraining:
    """Return the training that the options describe."""
    from sparsetoken.losses import get_loss
    from sparsetoken.training import FourStageTraining

    return FourStageTraining(alpha0, eta_w, eta_b, eta_q, beta, loss=get_loss(loss), ridge=ridge)


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


def tell(text: str) -> None:
    """Write advice about the query, with the names of the options."""
    if text:
        for field, option in (("eta_b", "--eta-b"), ("positive_rate", "--positive-rate")):
            text = text.replace(field, option)
        message(f"Warning: {text}")


@contextlib.contextmanager
def query_warnings_told() -> Iterator[None]:
    """Write the warnings about the query as messages, after what is printed in the block."""
    from sparsetoken.theory import QueryWarning

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", QueryWarning)
        yield
    for one in caught:
        if issubclass(one.category, QueryWarning):
            tell(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def warn_of_trained_query(
    model: str, problem: SparseTokenProblem, training: FourStageTraining, query: Query | None
) -> None:
    """Warn of anti-alignment if the model takes its query from the training."""
    from sparsetoken import theory
    from sparsetoken.theory.advice import anti_alignment

    if query is None and model in ("attention", "elementwise"):
        tell(anti_alignment(problem, training, theory.align(problem, training).cosine))


def _show(title: str, values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        put_json(values)
    else:
        put_table(title, values)


@guarded
def align(
    length: o.Length = 10,
    informative: o.Informative = 1,
    strength: o.Strength = 5.0,
    positive_rate: o.PositiveRate = 0.5,
    loss: o.LossName = "logistic",
    ridge: o.Ridge = 1e-2,
    alpha0: o.Alpha0 = 2.0,
    eta_w: o.EtaW = 0.5,
    eta_b: o.EtaB = 0.5,
    eta_q: o.EtaQ = 1.0,
    beta: o.Beta = 1.0,
    device: o.Device = None,
    as_json: o.AsJson = False,
) -> None:
    """Predict the query that two gradient steps find.

    Example: [cyan]sparsetoken align --informative 3 --positive-rate 0.2 --strength 6[/]
    """
    from sparsetoken import theory
    from sparsetoken.problem import SparseTokenProblem
    from sparsetoken.theory.advice import anti_alignment

    problem = SparseTokenProblem(length, informative, strength, positive_rate)
    training = four_stages(loss, ridge, alpha0, eta_w, eta_b, eta_q, beta)
    with on_device(device):
        result = theory.align(problem, training)
    names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine")
    values = {name: getattr(result, name) for name in names}
    _show("Query after two gradient steps", {**values, "status": str(result.status.code)}, as_json)
    tell(anti_alignment(problem, training, result.cosine))
    finish(result.status)


@guarded
def predict(
    model: o.Model,
    length: o.Length = 10,
    informative: o.Informative = 1,
    strength: o.Strength = 5.0,
    positive_rate: o.PositiveRate = 0.5,
    loss: o.LossName = "logistic",
    ridge: o.Ridge = 1e-2,
    alpha1: o.Alpha1 = 2.0,
    cosine: o.Cosine = None,
    sharpness: o.Sharpness = None,
    alpha0: o.Alpha0 = 2.0,
    eta_w: o.EtaW = 0.5,
    eta_b: o.EtaB = 0.5,
    eta_q: o.EtaQ = 1.0,
    beta: o.Beta = 1.0,
    activation: o.Activation = "erf",
    tolerance: o.Tolerance = 1e-4,
    device: o.Device = None,
    as_json: o.AsJson = False,
) -> None:
    """Predict errors, loss, AUC and overlaps of a trained classifier.

    Example: [cyan]sparsetoken predict attention --cosine 0.9 --sharpness 1 --alpha1 2[/]
    """
    from sparsetoken import theory
    from sparsetoken.problem import SparseTokenProblem

    problem = SparseTokenProblem(length, informative, strength, positive_rate)
    training = four_stages(loss, ridge, alpha0, eta_w, eta_b, eta_q, beta)
    query = chosen_query(cosine, sharpness)
    with on_device(device), query_warnings_told():
        result = theory.predict(
            model,
            problem,
            training,
            alpha1,
            query=query,
            activation=activation,
            tolerance=tolerance,
        )
        values = {
            "test_error": result.test_error,
            "training_loss": result.training_loss,
            "training_error": result.training_error,
            "auc": result.auc,
            "overlaps": dataclasses.asdict(result.overlaps),
            "numerical_error": result.numerical_error,
            "status": str(result.status.code),
        }
        _show(f"Prediction for {model}", values, as_json)
    finish(result.status)


@guarded
def capacity(
    model: o.Model,
    length: o.Length = 10,
    informative: o.Informative = 1,
    strength: o.Strength = 5.0,
    positive_rate: o.PositiveRate = 0.5,
    loss: o.LossName = "logistic",
    ridge: o.Ridge = 1e-2,
    cosine: o.Cosine = None,
    sharpness: o.Sharpness = None,
    alpha0: o.Alpha0 = 2.0,
    eta_w: o.EtaW = 0.5,
    eta_b: o.EtaB = 0.5,
    eta_q: o.EtaQ = 1.0,
    beta: o.Beta = 1.0,
    activation: o.Activation = "erf",
    tolerance: o.CapacityTolerance = 1e-4,
    device: o.Device = None,
    as_json: o.AsJson = False,
) -> None:
    """Predict the load n1/d up to which the training set is separable.

    Example: [cyan]sparsetoken capacity pooled --length 4 --strength 2[/]
    """
    from sparsetoken import theory
    from sparsetoken.problem import SparseTokenProblem

    problem = SparseTokenProblem(length, informative, strength, positive_rate)
    training = four_stages(loss, ridge, alpha0, eta_w, eta_b, eta_q, beta)
    query = chosen_query(cosine, sharpness)
    with on_device(device), query_warnings_told():
        result = theory.capacity(
            model,
            problem,
            training,
            query=query,
            activation=activation,
            tolerance=tolerance,
        )
        values = {"capacity": result.capacity, "status": str(result.status.code)}
        _show(f"Capacity of {model}", values, as_json)
    finish(result.status)
