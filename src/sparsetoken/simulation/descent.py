"""Gradient descent on readout, query and bias, with real tokens or their projections."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Float

from sparsetoken.models import Attention, Model, entry_of
from sparsetoken.problem import SparseTokenProblem, require_problem
from sparsetoken.results import CONVERGED, DescentPath, Simulation, Status, StatusCode
from sparsetoken.results.outcomes import QUANTITIES, over_steps
from sparsetoken.simulation.budget import (
    CHUNK_BYTES,
    DEFAULT_BUDGET,
    Size,
    scalar_bytes,
)
from sparsetoken.simulation.descent_slopes import Gradient, Weights, check_model, gradient
from sparsetoken.simulation.designs import training_size
from sparsetoken.simulation.features import FeatureSampler, sampler_of
from sparsetoken.simulation.frames import TokenFrame, TrainedQuery
from sparsetoken.simulation.parallel import simulated
from sparsetoken.simulation.performance import DRAWS, draws_for, expected_performance
from sparsetoken.simulation.reduced import ReducedEngine
from sparsetoken.simulation.reduced_descent import ReducedData, moving
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.simulation.setting import Engine, Setting
from sparsetoken.simulation.tensors import Chunk, TensorEngine
from sparsetoken.stages import JointDescent
from sparsetoken.tokens import isotropic_only
from sparsetoken.validation import LARGEST_VALUE, InvalidInput, integer
from sparsetoken.values import broadcast, require_numbers

LEAST_DIMENSION = 3  # the signal, and two directions of the start
LARGEST = 10**9


_Draws = Callable[[], Any]


class State(NamedTuple):
    """Weights, and the mean loss of the training set."""

    w: Float[np.ndarray, " d"]
    q: Float[np.ndarray, " d"]
    b: float
    loss: float


@runtime_checkable
class _Data(Protocol):
    """A training set, and the weights in its coordinates."""

    def axes(self) -> np.ndarray: ...

    def gradient(
        self,
        model: Model,
        descent: JointDescent,
        at: Weights,
        turn: tuple[int, int],
        moves: np.ndarray,
    ) -> Gradient: ...

    def frame(self, size: int) -> TokenFrame: ...


@dataclasses.dataclass(frozen=True)
class DescentPlan:
    """All that fixes the law of a trial of a descent."""

    problem: SparseTokenProblem
    model: Model
    setting: Setting
    memory_budget: int | None = None
    at: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        require_problem(self.problem)
        entry_of(self.model)
        require_numbers(self.problem, self.model)
        isotropic_only(self.problem.tokens, "Descent on all weights")
        if not isinstance(self.model.query, JointDescent):
            raise InvalidInput("query of the model", "a JointDescent", self.model.query)
        check_model(self.model)
        remedy = "The signal and the start take three directions."
        integer("dimension (d)", self.setting.dimension, LEAST_DIMENSION, LARGEST, remedy)
        for step in self.at or ():
            integer("step in at", step, 0, self.descent.steps, "The descent has no more steps.")

        def need(size: Size) -> int:
            return self.setting.steps_bytes(self.descent, size) + scalar_bytes(size.length)

        self.setting.require_memory(need, self.problem, self.memory_budget, "alpha")

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
        engine = self.setting.start(self.problem, trial, "descent")
        data = _data_of(engine, self.descent, self.memory_budget)
        draws = self._draws(engine.seed)
        states = _followed(data, self.model, self.descent)
        table = np.full((self.descent.steps + 1, len(QUANTITIES)), math.nan)
        for step, state in enumerate(states):
            table[step] = self._row(data, draws, step, state)
        return over_steps(table)

    def outcome(self, trial: DescentPath) -> DescentPath:
        """Return what is reported of a trial."""
        return trial

    def status(self, trials: Sequence[DescentPath]) -> Status:
        """Return whether no trial diverges."""
        states = min(int(np.isfinite(path.norm_w).sum()) for path in trials)
        if states > self.descent.steps:
            return CONVERGED
        what = f"A trial diverges at step {states}; the steps before it are kept."
        return Status(StatusCode.NO_LIMIT, f"{what} Lower eta_w, eta_q, eta_b or momentum.")

    def _draws(self, seed: int) -> _Draws:
        """Return what gives the generator of the test error; its draws are kept if they are few."""
        size = draws_for(self.setting.dimension, DRAWS) * (self.problem.length + 1)
        if 2 * size * np.dtype(float).itemsize > CHUNK_BYTES:
            return functools.partial(stream, seed, Stream.TEST)
        return _Repeated(stream(seed, Stream.TEST)).again

    def _row(self, data: _Data, draws: _Draws, step: int, state: State) -> tuple[float, ...]:
        w, q, b, loss = state
        frame = data.frame(len(w))
        found = frame.trained(q, self.descent.beta, w)
        wanted = self.at is None or step in self.at
        return (
            self._test_error(frame, draws, found, w, b) if wanted else math.nan,
            loss,
            found.query.cosine,
            found.query.sharpness,
            float(w @ frame.signal),
            found.overlap,
            float(np.linalg.norm(w)),
            found.norm,
            float(w @ q),
            b,
        )

    def _test_error(
        self, frame: TokenFrame, draws: _Draws, found: TrainedQuery, w: np.ndarray, b: float
    ) -> float:
        """Return the error on new samples given the weights; all steps share their draws."""
        split = self.sampler.split(frame, found, w, dimension=self.setting.dimension)
        chunks = self.sampler.scores(self.problem, found, split, b, draws())
        return expected_performance(self.problem, chunks).test_error


class _Repeated:
    """Normals that are drawn once; each pass that asks for the same shapes has the same."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng
        self._drawn: dict[tuple[Any, ...], np.ndarray] = {}
        self._asked: tuple[Any, ...] = ()

    def again(self) -> Any:
        """Return what stands for the generator at its beginning."""
        self._asked = ()
        return self

    def standard_normal(self, shape: Any) -> np.ndarray:
        """Return the next normals, not to be written to."""
        self._asked += (shape,)
        if self._asked not in self._drawn:
            self._drawn[self._asked] = self._rng.standard_normal(shape)
            self._drawn[self._asked].flags.writeable = False
        return self._drawn[self._asked]


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
    yield from _followed(_data_of(engine, descent, memory_budget), model, descent)


