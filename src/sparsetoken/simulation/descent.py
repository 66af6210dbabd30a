"""Gradient descent on readout, query and bias, with real tokens."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from sparsetoken.attention import elementwise_weights, softmax_weights
from sparsetoken.models import Attention, Elementwise, Model
from sparsetoken.problem import SparseTokenProblem, require_problem
from sparsetoken.results import (
    DescentPath,
    SimulatedTrajectory,
    Status,
    StatusCode,
    Trajectories,
)
from sparsetoken.simulation.budget import (
    CHUNK_BYTES,
    DEFAULT_BUDGET,
    FLOAT,
    Size,
    query_bytes,
    require_memory,
    scalar_bytes,
)
from sparsetoken.simulation.engine import Split, TrainedQuery, training_size
from sparsetoken.simulation.features import FeatureSampler, sampler_of
from sparsetoken.simulation.parallel import run_all
from sparsetoken.simulation.performance import expected_performance
from sparsetoken.simulation.seeds import Stream, seed_of, stream
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.stages import JointDescent
from sparsetoken.tokens import isotropic_only
from sparsetoken.validation import LARGEST_VALUE, InvalidInput, choice, integer
from sparsetoken.values import broadcast, require_numbers

__all__ = ["descended", "last_query", "simulate_descent"]

LEAST_DIMENSION = 3  # the signal, and two directions of the start
LARGEST = 10**9

Batch = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Tokens, labels and numbers of some samples."""


class State(NamedTuple):
    """Weights, and the mean loss of the training set."""

    w: Float[np.ndarray, " d"]
    q: Float[np.ndarray, " d"]
    b: float
    loss: float


class _Gradient(NamedTuple):
    loss: float
    w: np.ndarray
    q: np.ndarray
    b: float


_SLOPES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": lambda x: 2 / math.sqrt(math.pi) * np.exp(-np.square(x)),
    "sigmoid": lambda x: expit(x) * (1 - expit(x)),
    "tanh": lambda x: 1 - np.tanh(x) ** 2,
    "linear": np.ones_like,
    "exp": np.exp,
}


@dataclasses.dataclass(frozen=True)
class DescentPlan:
    """All that fixes the law of a trial of a descent."""

    problem: SparseTokenProblem
    model: Model
    dimension: int
    seed: int
    dtype: str = "float64"
    memory_budget: int | None = None

    def __post_init__(self) -> None:
        require_problem(self.problem)
        require_numbers(self.problem, self.model)
        isotropic_only(self.problem.tokens, "Descent on all weights")
        if not isinstance(self.model.query, JointDescent):
            raise InvalidInput("query of the model", "a JointDescent", self.model.query)
        check_model(self.model)
        remedy = "The signal and the start take three directions."
        integer("dimension (d)", self.dimension, LEAST_DIMENSION, LARGEST, remedy)
        integer("seed", self.seed, 0)
        choice("dtype", self.dtype, ("float32", "float64"))
        alpha = self.model.query.alpha

        def need(size: Size) -> int:
            n = training_size(alpha, size.dimension)
            passes = query_bytes("tensors", size.length, n, size.dimension)
            return passes + scalar_bytes(size.length) + 8 * FLOAT * size.dimension

        size = Size(self.dimension, self.problem.length)
        least = Size(LEAST_DIMENSION, self.problem.informative)
        remedy = "Or raise memory_budget, or lower alpha."
        require_memory(need, size, least, self.memory_budget, remedy)

    @functools.cached_property
    def sampler(self) -> FeatureSampler:
        """What gives the scores of new samples."""
        return sampler_of(self.model)

    @property
    def descent(self) -> JointDescent:
        """The steps."""
        assert isinstance(self.model.query, JointDescent)
        return self.model.query

    def run(self, trial: int) -> DescentPath:
        """Run one trial; its seed is a function of the seed and its number."""
        seed = seed_of("descent", self.seed, trial)
        engine = TensorEngine(self.problem, self.dimension, seed, self.dtype)
        rows = [
            self._row(engine, state)
            for state in descended(engine, self.model, self.descent, self.memory_budget)
        ]
        return DescentPath(*np.array(rows).T)

    def _row(self, engine: TensorEngine, state: State) -> tuple[float, ...]:
        w, q, b, loss = state
        found = engine.describe(q, self.descent.beta)
        s, xi = found.query.cosine, engine.signal
        return (
            self._test_error(engine, found, w, b),
            loss,
            s,
            found.query.sharpness,
            float(w @ xi),
            found.overlap,
            float(np.linalg.norm(w)),
            found.norm,
            float(w @ q),
            b,
        )

    def _test_error(
        self, engine: TensorEngine, found: TrainedQuery, w: np.ndarray, b: float
    ) -> float:
        """Return the error on new samples given the weights; all steps share their draws."""
        axes = self.sampler.axes(engine.signal, found)
        named = axes @ w
        split = Split(named, float(np.linalg.norm(w - named @ axes)))
        rng = stream(engine.seed, Stream.TEST)
        chunks = self.sampler.scores(self.problem, found.query, split, b, rng)
        return expected_performance(self.problem, chunks).test_error


