"""The views of the page as streams of events."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from sparsetoken.base.validation import LARGEST_LOAD, InvalidInput, choice, integer
from sparsetoken.explorer.coarse import COARSE
from sparsetoken.explorer.code import code_of, of_bayes
from sparsetoken.explorer.events import BAYES_POINTS, Events, named
from sparsetoken.explorer.settings import DIMENSION, Settings
from sparsetoken.explorer.training import descent
from sparsetoken.explorer.words import refusal, worded
from sparsetoken.figures.palette import NAMES
from sparsetoken.model.models import Model, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.results import Capacity, Prediction
from sparsetoken.results.simulation import standard_error
from sparsetoken.simulation.setting import Setting
from sparsetoken.simulation.trial import TrialPlan
from sparsetoken.theory import align, predict
from sparsetoken.theory import capacity as capacity_of
from sparsetoken.theory.oracle import LearningError, learning_error
from sparsetoken.theory.query.working import advice_on, working_query

MODELS = ("attention", "pooled", "vectorized", "elementwise", "hard_attention")


def _rounded(values: np.ndarray) -> tuple[float, ...]:
    """Return the numbers of an axis with three digits, so that code that holds them is short."""
    return tuple(float(f"{value:.3g}") for value in values)


LOADS = _rounded(np.geomspace(0.25, 10, 21))
NEAR = 0.06  # in log(alpha): the marked load stands for a neighbour
AROUND = (0.95, 0.975, 0.99, 0.997, 1.0, 1.003, 1.01, 1.025, 1.05)
"""Loads relative to a peak, between which the curve is off by less than 0.006."""
SMALL_RIDGE = 0.05  # from it on a peak is as wide as the distance of the other loads
CHUNK = 3  # loads at a time: between chunks a stream can be left; one where a query is random
TOLERANCE = 1e-3
BAYES_LOADS = LOADS[::5]
PHASE_TOLERANCE = 5e-3
PHASE_LOADS = _rounded(np.geomspace(0.25, 8, 11))
PHASE_AXES: dict[str, tuple[float, ...]] = {
    "strength": _rounded(np.linspace(1, 6.5, 12)),
    "positive_rate": (0.05, *_rounded(np.linspace(0.1, 0.9, 9)), 0.95),
    "alpha0": (0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0, 5.0, 10.0, 20.0),
    "length": (2, 3, 4, 5, 7, 10, 15, 20, 30, 40, 60),
}
"""Round numbers, which stand beside the map."""
QUERY_LOADS = _rounded(np.geomspace(0.05, 100, 25))
CAPACITY_TOLERANCE = 1e-2
CAPACITIES = ("pooled", "vectorized", "hard_attention", "attention")
SIMULATED_LOADS = (0.5, 1.0, 2.0, 4.0)
SIMULATED = ("attention", "pooled")


def predictions(
    settings: Settings, name: str, loads: Sequence[float], tolerance: float
) -> Prediction:
    """Return the predictions for the model of this name at each load."""
    problem, model = settings.problem(), settings.model(name)
    return predict(problem, model, settings.readout(loads), tolerance=tolerance, progress=False)


def peak_loads(settings: Settings) -> list[float]:
    """Return loads around the peaks of the test error, which `LOADS` are too far apart for.

    With the square loss and a small ridge it peaks where there are as many labels as weights: d
    weights for each column that is pooled, L d for concatenated tokens.
    """
    if settings["loss"] != "square" or settings["ridge"] >= SMALL_RIDGE:
        return []
    around = AROUND if settings.isotropic else (1.0,)  # with a covariance a load takes seconds
    loads = (round(peak * ratio, 4) for peak in (1, settings["length"]) for ratio in around)
    return [alpha for alpha in loads if LOADS[0] <= alpha <= LOADS[-1]]


def query(settings: Settings) -> Events:
    """Yield cosine and sharpness of the query, and advice about it."""
    problem, model = settings.problem(), settings.model("attention")
    query = working_query(problem, model)
    advice = [worded(text) for text in advice_on(problem, model, query)]
    yield {"kind": "query", **named(query, "cosine", "sharpness"), "advice": advice}


def curves(settings: Settings) -> Events:
    """Yield the learning curve of each model, and the Bayes-optimal error."""
    marked = settings["alpha1"]
    apart = [alpha for alpha in LOADS if abs(math.log(alpha / marked)) > NEAR]
    loads = sorted({marked, *apart, *peak_loads(settings)})
    values = _values(settings, MODELS) | {"readout": settings.readout(loads)}
    figure = (
        _of_models("curves", f"predict(problem, model, readout, tolerance={TOLERANCE})")
        + """
ax = None
for curve in curves.values():
    ax = curve.plot(ax=ax)
ax.set(xscale="log")
"""
    )
    if settings.isotropic and settings["query"] == "two_steps":
        labels = f"problem, alpha + {settings['alpha0']}, points={BAYES_POINTS}"
        figure += f"""
