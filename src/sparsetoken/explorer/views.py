"""The views of the page as streams of events, each a dict that JSON can carry.

A stream is a generator: whoever no longer wants it stops asking, and nothing more is computed.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from sparsetoken.explorer.settings import DIMENSION, Settings
from sparsetoken.models import Attention
from sparsetoken.results import Prediction
from sparsetoken.results.simulation import standard_error
from sparsetoken.simulation.trial import Setting, TrialPlan
from sparsetoken.theory import align, descend
from sparsetoken.theory import capacity as capacity_of
from sparsetoken.theory.floor import directions_alike
from sparsetoken.theory.oracle import LearningError, learning_error
from sparsetoken.theory.predict import predict_readouts
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.validation import LARGEST_LOAD, InvalidInput, choice, integer

Events = Iterator[dict[str, Any]]

MODELS = ("attention", "pooled", "vectorized", "elementwise", "hard_attention")
LOADS = tuple(float(alpha) for alpha in np.geomspace(0.25, 10, 21))
NEAR = 0.06  # in log(alpha): the marked load stands for a neighbour
CHUNK = 3  # loads at a time: between chunks a stream can be left
TOLERANCE = 1e-3
FLOOR_LOADS, FLOOR_POINTS = LOADS[::5], 256
PHASE_TOLERANCE, CELLS = 5e-3, 12
PHASE_AXES = {
    "strength": np.linspace(1.0, 8.0, CELLS),
    "positive_rate": np.linspace(0.05, 0.95, CELLS),
    "alpha0": np.geomspace(0.05, 20, CELLS),
    "length": np.unique(np.geomspace(2, 60, CELLS).round()),
}
CAPACITY_TOLERANCE, DESCENT_TOLERANCE = 1e-2, 5e-3
SIMULATED_LOADS = (0.5, 1.0, 2.0, 4.0)
SIMULATED = ("attention", "pooled")


def _chunks(loads: Sequence[float]) -> Iterator[Sequence[float]]:
    for first in range(0, len(loads), CHUNK):
        yield loads[first : first + CHUNK]


def _refused(model: str, error: InvalidInput) -> dict[str, Any]:
    return {"kind": "refused", "model": model, "message": str(error)}


def query(settings: Settings) -> Events:
    """Tell cosine and sharpness of the query, and what to know of it."""
    problem, model = settings.problem(), settings.model("attention")
    found = working_query(problem, model)
    assert found is not None  # attention has one
    advice = list(advice_on(problem, model, found))
    yield {"kind": "query", "cosine": found.cosine, "sharpness": found.sharpness, "advice": advice}


def curves(settings: Settings) -> Events:
    """Tell the learning curve of each model, and the floor under every learner."""
    yield from query(settings)
    problem, marked = settings.problem(), settings["alpha1"]
    loads = sorted({marked, *(alpha for alpha in LOADS if abs(math.log(alpha / marked)) > NEAR)})
    for name in MODELS:
        rows: list[dict[str, Any]] = []
        try:
            for some in _chunks(loads):
                readouts = [settings.readout(alpha) for alpha in some]
                found = predict_readouts(problem, settings.model(name), readouts, TOLERANCE)
                rows += [_row(alpha, p) for alpha, p in zip(some, found, strict=True)]
                yield {"kind": "working", "model": name, "done": len(rows), "of": len(loads)}
            yield {"kind": "curve", "model": name, "rows": rows}
        except InvalidInput as error:
            yield _refused(name, error)
    yield from _floor(settings)


def _row(alpha: float, found: Prediction | LearningError) -> dict[str, Any]:
    return {
        "alpha": alpha,
        "test_error": found.test_error,
        "numerical_error": found.numerical_error,
        "status": str(found.status.code),
    }


def floor(settings: Settings, alpha1: float, points: int) -> LearningError:
    """Return the least error of any learner that has the labels of query and readout.

    A query that is given may know of the signal what no labels told; then it is the error with
    the signal known.
    """
    if settings["query"] == "given":
        oracle = learning_error(settings.problem(), LARGEST_LOAD, points=points)
        return dataclasses.replace(oracle, test_error=oracle.oracle_error)
    if not directions_alike(settings.problem().tokens):
        remedy = "A signal along large directions of a covariance may be learned faster."
        raise InvalidInput(
            "tokens", "alike in all directions for this floor", settings.problem().tokens, remedy
        )
    labels = alpha1 + settings["alpha0"]
    return learning_error(settings.problem(), labels, points=points)


def _floor(settings: Settings) -> Events:
    rows = []
    try:
        for alpha in FLOOR_LOADS:
            rows.append(_row(alpha, floor(settings, alpha, FLOOR_POINTS)))
            yield {"kind": "working", "model": "floor", "done": len(rows), "of": len(FLOOR_LOADS)}
        yield {"kind": "curve", "model": "floor", "rows": rows}
    except InvalidInput as error:
        yield _refused("floor", error)


def phase(settings: Settings, axis: str = "strength") -> Events:
    """Tell the errors of three models over the load and another parameter, row by row."""
    choice("axis", axis, PHASE_AXES)
    loads = [float(alpha) for alpha in np.geomspace(0.25, 10, CELLS)]
    values = [value for value in PHASE_AXES[axis].tolist() if _legal(settings, axis, value)]
    yield {"kind": "axes", "x": loads, "y": values, "axis": axis}
    for value in values:
        here = settings.replace(**{axis: int(value) if axis == "length" else value})
        problem, readouts = here.problem(), [here.readout(alpha) for alpha in loads]
        row: dict[str, Any] = {"kind": "row", "value": value}
        for name in ("attention", "pooled", "vectorized"):
            found = predict_readouts(problem, here.model(name), readouts, PHASE_TOLERANCE)
            row[name] = [p.test_error for p in found]
            yield {"kind": "working", "model": name, "done": 0, "of": 0}
        yield row


def _legal(settings: Settings, axis: str, value: float) -> bool:
    return axis != "length" or value >= settings["informative"]


def alignment(settings: Settings) -> Events:
    """Tell cosine and sharpness of the query that two steps find, over their samples."""
    problem = settings.problem()
    for alpha0 in [*np.geomspace(0.05, 100, 25).tolist(), settings["alpha0"]]:
        found = align(problem, settings.steps(alpha0))
        yield {
            "kind": "alignment",
            "alpha0": alpha0,
            "cosine": found.cosine,
            "sharpness": found.sharpness,
            "readout_cosine": found.readout_cosine,
        }


def capacity(settings: Settings) -> Events:
    """Tell below which load the training set is separable, for each model."""
    problem = settings.problem()
    for name in ("pooled", "vectorized", "hard_attention", "attention"):
        found = capacity_of(problem, settings.model(name), tolerance=CAPACITY_TOLERANCE)
        yield {
            "kind": "capacity",
            "model": name,
            "capacity": found.capacity,
            "numerical_error": found.numerical_error,
            "status": str(found.status.code),
        }


def descent(settings: Settings) -> Events:
    """Tell the course of gradient descent on all weights: two replicas at once, then enough."""
    problem, model = settings.problem(), Attention(settings.descent())
    names = ("test_error", "training_loss", "cosine")
    for replicas in (2, None):
        found = descend(problem, model, tolerance=DESCENT_TOLERANCE, replicas=replicas)
        kept = np.isfinite(found.norm_w)  # until it diverges
        yield {
            "kind": "descent",
            "coarse": replicas is not None,
            **{name: getattr(found, name)[kept].tolist() for name in names},
            "numerical_error": found.numerical_error,
            "best_step": int(found.best_step),
            "status": str(found.status.code),
            "message": found.status.remedy,
        }
        if found.status.code == "no_limit":
            return


VIEWS: dict[str, Callable[..., Events]] = {
    view.__name__: view for view in (curves, phase, alignment, capacity, descent, query)
}
"""By the name that the page asks for."""


def simulation(settings: Settings, dimension: int, trials: int, seed: int) -> Events:
    """Run trials at finite dimension, and tell mean and standard error after each.

    They are the trials of ``simulate`` with the same dimension and seed.
    """
    integer("dimension (d)", dimension, 20, 1000)
    integer("trials", trials, 2, 64)
    integer("seed", seed, 0, 2**32 - 1)
    size = dimension if settings.isotropic else DIMENSION
    problem, setting = settings.problem(), Setting(size, seed, "reduced")
    total = len(SIMULATED) * len(SIMULATED_LOADS) * trials
    done = 0
    for name in SIMULATED:
        for alpha in SIMULATED_LOADS:
            plan = TrialPlan(problem, settings.model(name), settings.readout(alpha), setting)
            errors: list[float] = []
            for number in range(trials):
                errors.append(plan.run(number).outcome.test_error)
                done += 1
                yield {
                    "kind": "simulated",
                    "model": name,
                    "alpha": alpha,
                    "mean": float(np.mean(errors)),
                    "standard_error": float(standard_error(np.array(errors))),
                    "trials": len(errors),
                    "done": done,
                    "of": total,
                    "dimension": size,
                }


def numbers(value: Any) -> Any:
    """Return a value with null for the numbers that JSON lacks."""
    if isinstance(value, dict):
        return {key: numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [numbers(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