def _followed(data: _Data, model: Model, descent: JointDescent) -> Iterator[State]:
    """Yield the weights at the start and after each step, in the coordinates of the data."""
    eta_w, eta_q, eta_b, momentum = (
        descent.per_step(name) for name in ("eta_w", "eta_q", "eta_b", "momentum")
    )
    moves = np.append(moving(descent), [[False, False]], axis=0)  # at last the loss alone
    w, q = start(descent) @ data.axes()
    b = 0.0
    last = w, q, b
    for t in range(descent.steps + 1):
        largest = float(np.max([np.linalg.norm(w), np.linalg.norm(q), abs(b)]))
        if not largest <= LARGEST_VALUE:
            return
        turn = t % descent.batches, descent.batches
        loss, by_w, by_q, by_b = data.gradient(model, descent, (w, q, b), turn, moves[t])
        yield State(w, q, b, loss)
        if t == descent.steps:
            return
        w, q, *before = (_grown(one, len(by_w)) for one in (w, q, *last[:2]))
        m, now = momentum[t], (w, q, b)
        w = w - eta_w[t] * (by_w + descent.decay_w * w) + m * (w - before[0])
        q = q - eta_q[t] * (by_q + descent.decay_q * q) + m * (q - before[1])
        b = float(b - eta_b[t] * by_b + m * (b - last[2]))
        last = now


def start(descent: JointDescent) -> Float[np.ndarray, "2 2"]:
    """Return w and q at the start, on two axes orthogonal to xi: the lengths and the product."""
    length, product = descent.start_w, descent.start_product
    along = product / length if length > 0 else 0.0
    rest = math.sqrt(max(descent.start_q**2 - along**2, 0.0))
    return np.array([[length, 0.0], [along, rest]])


def _grown(weights: np.ndarray, size: int) -> np.ndarray:
    """Return weights with 0 along directions that are new."""
    return np.pad(weights, (0, size - len(weights))) if len(weights) < size else weights