def check_model(model: Model) -> None:
    """Raise `InvalidInput` unless descent can move both the readout and the query of a model."""
    if isinstance(model, Elementwise):
        remedy = "Its derivative jumps where a projection is 0, as all are at q = 0."
        choice("activation for gradient descent", model.activation, _SLOPES, remedy)
    elif not isinstance(model, Attention):
        legal = "attention or elementwise, for gradient descent on readout and query"
        raise InvalidInput("model", legal, model)


def descended(
    engine: TensorEngine, model: Model, descent: JointDescent, memory_budget: int | None = None
) -> Iterator[State]:
    """Yield the weights at the start and after each step, until they diverge.

    Parameters
    ----------
    engine : TensorEngine
        The samples are its D0.
    model : Attention or Elementwise
    descent : JointDescent
    memory_budget : int, optional
        Bytes; tokens that do not fit are drawn again for each step.
    """
    n = training_size(descent.alpha, engine.dimension)
    samples = _samples(engine, n, DEFAULT_BUDGET if memory_budget is None else memory_budget)
    eta_w, eta_q, eta_b, momentum = (
        descent.per_step(name) for name in ("eta_w", "eta_q", "eta_b", "momentum")
    )
    w, q = _start(engine, descent)
    b = 0.0
    last = w, q, b
    for t in range(descent.steps + 1):
        largest = float(np.max([np.linalg.norm(w), np.linalg.norm(q), abs(b)]))
        if not largest <= LARGEST_VALUE:
            return
        turn = t % descent.batches, descent.batches
        g = _gradient(samples(), model, descent, (w, q, b), n, turn)
        yield State(w, q, b, g.loss)
        if t == descent.steps:
            return
        m, now = momentum[t], (w, q, b)
        w = w - eta_w[t] * (g.w + descent.decay_w * w) + m * (w - last[0])
        q = q - eta_q[t] * (g.q + descent.decay_q * q) + m * (q - last[1])
        b = float(b - eta_b[t] * g.b + m * (b - last[2]))
        last = now


def last_query(
    engine: TensorEngine, model: Model, descent: JointDescent, memory_budget: int | None
) -> TrainedQuery:
    """Return the query that a descent on D0 ends with.

    Raises
    ------
    InvalidInput
        If the model cannot be trained by descent, or the descent diverges.
    """
    check_model(model)
    states = list(descended(engine, model, descent, memory_budget))
    if len(states) <= descent.steps:
        raise InvalidInput("JointDescent", "a descent that does not diverge", descent)
    w, q, *_ = states[-1]
    found = engine.describe(q, descent.beta)
    norm = float(np.linalg.norm(w))
    cosine = float(w @ engine.signal) / norm if norm > 0 else 0.0
    return dataclasses.replace(found, readout_cosine=cosine)


def _samples(engine: TensorEngine, n: int, budget: int) -> Callable[[], Iterator[Batch]]:
    """Return what goes through the training set, which is kept if it fits."""

    def drawn() -> Iterator[Batch]:
        first = 0
        for X, y in engine.chunks(Stream.D0, n):
            yield X, y, np.arange(first, first + len(y))
            first += len(y)

    tokens = n * engine.problem.length * engine.dimension * np.dtype(engine.dtype).itemsize
    if 2 * tokens + 2 * CHUNK_BYTES > budget:
        return drawn
    kept = list(drawn())
    return lambda: iter(kept)


def _start(engine: TensorEngine, descent: JointDescent) -> tuple[np.ndarray, np.ndarray]:
    """Return (w, q) with the lengths and the product that are asked for, orthogonal to xi."""
    rng = stream(engine.seed, Stream.QUERY)
    random = rng.standard_normal((engine.dimension, 2))
    basis = np.linalg.qr(np.column_stack([engine.signal, random]))[0][:, 1:]
    length, product = descent.start_w, descent.start_product
    along = product / length if length > 0 else 0.0
    rest = math.sqrt(max(descent.start_q**2 - along**2, 0.0))
    return length * basis[:, 0], along * basis[:, 0] + rest * basis[:, 1]


