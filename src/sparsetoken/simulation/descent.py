"""Gradient descent on all weights of a network, with real tokens."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.base.validation import LARGEST_VALUE, InvalidInput, integer
from sparsetoken.model.base import Problem, check_problem
from sparsetoken.model.course import Course, places
from sparsetoken.model.descent import Descent
from sparsetoken.model.descent_step import Iterate, gradient_step
from sparsetoken.model.minimum import Minimum
from sparsetoken.model.one_pass import OnePass, require_descent
from sparsetoken.model.tokens import check_dimension, symmetric_root
from sparsetoken.model.training import Training, training_of
from sparsetoken.model.values import broadcast, require_numbers
from sparsetoken.numerics.threads import one_thread
from sparsetoken.results import NetworkPath, Simulation, Status, StatusCode, Weights
from sparsetoken.simulation.descent_data import TokenData
from sparsetoken.simulation.minimum import MinimumPlan
from sparsetoken.simulation.network_scores import NewBags, bag_by_bag
from sparsetoken.simulation.parallel import Trial, simulated
from sparsetoken.simulation.performance import draws_for
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.simulation.setting import Setting
from sparsetoken.simulation.sizes import require_size
from sparsetoken.simulation.tensors import TensorEngine, samples_of

LARGEST = 10**9
DIMENSION = 1000


class DescentState(NamedTuple):
    """Weights, and the mean loss of the training set, nan of one pass."""

    U: Float[np.ndarray, "d m"]
    c: Float[np.ndarray, " C"]
    loss: float


@dataclasses.dataclass(frozen=True)
class DescentPlan:
    """All that determines the distribution of a trial of a descent."""

    problem: Problem
    descent: Descent | OnePass
    setting: Setting
    at: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        training = self.training
        require_numbers(self.problem, self.descent)
        least = len(training.start)
        remedy = "The signals and the start take a direction each."
        d = integer("dimension (d)", self.setting.dimension, max(least, 3), LARGEST, remedy)
        check_dimension(training.task.tokens, d)
        for step in self.at or ():
            most = len(training.along[1]) - 1
            integer("step in at", step, 0, most, "There are no more steps or times.")

        L, m = self.problem.length, len(training.columns)
        n = samples_of(training, d)
        largest = max(n, L * d, m * d, _new_bags(d) * L * m)
        require_size(largest, d, L, "times" if training.times else "alpha")

    @functools.cached_property
    def training(self) -> Training:
        """The descent in numbers."""
        return training_of(self.problem, self.descent)

    @one_thread()
    def run(self, trial: int) -> Trial[NetworkPath]:
        """Run one trial; its seed is a function of the seed and its number."""
        path = self._path(self.data(trial))
        known, (name, along) = int(np.isfinite(path.weights.norms[:, 0]).sum()), self.training.along
        if known == len(along):
            return Trial(path)
        what = f"it diverges at {name} {along[known]:g}; the {name}s before it are kept."
        lower = f"Lower the step sizes{'' if self.training.times else ' or momentum'}."
        return Trial(path, Status(StatusCode.NO_LIMIT, f"{what} {lower}"))

    def data(self, trial: int) -> TokenData:
        """Return the data set of a trial, with the columns that an earlier training has left."""
        course, depth = self.descent.start, 0
        while isinstance(course, Course):
            course, depth = getattr(course.trained, "start", None), depth + 1
        engine = self.setting.start(self.problem, trial, f"descent {depth}" if depth else "descent")
        assert isinstance(engine, TensorEngine)
        if not depth:
            return engine.descent_data(self.training)
        return _continued(self.training, self.descent.start, self.setting, trial, engine)

    def end(self, trial: int, position: float | None) -> tuple[TokenData, np.ndarray, np.ndarray]:
        """Return the data, columns and further weights of a trial at a step or time."""
        data = self.data(trial)
        for at, state in zip(self.training.along[1], _states(data), strict=False):
            if at == position:
                return data, state.U, state.c
        return (
            data,
            np.full_like(data.start(), math.nan),
            np.full_like(data.training.start_c, math.nan),
        )

    def _path(self, data: TokenData) -> NetworkPath:
        """Return the weights of all states, with errors and attention counted on new bags.

        So is the loss of one pass, which sees each bag once.
        """
        training, m = self.training, len(self.training.columns)
        sides = [(data, stream(data.seed, Stream.TEST))]
        if training.previous is not None:
            sides += [(_before(data), stream(data.seed, Stream.TEST, 1))]
        count = _new_bags(self.setting.dimension)
        bags, *bags_before = (NewBags(one.training.task, m, count, rng) for one, rng in sides)
        name, along = training.along
        shape = len(along)
        counted, before = np.full((shape, 2), math.nan), np.full(shape, math.nan)
        loss = np.full(shape, math.nan)
        overlaps = np.full((shape, m, len(training.task.directions)), math.nan)
        gram = np.full((shape, m, m), math.nan)
        c = np.full((shape, len(training.weights)), math.nan)
        for t, state in enumerate(_states(data)):
            at = data.moments(state.U)
            loss[t], overlaps[t], gram[t], c[t] = state.loss, at.overlaps, at.gram, state.c
            if self.at is None or t in self.at:
                counted[t] = bags.counted(training.network, at, state.c)
                for one in bags_before:
                    moments = sides[1][0].moments(state.U)
                    before[t], _ = one.counted(training.network, moments, state.c)
                if training.times:
                    loss[t], _ = bags.counted(training.network, at, state.c, training.loss)
        steps: dict[str, Any] = {"dims": (name,), "coords": {name: along}}
        names = training.columns, training.weights, training.task.directions
        weights = Weights.of_columns(overlaps, gram, c, *names, **steps)
        steps |= {"previous_task_error": before} if bags_before else {}
        return NetworkPath(counted[:, 0], loss, counted[:, 1], weights, **steps)


def _states(data: TokenData) -> Iterator[DescentState]:
    """Yield the weights at all steps or times."""
    training = data.training
    return (passed if training.times else followed)(data, training)


def _before(data: TokenData) -> TokenData:
    """Return the same with the task and the signals before."""
    training = data.training
    assert training.previous is not None
    assert data.signals_before is not None
    training = training._replace(task=training.previous.task, previous=None)
    return dataclasses.replace(data, training=training, signals=data.signals_before)


def _continued(
    training: Training, course: Course, setting: Setting, trial: int, engine: TensorEngine
) -> TokenData:
    """Return the data of a training whose columns another one has left after the same trial."""
    plan = MinimumPlan if isinstance(course.trained, Minimum) else DescentPlan
    data, trained, c = plan(course.problem, course.trained, setting).end(trial, course.position)
    assert training.previous is not None
    cosines, old = training.previous.cosines, data.signals
    new, before = cosines.shape
    normals = stream(engine.seed, Stream.SIGNAL).standard_normal((setting.dimension, new))
    fresh = np.linalg.qr(np.column_stack([old.T, normals]))[0][:, before:]
    signals = cosines @ old + symmetric_root(np.eye(new) - cosines @ cosines.T) @ fresh.T
    # Columns that are new start along the signals and directions beside all others.
    more = training.start[new + before + trained.shape[1] :]
    normals = stream(engine.seed, Stream.QUERY).standard_normal((setting.dimension, len(more)))
    known = np.column_stack([signals.T, np.nan_to_num(trained)])
    axes = np.linalg.qr(np.column_stack([known, normals]))[0][:, known.shape[1] :]
    U, start_c = signals.T @ training.start[:new] + axes @ more, training.start_c.copy()
    U[:, places(course.columns, training.columns)] = trained
    start_c[places(course.weights, training.weights)] = c
    own = dataclasses.replace(engine, given=signals)
    begun = own.descent_data(training._replace(start_c=start_c))
    return dataclasses.replace(begun, trained=U, signals_before=old)


def _new_bags(dimension: int) -> int:
    """Return how many new bags the errors of a network are counted on."""
    return 2 * draws_for(dimension)


def followed(data: TokenData, training: Training) -> Iterator[DescentState]:
    """Yield the weights at the start and after each step."""
    now = Iterate.start([data.start()], training.start_c)
    for t in range(training.steps + 1):
        (U,), c = now.U, now.c
        if not _bounded(U, c):
            return
        loss, by_U, by_c = data.gradient(U, c, t)
        yield DescentState(U, c, loss)
        if t < training.steps:
            now = gradient_step(training, t, now, [by_U], by_c)


def _bounded(U: np.ndarray, c: np.ndarray) -> bool:
    return bool(np.max([np.linalg.norm(U, axis=0).max(), *np.abs(c)]) <= LARGEST_VALUE)


def passed(data: TokenData, training: Training) -> Iterator[DescentState]:
    """Yield the weights at the times of one pass, each of whose steps sees the next bag."""
    counts = np.rint(np.array(training.times) * data.signals.shape[1]).astype(int)
    U, c, seen = data.start(), training.start_c, 0
    for X, y in data.chunks():
        every_U, every_c = bag_by_bag(training, X, y, U, c)
        last = seen + len(y)
        for count in counts[(seen <= counts) & ((counts < last) | (last == data.n))]:
            U, c = every_U[count - seen], every_c[count - seen]
            if not _bounded(U, c):
                return
            yield DescentState(U, c, math.nan)
        U, c, seen = every_U[-1], every_c[-1], last


def descend(
    problem: Problem,
    descent: Descent | OnePass = Descent(),
    *,
    dimension: int | None = None,
    trials: int = 8,
    seed: int = 0,
    at: Sequence[int] | None = None,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Simulation[NetworkPath]:
    """Train all weights jointly by gradient descent at finite dimension, step by step.

    A trial draws round(alpha d) samples. Its test error is counted on new bags, the same for all
    steps. A trial is seeded by its number and the seed alone. Fields of the problem and of the
    descent may hold arrays, which broadcast against one another.

    Parameters
    ----------
    problem : SparseTokenProblem, ConceptProblem or Task
    descent : Descent or OnePass
        Of one pass a step sees one bag.
    dimension : int, optional
        d, at least 3, and one for each signal and each column of the start; by default that of
        the tokens if they have a covariance, else 1000.
    trials, seed, workers, keep, progress
        As for `sparsetoken.simulate`.
    at : sequence of int, optional
        Steps after which the test error is computed, or positions in the times of one pass, all by
        default; it is nan after others.

    Returns
    -------
    Simulation
        With `mean`, `standard_error` and `trials`, the last dimension of which are the start and
        the steps, or the times of one pass. Its status is NO_LIMIT if a trial diverges: what was
        before that is kept.

    Raises
    ------
    InvalidInput
        If a value is illegal, or an array of a trial would exceed 2 GiB (before anything is
        allocated).

    See Also
    --------
    sparsetoken.descend : The same in the limit of high dimension.
    sparsetoken.simulate : The same experiment at finite dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> descent = st.Descent(alpha=3.0, steps=4)
    >>> found = st.simulation.descend(problem, descent, dimension=50, trials=2)
    >>> found.trials.test_error.shape
    (2, 5)
    """
    require_descent(descent)
    if at is not None and (not isinstance(at, Sequence | np.ndarray) or not len(at)):
        raise InvalidInput("at", "None or a list of steps", at)
    steps = None if at is None else tuple(at)
    grid = broadcast(problem, descent)
    first = grid.points[0][0]
    check_problem(first)
    own = first.tokens.dimension
    size = dimension if dimension is not None else own or DIMENSION
    setting = Setting(size, seed, "tensors")
    plans = [DescentPlan(task, trained, setting, steps) for task, trained in grid.points]
    return simulated(
        plans,
        grid,
        trials,
        call=["descend at finite dimension"],
        workers=workers,
        keep=keep,
        progress=progress,
    )
