"""The computation of rows of a sweep: pure functions of their configurations."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sparsetoken.losses import Loss, get_loss
from sparsetoken.sweep.parameters import PARAMETERS
from sparsetoken.sweep.records import CONVERGED, Result
from sparsetoken.validation import InvalidInput, choice, real

if TYPE_CHECKING:
    from sparsetoken.problem import SparseTokenProblem
    from sparsetoken.results import Status
    from sparsetoken.simulation.trial import TrialPlan
    from sparsetoken.training import FourStageTraining, Query

__all__ = ["check", "compute"]


def compute(
    rows: Sequence[Mapping[str, Any]],
    losses: Mapping[str, Loss] | None = None,
    memory_budget: int | None = None,
) -> list[Result]:
    """Return the results of some rows.

    Parameters
    ----------
    rows : sequence of mappings
        experiment, quantity, the parameters that matter, and for a simulation seed and trial.
    losses : mapping, optional
        By their labels, the losses of the rows that are not built in.
    memory_budget : int, optional
        The largest number of bytes that one trial may take, as counted beforehand; 4 GiB by
        default.
    """
    found = []
    for row in rows:
        c = _filled(row, losses)
        found.append(_COMPUTE[c["experiment"], c["quantity"]](c, memory_budget))
    return found


def check(
    row: Mapping[str, Any],
    losses: Mapping[str, Loss] | None = None,
    memory_budget: int | None = None,
) -> None:
    """Raise `InvalidInput` if `compute` would refuse the row before it begins."""
    from sparsetoken.attention import ACTIVATIONS
    from sparsetoken.results import MODELS

    c = _filled(row, losses)
    choice("model", c["model"], MODELS)
    choice("activation", c["activation"], ACTIVATIONS)
    _parts(c)
    if c["quantity"] == "theory":
        _check_theory(c)
    elif c["experiment"] == "alignment":
        _check_alignment(c, memory_budget)
    else:
        _plan(c, memory_budget)


def _check_theory(c: Mapping[str, Any]) -> None:
    from sparsetoken.validation import LARGEST_LOAD

    real("tolerance", c["tolerance"], 0.0, 1.0, open_low=True, open_high=True)
    if c["alpha1"] != math.inf:
        real("alpha1 (n1/d)", c["alpha1"], 1e-6, LARGEST_LOAD, remedy="inf is allowed.")


def _check_alignment(c: Mapping[str, Any], memory_budget: int | None) -> None:
    from sparsetoken.simulation.budget import Size, query_bytes, require_memory
    from sparsetoken.simulation.design import training_size

    setting, alpha0 = _setting(c), c["alpha0"]

    def need(size: Size) -> int:
        n = training_size(alpha0, size.dimension)
        return query_bytes(c["engine"], size.length, n, size.dimension)

    least = Size(setting.least_dimension, c["informative"])
    remedy = "Or raise memory_budget, or lower alpha0."
    require_memory(need, Size(c["dimension"], c["length"]), least, memory_budget, remedy)


_DEFAULTS = {name: parameter.default for name, parameter in PARAMETERS.items()}


def _filled(row: Mapping[str, Any], losses: Mapping[str, Loss] | None) -> dict[str, Any]:
    """Return the row with the default of what it does not depend on, and its loss as a value."""
    c = {**_DEFAULTS, **row}
    return {**c, "loss": _loss(c["loss"], losses or {})}


def _loss(label: str, losses: Mapping[str, Loss]) -> Loss:
    """Return the loss with this label: one of those given, or a built-in one."""
    if label in losses:
        return losses[label]
    if "#" in label:
        remedy = "Make the same loss and give it to the grid; another version of JAX changes it."
        legal = "given as an object, for this is the label of a loss that is not built in"
        raise InvalidInput("loss", legal, label, remedy)
    return get_loss(label)


def _parts(
    c: Mapping[str, Any],
) -> tuple[SparseTokenProblem, FourStageTraining, Query | None]:
    from sparsetoken.problem import SparseTokenProblem
    from sparsetoken.training import FourStageTraining

    stages = ("alpha0", "eta_w", "eta_b", "eta_q", "beta", "loss", "ridge")
    return (
        SparseTokenProblem(c["length"], c["informative"], c["strength"], c["positive_rate"]),
        FourStageTraining(*(c[name] for name in stages)),
        _query(c["cosine"], c["sharpness"]),
    )


def _query(cosine: float | None, sharpness: float | None) -> Query | None:
    from sparsetoken.training import Query

    if cosine is None and sharpness is None:
        return None
    if cosine is None or sharpness is None:
        name, missing = ("cosine", "sharpness") if sharpness is None else ("sharpness", "cosine")
        remedy = "Give both, or neither to let the two gradient steps set the query."
        raise InvalidInput(name, f"given together with {missing}", f"no {missing}", remedy)
    return Query(cosine, sharpness)


def _setting(c: Mapping[str, Any]) -> Any:
    from sparsetoken.simulation.trial import Setting

    return Setting(c["dimension"], c["seed"], c["engine"], c["dtype"])


def _plan(c: Mapping[str, Any], memory_budget: int | None) -> TrialPlan:
    from sparsetoken.simulation.trial import TrialPlan

    problem, training, query = _parts(c)
    return TrialPlan(
        c["model"],
        problem,
        training,
        c["alpha1"],
        query,
        c["activation"],
        _setting(c),
        memory_budget,
    )


def _predicted_query(c: Mapping[str, Any]) -> Query | None:
    """Return the query that theory works with; given to it, it need not warn of its own."""
    from sparsetoken import theory

    problem, training, query = _parts(c)
    if query is None and c["model"] in ("attention", "elementwise"):
        return theory.align(problem, training).query
    return query


def _predicted_alignment(c: Mapping[str, Any], _: int | None) -> Result:
    from sparsetoken import theory

    problem, training, _query = _parts(c)
    result = theory.align(problem, training)
    names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine", "rate")
    return _result({name: getattr(result, name) for name in names}, result.status)


def _predicted_learning(c: Mapping[str, Any], _: int | None) -> Result:
    from sparsetoken import theory

    problem, training, _query = _parts(c)
    result = theory.predict(
        c["model"],
        problem,
        training,
        c["alpha1"],
        query=_predicted_query(c),
        activation=c["activation"],
        tolerance=c["tolerance"],
    )
    names = ("susceptibility", "numerical_error", "residual", "iterations")
    return _result(_outcome(result) | {n: getattr(result, n) for n in names}, result.status)


def _predicted_capacity(c: Mapping[str, Any], _: int | None) -> Result:
    from sparsetoken import theory

    problem, training, _query = _parts(c)
    result = theory.capacity(
        c["model"],
        problem,
        training,
        query=_predicted_query(c),
        activation=c["activation"],
        tolerance=c["tolerance"],
    )
    names = ("capacity", "numerical_error", "residual", "iterations")
    return _result({name: getattr(result, name) for name in names}, result.status)


def _result(values: dict[str, Any], status: Status) -> Result:
    return Result(values, str(status.code), status.remedy)


def _outcome(result: Any) -> dict[str, Any]:
    names = ("test_error", "training_loss", "training_error", "auc")
    overlaps = dataclasses.asdict(result.overlaps)
    return {name: getattr(result, name) for name in names} | {
        f"{name}_overlap" if name != "bias" else name: value for name, value in overlaps.items()
    }


def _simulated_alignment(c: Mapping[str, Any], _: int | None) -> Result:
    problem, training, _query = _parts(c)
    coordinates = {"training": json.loads(training.to_json()), "trial": c["trial"]}
    engine = _setting(c).start(problem, **coordinates)
    found = engine.train_query(training)
    values = {
        "cosine": found.query.cosine,
        "overlap": found.overlap,
        "norm": found.norm,
        "sharpness": found.query.sharpness,
        "readout_cosine": found.readout_cosine,
    }
    return Result(values, seed=engine.seed)


def _simulated_learning(c: Mapping[str, Any], memory_budget: int | None) -> Result:
    plan = _plan(c, memory_budget)
    trial = plan.run(c["trial"])
    values = _outcome(trial.outcome) | {
        "cosine": trial.query.cosine,
        "sharpness": trial.query.sharpness,
        "readout_cosine": trial.readout_cosine,
    }
    status, remedy = CONVERGED, ""
    if trial.one_class:
        status = "no_limit"
        remedy = "D1 holds one class only; raise alpha1 or the dimension."
    elif trial.reason:
        status = "tolerance_not_reached"
        remedy = f"The readout did not converge ({trial.reason}); raise the ridge."
    return Result(values, status, remedy, plan.engine(c["trial"]).seed)


def _simulated_capacity(c: Mapping[str, Any], memory_budget: int | None) -> Result:
    from sparsetoken import simulation

    engine, _, design = _plan(c, memory_budget).draw(c["trial"])
    separable = simulation.is_separable(design.features, design.labels)
    return Result({"separable": int(separable)}, seed=engine.seed)


_COMPUTE = {
    ("alignment", "theory"): _predicted_alignment,
    ("learning", "theory"): _predicted_learning,
    ("capacity", "theory"): _predicted_capacity,
    ("alignment", "simulation"): _simulated_alignment,
    ("learning", "simulation"): _simulated_learning,
    ("capacity", "simulation"): _simulated_capacity,
}