loads = {BAYES_LOADS}
bayes = [
    st.oracle.learning_error({labels}).test_error
    for alpha in loads
]
{of_bayes("plot(loads, bayes")}"""
    yield code_of(settings, values, figure)
    yield from query(settings)
    bayes = functools.partial(bayes_errors, settings)
    parts: list[Any] = [("bayes", BAYES_LOADS, 1, bayes)]
    for name in reversed(MODELS):
        solve = functools.partial(predictions, settings, name, tolerance=TOLERANCE)
        parts.insert(0, (name, loads, CHUNK if settings.isotropic else 1, solve))
    of, done = sum(len(part[1]) for part in parts), 0
    for part in parts:
        for event in _curve(*part):
            yield {**event, "done": done + event.get("done", 0), "of": of}
        done += len(part[1])


def _values(settings: Settings, names: Iterable[str]) -> dict[str, Any]:
    """Return the problem and models of these names, for code."""
    return {"problem": settings.problem(), "models": tuple(map(settings.model, names))}


def _of_models(name: str, call: str) -> str:
    """Return the code of what a call gives for each model."""
    return f"{name} = {{\n    model.name: st.{call}\n    for model in models\n}}"


def _curve(
    name: str, loads: Sequence[float], chunk: int, solve: Callable[[Sequence[float]], Iterable[Any]]
) -> Events:
    rows: list[dict[str, Any]] = []
    try:
        for first in range(0, len(loads), chunk):
            some = loads[first : first + chunk]
            for alpha, prediction in zip(some, solve(some), strict=True):
                errors = named(prediction, "test_error", "numerical_error", "status")
                rows.append({"alpha": alpha, **errors})
            yield {"kind": "working", "model": name, "done": len(rows)}
        yield {"kind": "curve", "model": name, "rows": rows}
    except InvalidInput as error:
        yield {"kind": "refused", "model": name, "message": refusal(error)}


def bayes_errors(settings: Settings, loads: Sequence[float]) -> list[LearningError]:
    """Return the Bayes-optimal error with the labels of query and readout.

    It is not known beside an effect shared by a bag, nor of learners that see a spectrum. A given
    query may use knowledge of the signal beyond the labels; then it is the error with the signal
    known.
    """
    problem, legal = settings.problem(), "0 for this curve"
    if settings["bag_effect"] > 0:
        remedy = "Beside a shared effect this error is not known."
        raise InvalidInput("effect shared by a bag $c$", legal, settings["bag_effect"], remedy)
    if settings["query"] == "given":
        oracle = learning_error(problem, LARGEST_LOAD, points=BAYES_POINTS)
        return [dataclasses.replace(oracle, test_error=oracle.oracle_error)] * len(loads)
    if settings["spectrum"] > 0:
        remedy = "A signal along large directions of a covariance may be learned faster."
        raise InvalidInput("decay of the spectrum $a$", legal, settings["spectrum"], remedy)
    labels = [alpha1 + settings["alpha0"] for alpha1 in loads]
    return [learning_error(problem, alpha, points=BAYES_POINTS) for alpha in labels]


def phase(settings: Settings, axis: str = "strength") -> Events:
    """Yield the errors of three models: here, and over the load and another parameter by rows."""
    choice("axis", axis, PHASE_AXES)
    loads, values = PHASE_LOADS, PHASE_AXES[axis]
    if axis == "length":
        values = tuple(length for length in values if length >= settings["informative"])
    yield _phase_code(settings, axis, values)
    yield {"kind": "axes", "x": loads, "y": values, "axis": axis}
    chunk = len(loads) if settings.isotropic else 1
    done, of = 0, len(COARSE) * (1 + len(values) * len(loads))
    here: dict[str, Any] = {"kind": "here"}
    for name in COARSE:
        here[name] = predictions(settings, name, [settings["alpha1"]], TOLERANCE).test_error[0]
        done += 1
        yield {"kind": "working", "model": name, "done": done, "of": of}
    yield here
    for value in values:
        there = settings.replace(**{axis: value})
        row: dict[str, Any] = {"kind": "row", "value": value, **{name: [] for name in COARSE}}
        for name, first in itertools.product(COARSE, range(0, len(loads), chunk)):
            some = loads[first : first + chunk]
            row[name] += predictions(there, name, some, PHASE_TOLERANCE).test_error.tolist()
            done += len(some)
            yield {"kind": "working", "model": name, "done": done, "of": of}
        yield row


def _phase_code(settings: Settings, axis: str, values: Sequence[float]) -> dict[str, Any]:
    """Return the code of errors with a row for each value and a column for each load."""
    rows = tuple((value,) for value in values)
    made = _values(settings, COARSE)
    if axis != "alpha0":
        made["problem"] = dataclasses.replace(made["problem"], **{axis: rows})
    elif settings["query"] == "two_steps":
        query = settings.steps(rows)
        made["models"] = tuple(make_model(name, query) for name in COARSE)
    made |= {"readout": settings.readout(PHASE_LOADS), "loads": PHASE_LOADS, "values": values}
    call = f"predict(problem, model, readout, tolerance={PHASE_TOLERANCE}).test_error"
    figure = f"""
{_of_models("errors", call)}
stacked = np.stack([np.broadcast_to(e, (len(values), len(loads))) for e in errors.values()])
least, second, _ = np.sort(stacked, axis=0)
fig, ax = plt.subplots(layout="constrained")
names = {[NAMES.get(name, name) for name in COARSE]}
for name, error, cmap in zip(names, stacked, ("Blues", "Oranges", "Greens")):
    lead = np.where(error == least, second - least, np.nan)
    ax.pcolormesh(loads, values, lead, cmap=cmap, vmin=0, vmax=0.2)
    ax.plot([], [], "s", color=plt.get_cmap(cmap)(0.7), label=name)
