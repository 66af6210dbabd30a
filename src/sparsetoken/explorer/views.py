"""The views of the page as streams of events, each a dict that JSON can carry.

A stream is a generator: when its reader stops, nothing more is computed.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import math
import threading
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, Future, wait
from typing import Any

import numpy as np

from sparsetoken.base.progress import showing
from sparsetoken.base.validation import LARGEST_LOAD, InvalidInput, choice, integer
from sparsetoken.explorer.film import bags_in_training
from sparsetoken.explorer.settings import DIMENSION, Settings
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.task_law import Problem, law_of
from sparsetoken.numerics.backend import with_x64
from sparsetoken.results import Capacity, Course, Prediction
from sparsetoken.results.simulation import standard_error
from sparsetoken.simulation.setting import Setting
from sparsetoken.simulation.trial import TrialPlan
from sparsetoken.theory import align, descend, predict
from sparsetoken.theory import capacity as capacity_of
from sparsetoken.theory.features import model_features
from sparsetoken.theory.oracle import LearningError, learning_error
from sparsetoken.theory.query import advice_on, working_query
from sparsetoken.theory.readout.equations import Load
from sparsetoken.theory.readout.outcome import scores_on
from sparsetoken.theory.readout.solve import ROUGH_STEP, SaddlePoint, solve_readout

COARSE = ("attention", "pooled", "vectorized")
COARSE_LOADS = tuple(np.geomspace(0.25, 10, 7).tolist())
NODES = 32  # of a coarse curve, for each class and scramble

Events = Iterator[dict[str, Any]]
Counts = tuple[int | None, ...]

MODELS = ("attention", "pooled", "vectorized", "elementwise", "hard_attention")
LOADS = tuple(np.geomspace(0.25, 10, 21).tolist())
NEAR = 0.06  # in log(alpha): the marked load stands for a neighbour
CHUNK = 3  # loads at a time: between chunks a stream can be left; one where a query is random
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
NETWORK_REPLICAS = 8  # whatever the error: where symmetries break slowly it falls too slowly
QUICK_REPLICAS = 2
PAUSE = 1.0  # seconds between signs that a descent goes on
SIMULATED_LOADS = (0.5, 1.0, 2.0, 4.0)
SIMULATED = ("attention", "pooled")
_DESCENTS = threading.Lock()  # one at a time: each takes hundreds of MB


def _named(result: Any, *names: str) -> dict[str, Any]:
    return {name: getattr(result, name) for name in names}


def predictions(
    settings: Settings, name: str, loads: Sequence[float], tolerance: float
) -> Prediction:
    """Return the predictions for the model of this name at each load."""
    problem, model = settings.problem(), settings.model(name)
    return predict(problem, model, settings.readout(loads), tolerance=tolerance, progress=False)


def query(settings: Settings) -> Events:
    """Yield cosine and sharpness of the query, and advice about it."""
    problem, model = settings.problem(), settings.model("attention")
    query = working_query(problem, model)
    advice = advice_on(problem, model, query)
    yield {"kind": "query", **_named(query, "cosine", "sharpness"), "advice": advice}


def curves(settings: Settings) -> Events:
    """Yield the learning curve of each model, and the Bayes-optimal error."""
    yield from query(settings)
    marked = settings["alpha1"]
    loads = sorted({marked, *(alpha for alpha in LOADS if abs(math.log(alpha / marked)) > NEAR)})
    floor = functools.partial(floors, settings)
    parts: list[Any] = [("floor", FLOOR_LOADS, 1, floor)]
    for name in reversed(MODELS):
        solve = functools.partial(predictions, settings, name, tolerance=TOLERANCE)
        parts.insert(0, (name, loads, CHUNK if settings.isotropic else 1, solve))
    of, done = sum(len(part[1]) for part in parts), 0
    for part in parts:
        for event in _curve(*part):
            yield {**event, "done": done + event.get("done", 0), "of": of}
        done += len(part[1])


def _curve(
    name: str, loads: Sequence[float], chunk: int, solve: Callable[[Sequence[float]], Iterable[Any]]
) -> Events:
    rows: list[dict[str, Any]] = []
    try:
        for first in range(0, len(loads), chunk):
            some = loads[first : first + chunk]
            for alpha, prediction in zip(some, solve(some), strict=True):
                errors = _named(prediction, "test_error", "numerical_error", "status")
                rows.append({"alpha": alpha, **errors})
            yield {"kind": "working", "model": name, "done": len(rows)}
        yield {"kind": "curve", "model": name, "rows": rows}
    except InvalidInput as error:
        yield {"kind": "refused", "model": name, "message": str(error)}


def floors(settings: Settings, loads: Sequence[float]) -> list[LearningError]:
    """Return the Bayes-optimal error with the labels of query and readout.

    A given query may use knowledge of the signal beyond the labels; then it is the error with the
    signal known.
    """
    problem = settings.problem()
    if settings["query"] == "given":
        oracle = learning_error(problem, LARGEST_LOAD, points=FLOOR_POINTS)
        return [dataclasses.replace(oracle, test_error=oracle.oracle_error)] * len(loads)
    if settings["spectrum"] > 0:
        remedy = "A signal along large directions of a covariance may be learned faster."
        legal = "alike in all directions for this floor"
        raise InvalidInput("tokens", legal, problem.tokens, remedy)
    labels = [alpha1 + settings["alpha0"] for alpha1 in loads]
    return [learning_error(problem, alpha, points=FLOOR_POINTS) for alpha in labels]


class CoarseCurves:
    """Curves of low accuracy, one after another.

    A slider moves by little from one request to the next, so the solution before is a good
    start: a few Newton steps lead to the next.
    """

    def __init__(self) -> None:
        self._starts: dict[tuple[object, ...], SaddlePoint] = {}

    @with_x64
    def curves(self, settings: Settings) -> dict[str, dict[str, list[float]]]:
        """Return ``{model: {"alpha": [...], "test_error": [...]}}`` of `COARSE`."""
        return {name: self._curve(settings, name) for name in COARSE}

    def _curve(self, settings: Settings, name: str) -> dict[str, list[float]]:
        problem, model = settings.problem(), settings.model(name)
        features = model_features(model, problem, working_query(problem, model))
        equations = features.equations(features.nodes(problem, NODES), settings.readout(1.0).loss)
        known: dict[str, list[float]] = {"alpha": [], "test_error": []}
        if equations.nodes.featureless:
            return known
        last = None  # points of tokens with a covariance take longer: they are fewer
        for alpha in COARSE_LOADS if settings.isotropic else COARSE_LOADS[::3]:
            key = name, settings["loss"], equations.J, equations.K, settings.isotropic, alpha
            load = Load(features.samples(alpha), settings["ridge"])
            saddle = solve_readout(equations, load, self._starts.get(key, last), ROUGH_STEP)
            if saddle.converged:
                self._starts[key] = last = saddle
                known["alpha"].append(alpha)
                known["test_error"].append(scores_on(equations.nodes, saddle.state).test_error())
        return known


def phase(settings: Settings, axis: str = "strength") -> Events:
    """Yield the errors of three models over the load and another parameter, row by row."""
    choice("axis", axis, PHASE_AXES)
    loads = np.geomspace(0.25, 10, CELLS).tolist()
    values = PHASE_AXES[axis].tolist()
    if axis == "length":
        values = [int(length) for length in values if length >= settings["informative"]]
    yield {"kind": "axes", "x": loads, "y": values, "axis": axis}
    chunk = CELLS if settings.isotropic else 1
    done, of = 0, len(values) * len(COARSE) * CELLS
    for value in values:
        here = settings.replace(**{axis: value})
        row: dict[str, Any] = {"kind": "row", "value": value, **{name: [] for name in COARSE}}
        for name, first in itertools.product(COARSE, range(0, CELLS, chunk)):
            some = loads[first : first + chunk]
            row[name] += predictions(here, name, some, PHASE_TOLERANCE).test_error.tolist()
            done += len(some)
            yield {"kind": "working", "model": name, "done": done, "of": of}
        yield row


def alignment(settings: Settings) -> Events:
    """Yield cosine and sharpness of the query found by two steps, over their samples."""
    problem = settings.problem()
    for alpha0 in [*np.geomspace(0.05, 100, 25).tolist(), settings["alpha0"]]:
        result = _named(
            align(problem, settings.steps(alpha0)), "cosine", "sharpness", "readout_cosine"
        )
        yield {"kind": "alignment", "alpha0": alpha0, **result}


def capacity(settings: Settings) -> Events:
    """Yield the load below which the training set is separable, for each model."""
    problem = settings.problem()
    names = ("pooled", "vectorized", "hard_attention", "attention")
    for i, name in enumerate(names):
        result = _capacity(problem, settings.model(name))
        quantities = _named(result, "capacity", "numerical_error", "status")
        place = {"done": i + 1, "of": len(names)}
        yield {"kind": "capacity", "model": name, **quantities, **place}


@functools.lru_cache(maxsize=1024)
def _capacity(problem: SparseTokenProblem, model: Model) -> Capacity:
    return capacity_of(problem, model, tolerance=CAPACITY_TOLERANCE)


def descent(settings: Settings, replicas: Counts = (QUICK_REPLICAS, None)) -> Events:
    """Yield the course of joint gradient descent: from two replicas first, then from enough."""
    yield from _courses(settings.problem(), {"softmax": settings.descent()}, replicas)


def networks(settings: Settings, replicas: Counts = (QUICK_REPLICAS, NETWORK_REPLICAS)) -> Events:
    """Yield the Bayes-optimal error, then the course of each network in training."""
    problem = settings.problem()
    if settings.isotropic:
        least = learning_error(problem, settings["alpha1"], points=FLOOR_POINTS)
        yield {"kind": "floor", **_named(least, "test_error", "status")}
    yield from _courses(problem, settings.networks(), replicas)


def tasks(settings: Settings, replicas: Counts = (QUICK_REPLICAS, NETWORK_REPLICAS)) -> Events:
    """Yield the course of attention and of mean pooling on another task."""
    yield from _courses(settings.task(), settings.on_task(), replicas)


def _courses(problem: Problem, descents: dict[str, Descent], replicas: Counts) -> Events:
    """Yield each course until it diverges, from so many replicas; the last ones are shown."""
    plan = list(itertools.product(replicas, descents))
    costs = np.cumsum([count or NETWORK_REPLICAS for count, _ in plan])
    for i, (count, name) in enumerate(plan):
        trained = descents[name]
        place = {"done": costs[i - 1] if i else 0, "of": costs[-1]}
        course = yield from _followed(problem, trained, count, place)
        known = np.isfinite(course.training_loss)
        weights, readouts = course.weights, trained.network.readouts(outputs=1)
        queries = np.delete(weights.cosines[..., 0], readouts, axis=-1)
        one = queries.shape[-1] == 1  # of several the largest, in size
        shown = {
            **_named(course, "test_error", "training_loss", "attended"),
            "cosine": queries[:, 0] if one else np.abs(queries).max(axis=-1, initial=0),
            **{n: x for n, x in weights.columns().items() if n.startswith("overlap")},
        }
        yield {
            "kind": "course",
            "network": name,
            "coarse": i + len(descents) < len(plan),
            "notes": [note for note in (course.status.remedy, *course.notes) if note],
            **{quantity: values[known] for quantity, values in shown.items()},
            **_named(course, "numerical_error", "best_step", "status"),
            "bags": bags_in_training(law_of(problem), trained.network, weights, known.sum()),
            "done": costs[i],
            "of": costs[-1],
        }


class _Watch:
    """Counts the finished share of a course, and ends the work when nobody reads on."""

    def __init__(self) -> None:
        self.total: float | None = 1.0
        self.done, self.left = 0.0, False

    def update(self, n: float = 1) -> None:
        """Count, or raise an error that ends the work."""
        if self.left:
            raise CancelledError
        self.done += n

    def set_description(self, desc: str, refresh: bool = True) -> None:
        """Do nothing: what is worked on is known."""

    def close(self) -> None:
        """End."""


def _followed(
    problem: Problem, trained: Descent, count: int | None, place: dict[str, int]
) -> Generator[dict[str, Any], None, Course]:
    """Follow a descent in a thread, and yield how far it is; when the reader stops, it ends."""
    watch, future = _Watch(), Future[Course]()
    pieces = count or NETWORK_REPLICAS

    def run() -> None:
        follow = functools.partial(descend, problem, trained, tolerance=DESCENT_TOLERANCE)
        try:
            with _DESCENTS, showing(lambda what, total: watch):
                watch.update(0)
                future.set_result(follow(replicas=count))
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    try:
        while not wait([future], PAUSE).done:
            done = min(int(watch.done * pieces), pieces - 1)
            yield {"kind": "working", **place, "done": place["done"] + done}
        return future.result()
    finally:
        watch.left = True


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
    view.__name__: view
    for view in (curves, phase, alignment, capacity, descent, networks, tasks, query, simulation)
}
"""By the name in the request of the page."""