def _gradient(
    samples: Iterator[Batch],
    model: Model,
    descent: JointDescent,
    at: tuple[np.ndarray, np.ndarray, float],
    n: int,
    turn: tuple[int, int],
) -> _Gradient:
    """Return the mean loss of all samples, and its gradient over the batch whose turn it is."""
    w, q, b = at
    number, batches = turn
    size = sum(1 for i in range(n) if i * batches // n == number) if batches > 1 else n
    loss, pull = 0.0, 0.0
    by_w, by_q = np.zeros_like(w), np.zeros_like(q)
    for X, y, i in samples:
        t, u = X @ w.astype(X.dtype), X @ q.astype(X.dtype)
        weights, slopes = _pooling(model, t, u, descent.beta)
        z = (weights * t).sum(axis=1) + b
        with np.errstate(over="ignore"):
            loss += float(np.sum(descent.loss.value(y, z)))
        h = np.asarray(descent.loss.slope(y, z)) * (i * batches // n == number)
        flat = X.reshape(-1, X.shape[2])
        by_w += (h[:, None] * weights).astype(X.dtype).ravel() @ flat
        by_q += (h[:, None] * slopes).astype(X.dtype).ravel() @ flat
        pull += float(h.sum())
    size = max(size, 1)
    return _Gradient(loss / n, by_w / size, by_q / size, pull / size)


def _pooling(
    model: Model, t: np.ndarray, u: np.ndarray, beta: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the weights of the tokens, and the derivative of the score by beta-free scores u."""
    if isinstance(model, Elementwise):
        slope = _SLOPES[model.activation](beta * u) / t.shape[1]
        return elementwise_weights(beta * u, model.activation), beta * slope * t
    a = softmax_weights(beta * u)
    return a, beta * a * (t - (a * t).sum(axis=1, keepdims=True))


def simulate_descent(
    problem: SparseTokenProblem,
    model: Model = Attention(JointDescent()),
    *,
    dimension: int = 1000,
    trials: int = 8,
    seed: int = 0,
    dtype: str = "float64",
    memory_budget: int | None = None,
    executor: Executor | None = None,
    on_trial: Callable[[int, DescentPath], None] | None = None,
) -> SimulatedTrajectory | Trajectories[SimulatedTrajectory]:
    """Train all weights by gradient descent on real tokens, step by step.

    A trial draws round(alpha d) samples. Its test error is the conditional expectation given
    the weights. A trial is seeded by its number and the seed alone. Fields of the problem and
    of the descent may hold arrays, which broadcast against one another.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Attention or Elementwise
        Its query is a `JointDescent`.
    dimension : int
        d, at least 3.
    trials : int >= 1
    seed : int >= 0
    dtype : str
        float64 or float32, the type of the tokens.
    memory_budget : int, optional
        Bytes that one trial may use; 4 GiB by default.
    executor : concurrent.futures.Executor, optional
        Runs the trials; by default they run here, one after another.
    on_trial : callable, optional
        Called as on_trial(number, path) after each trial, in order of completion; for arrays
        point after point.

    Returns
    -------
    SimulatedTrajectory, or Trajectories for arrays
        Its status is NO_LIMIT if a trial diverges: the steps before that are kept.

    Raises
    ------
    InvalidInput
        If a value is illegal, or the memory needed exceeds the budget (before anything is
        allocated).
    """
    trials = integer("trials", trials, 1)
    grid = broadcast(problem, model)
    plans = [
        DescentPlan(problem, model, dimension, seed, dtype, memory_budget)
        for problem, model in grid.points
    ]
    found = tuple(_simulated(plan, trials, executor, on_trial) for plan in plans)
    return Trajectories(grid.axes, grid.shape, found) if grid.axes else found[0]


def _simulated(
    plan: DescentPlan,
    trials: int,
    executor: Executor | None,
    on_trial: Callable[[int, DescentPath], None] | None,
) -> SimulatedTrajectory:
    def report(number: int, path: DescentPath) -> None:
        if on_trial is not None:
            on_trial(number, path)

    paths = run_all(plan.run, trials, executor, report)
    states = min(len(path) for path in paths)
    status = Status(StatusCode.CONVERGED)
    if states <= plan.descent.steps:
        what = f"A trial diverges at step {states}; the steps before it are kept."
        status = Status(StatusCode.NO_LIMIT, f"{what} Lower eta_w, eta_q, eta_b or momentum.")
    mean, error = _averages(paths, states)
    return SimulatedTrajectory(tuple(paths), mean, error, status)


def _averages(paths: Sequence[DescentPath], states: int) -> tuple[DescentPath, DescentPath]:
    """Return means over trials and their standard errors, nan for one trial."""
    means, errors = {}, {}
    for field in dataclasses.fields(DescentPath):
        values = np.stack([getattr(path, field.name)[:states] for path in paths])
        means[field.name] = values.mean(axis=0)
        errors[field.name] = np.full(states, math.nan)
        if len(paths) > 1:
            errors[field.name] = values.std(axis=0, ddof=1) / math.sqrt(len(paths))
    return DescentPath(**means), DescentPath(**errors)
