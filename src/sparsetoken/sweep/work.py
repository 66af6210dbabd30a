"""What one row of a sweep does: a pure function of its configuration."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from sparsetoken.sweep.parameters import PARAMETERS

if TYPE_CHECKING:
    from sparsetoken.problem import SparseTokenProblem
    from sparsetoken.results import Status
    from sparsetoken.simulation.trial import TrialPlan
    from sparsetoken.training import FourStageTraining, Query

__all__ = ["CONVERGED", "Found", "check", "compute"]

CONVERGED = "converged"


class Found(NamedTuple):
    """The result of one row.

    Attributes
    ----------
    values : dict
        Numbers by name; what a store can keep as JSON.
    status : str
        converged, or what stopped the computation.
    remedy : str
        What to try if it did not converge.
    seed : int or None
        Of the random streams of a simulation.
    """

    values: dict[str, Any]
    status: str = CONVERGED
    remedy: str = ""
    seed: int | None = None


def compute(configuration: Mapping[str, Any], memory_budget: int | None = None) -> Found:
    """Return the result of one row.

    Parameters
    ----------
    configuration : mapping
        experiment, quantity, the parameters that matter, and for a simulation seed and trial.
    memory_budget : int, optional
        Bytes that a trial may take, by count; 4 GiB by default.
    """
    c = _filled(configuration)
    return _WORK[c["experiment"], c["quantity"]](c, memory_budget)


def check(configuration: Mapping[str, Any], memory_budget: int | None = None) -> None:
    """Raise `InvalidInput` if `compute` would refuse the configuration before it begins."""
    from sparsetoken.attention import ACTIVATIONS
    from sparsetoken.results import MODELS
    from sparsetoken.validation import choice

    c = _filled(configuration)
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
    import math

    from sparsetoken.validation import LARGEST_LOAD, real

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


def _filled(configuration: Mapping[str, Any]) -> dict[str, Any]:
    return {**_DEFAULTS, **configuration}


_DEFAULTS = {name: parameter.default for name, parameter in PARAMETERS.items()}


@functools.lru_cache(maxsize=4096)
def _problem(*values: Any) -> SparseTokenProblem:
    from sparsetoken.problem import SparseTokenProblem

    return SparseTokenProblem(*values)


@functools.lru_cache(maxsize=4096)
def _training(alpha0: float, *values: Any) -> FourStageTraining:
    from sparsetoken.training import FourStageTraining

    return FourStageTraining(alpha0, *values)


@functools.lru_cache(maxsize=4096)
def _query(cosine: float | None, sharpness: float | None) -> Query | None:
    from sparsetoken.training import Query
    from sparsetoken.validation import InvalidInput

    if cosine is None and sharpness is None:
        return None
    if cosine is None or sharpness is None:
        name, missing = ("cosine", "sharpness") if sharpness is None else ("sharpness", "cosine")
        remedy = "Give both, or neither to let the two gradient steps set the query."
        raise InvalidInput(name, f"given together with {missing}", f"no {missing}", remedy)
    return Query(cosine, sharpness)


def _parts(
    c: Mapping[str, Any],
) -> tuple[SparseTokenProblem, FourStageTraining, Query | None]:
    stages = ("alpha0", "eta_w", "eta_b", "eta_q", "beta", "loss", "ridge")
    return (
        _problem(c["length"], c["informative"], c["strength"], c["positive_rate"]),
        _training(*(c[name] for name in stages)),
        _query(c["cosine"], c["sharpness"]),
    )


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


def _predicted_alignment(c: Mapping[str, Any], _: int | None) -> Found:
    from sparsetoken import theory

    problem, training, _query = _parts(c)
    result = theory.align(problem, training)
    names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine", "rate")
    return _found({name: getattr(result, name) for name in names}, result.status)


def _predicted_learning(c: Mapping[str, Any], _: int | None) -> Found:
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
    return _found(_outcome(result) | {n: getattr(result, n) for n in names}, result.status)


def _predicted_capacity(c: Mapping[str, Any], _: int | None) -> Found:
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
    return _found({name: getattr(result, name) for name in names}, result.status)


def _found(values: dict[str, Any], status: Status) -> Found:
    return Found(values, str(status.code), status.remedy)


def _outcome(result: Any) -> dict[str, Any]:
    names = ("test_error", "training_loss", "training_error", "auc")
    overlaps = dataclasses.asdict(result.overlaps)
    return {name: getattr(result, name) for name in names} | {
        f"{name}_overlap" if name != "bias" else name: value for name, value in overlaps.items()
    }


def _simulated_alignment(c: Mapping[str, Any], _: int | None) -> Found:
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
    return Found(values, seed=engine.seed)


def _simulated_learning(c: Mapping[str, Any], memory_budget: int | None) -> Found:
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
    return Found(values, status, remedy, plan.engine(c["trial"]).seed)


def _simulated_capacity(c: Mapping[str, Any], memory_budget: int | None) -> Found:
    from sparsetoken import simulation

    engine, _, design = _plan(c, memory_budget).draw(c["trial"])
    separable = simulation.is_separable(design.features, design.labels)
    return Found({"separable": int(separable)}, seed=engine.seed)


_WORK = {
    ("alignment", "theory"): _predicted_alignment,
    ("learning", "theory"): _predicted_learning,
    ("capacity", "theory"): _predicted_capacity,
    ("alignment", "simulation"): _simulated_alignment,
    ("learning", "simulation"): _simulated_learning,
    ("capacity", "simulation"): _simulated_capacity,
}