def last_query(
    engine: Engine,
    model: Model,
    descent: JointDescent,
    memory_budget: int | None,
) -> TrainedQuery:
    """Return the query that a descent on D0 ends with.

    Raises
    ------
    InvalidInput
        If the model cannot be trained by descent, or the descent diverges.
    """
    check_model(model)
    data = _data_of(engine, descent, memory_budget)
    states = list(_followed(data, model, descent))
    if len(states) <= descent.steps:
        raise InvalidInput("JointDescent", "a descent that does not diverge", descent)
    w, q, *_ = states[-1]
    return data.frame(len(w)).trained(q, descent.beta, w)


def _data_of(engine: Engine, descent: JointDescent, memory_budget: int | None) -> _Data:
    """Return D0 of an engine."""
    if isinstance(engine, ReducedEngine):
        return ReducedData(engine.problem, engine.dimension, engine.seed, descent)
    return _Tokens(engine, descent.alpha, memory_budget)


class _Tokens:
    """Real tokens, which are kept where they fit and drawn again for each step otherwise."""

    def __init__(self, engine: TensorEngine, alpha: float, memory_budget: int | None) -> None:
        self._engine, self._n = engine, training_size(alpha, engine.dimension)
        drawn = functools.partial(engine.chunks, Stream.D0, self._n)
        budget = DEFAULT_BUDGET if memory_budget is None else memory_budget
        size = self._n * engine.problem.length * engine.dimension * np.dtype(engine.dtype).itemsize
        kept = None if 2 * size + 2 * CHUNK_BYTES > budget else list(drawn())
        self._chunks: Callable[[], Iterable[Chunk]] = drawn if kept is None else lambda: kept

    def frame(self, size: int) -> TokenFrame:
        """Return the coordinates of the weights."""
        return self._engine.frame

    def axes(self) -> np.ndarray:
        """Return two random orthonormal rows that are orthogonal to xi."""
        engine = self._engine
        random = stream(engine.seed, Stream.QUERY).standard_normal((engine.dimension, 2))
        return np.linalg.qr(np.column_stack([engine.signal, random]))[0][:, 1:].T

    def gradient(
        self,
        model: Model,
        descent: JointDescent,
        at: Weights,
        turn: tuple[int, int],
        moves: np.ndarray,
    ) -> Gradient:
        """Return mean loss and gradients, also of weights that do not move."""
        return gradient(self._chunks(), self._n, model, descent, at, turn)


def descend(
    problem: SparseTokenProblem,
    model: Model = Attention(JointDescent()),
    *,
    dimension: int = 1000,
    trials: int = 8,
    seed: int = 0,
    dtype: str = "float64",
    memory_budget: int | None = None,
    engine: str = "tensors",
    at: Sequence[int] | None = None,
    executor: Executor | None = None,
    on_trial: Callable[[int, DescentPath], None] | None = None,
    progress: bool = True,
) -> Simulation[DescentPath]:
    """Train all weights by gradient descent at finite dimension, step by step.

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
    engine : str
        ``tensors``: real tokens. ``reduced``: the same law at every dimension from the
        projections of the tokens alone, in a time that hangs on n but not on d.
    at : sequence of int, optional
        Steps after which the test error is computed, all by default; it is nan after others.
    executor : concurrent.futures.Executor, optional
        Runs the trials; by default they run here, one after another.
    on_trial : callable, optional
        Called as on_trial(number, path) after each trial, in order of completion; for arrays
        point after point.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Simulation
        With `mean`, `standard_error` and `trials`, the last dimension of which are the start and
        the steps. Its status is NO_LIMIT if a trial diverges: the steps before that are kept.

    Raises
    ------
    InvalidInput
        If a value is illegal, or the memory needed exceeds the budget (before anything is
        allocated).

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> model = st.Attention(st.JointDescent(alpha=3.0, steps=4))
    >>> found = st.simulation.descend(problem, model, dimension=50, trials=2)
    >>> found.trials.test_error.shape
    (2, 5)
    """
    steps = None if at is None else tuple(at)
    setting = Setting(dimension, seed, engine, dtype)
    grid = broadcast(problem, model)
    plans = [
        DescentPlan(problem, model, setting, memory_budget, steps) for problem, model in grid.points
    ]
    return simulated(plans, grid, trials, executor=executor, on_trial=on_trial, progress=progress)