ax.plot({settings["alpha1"]}, {settings[axis]}, "o", mfc="none", mec="black")
ax.set(xscale="log", xlabel="labelled bags per dimension", ylabel="{axis.replace("_", " ")}")
ax.set_xticks(loads[::2], labels=loads[::2])
ax.minorticks_off()
fig.legend(loc="outside upper center", ncols=3)
"""
    return code_of(settings, made, figure)


def alignment(settings: Settings) -> Events:
    """Yield cosine and sharpness of the query found by two steps, over their samples."""
    problem, loads = settings.problem(), sorted({*QUERY_LOADS, settings["alpha0"]})
    values = {"problem": problem, "steps": settings.steps(loads)}
    figure = """
found = st.align(problem, steps)
ax = found.plot("cosine", label="query")
found.plot("readout_cosine", ax, label="readout after its first step")
ax.set(xscale="log", ylabel="cosine with the signal")
"""
    yield code_of(settings, values, figure)
    for alpha0 in loads:
        result = named(
            align(problem, settings.steps(alpha0)), "cosine", "sharpness", "readout_cosine"
        )
        yield {"kind": "alignment", "alpha0": alpha0, **result}


def capacity(settings: Settings) -> Events:
    """Yield the load below which the training set is separable, for each model."""
    problem = settings.problem()
    call = f"capacity(problem, model, tolerance={CAPACITY_TOLERANCE}).capacity"
    figure = (
        _of_models("capacities", call)
        + f"""
fig, ax = plt.subplots(layout="constrained")
ax.bar_label(ax.barh(list(capacities), list(capacities.values())), fmt="%.3g")
ax.axvline({settings["alpha1"]}, ls="--", color="black")
ax.set_xlabel("labelled bags per dimension")
"""
    )
    yield code_of(settings, _values(settings, CAPACITIES), figure)
    for i, name in enumerate(CAPACITIES):
        result = _capacity(problem, settings.model(name))
        quantities = named(result, "capacity", "numerical_error", "status")
        quantities["message"] = worded(result.status.remedy)
        place = {"done": i + 1, "of": len(CAPACITIES)}
        yield {"kind": "capacity", "model": name, **quantities, **place}


@functools.lru_cache(maxsize=1024)
def _capacity(problem: SparseTokenProblem, model: Model) -> Capacity:
    return capacity_of(problem, model, tolerance=CAPACITY_TOLERANCE)


def simulation(settings: Settings, dimension: int = 200, trials: int = 8, seed: int = 0) -> Events:
    """Run trials at finite dimension, and yield mean and standard error after each.

    They are the trials of ``simulate`` with the same dimension and seed.
    """
    integer("dimension (d)", dimension, 20, 1000)
    integer("trials", trials, 2, 64)
    integer("seed", seed, 0, 2**32 - 1)
    size = dimension if settings.isotropic else DIMENSION
    problem, setting = settings.problem(), Setting(size, seed, "reduced")
    total = len(SIMULATED) * len(SIMULATED_LOADS) * trials
    done = 0
    for name, alpha in itertools.product(SIMULATED, SIMULATED_LOADS):
        plan = TrialPlan(problem, settings.model(name), settings.readout(alpha), setting)
        errors: list[float] = []
        for number in range(trials):
            errors.append(plan.run(number).outcome.test_error)
            done += 1
            yield {
                "kind": "simulated",
                "model": name,
                "alpha": alpha,
                "mean": np.mean(errors),
                "standard_error": standard_error(np.array(errors)),
                "trials": len(errors),
                "done": done,
                "of": total,
                "dimension": size,
            }


VIEWS: dict[str, Callable[..., Events]] = {
    view.__name__: view for view in (curves, phase, alignment, capacity, descent, query, simulation)
}
"""By the name in the request of the page."""
