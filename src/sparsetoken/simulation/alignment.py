"""Stages 1-3 at finite dimension: the query that two gradient steps find."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
from jaxtyping import Float

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.averages import mean, standard_error
from sparsetoken.simulation.budget import Size, query_bytes, require_memory
from sparsetoken.simulation.engine import TrainedQuery, training_size
from sparsetoken.simulation.parallel import run_all
from sparsetoken.simulation.trial import Setting, dimension_of
from sparsetoken.stages import TwoSteps, require_steps
from sparsetoken.tokens import check_dimension
from sparsetoken.validation import integer
from sparsetoken.values import require_numbers


@dataclasses.dataclass(frozen=True)
class AlignmentMoments:
    """One trial of `AlignmentSimulation`, or a mean or a standard error over them.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.simulation import simulate_alignment
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = simulate_alignment(problem, st.TwoSteps(alpha0=1.0), dimension=200, trials=2)
    >>> 0 < found.standard_error.cosine < found.mean.cosine
    True
    """

    cosine: float
    overlap: float
    norm: float
    readout_cosine: float


@dataclasses.dataclass(frozen=True)
class AlignmentSimulation:
    """The queries of independent trials.

    Attributes
    ----------
    cosine : array of shape (trials,), <q2, xi> / |q2|
    overlap : array of shape (trials,), <q2, xi>
    norm : array of shape (trials,), |q2|
    readout_cosine : array of shape (trials,), <w1, xi> / |w1|
    mean, standard_error : AlignmentMoments
        Over trials; standard errors are nan for a single trial.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.simulation import simulate_alignment
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = simulate_alignment(problem, st.TwoSteps(alpha0=1.0), dimension=200, trials=2)
    >>> bool(found.cosine.mean() == found.mean.cosine)
    True
    """

    cosine: Float[np.ndarray, " trials"]
    overlap: Float[np.ndarray, " trials"]
    norm: Float[np.ndarray, " trials"]
    readout_cosine: Float[np.ndarray, " trials"]
    mean: AlignmentMoments
    standard_error: AlignmentMoments


def simulate_alignment(
    problem: SparseTokenProblem,
    steps: TwoSteps = TwoSteps(),
    *,
    dimension: int | None = None,
    trials: int = 8,
    seed: int = 0,
    engine: str = "reduced",
    dtype: str = "float64",
    memory_budget: int | None = None,
    executor: Executor | None = None,
    on_trial: Callable[[int, float], None] | None = None,
) -> AlignmentSimulation:
    """Run stages 1-3 at finite dimension.

    Parameters
    ----------
    problem, steps, dimension, trials, seed, engine, dtype, memory_budget, executor
        As for `simulate`. The reduced engine needs memory for n0 scalars only.
    on_trial : callable, optional
        Called as on_trial(number, cosine) after each trial.

    Returns
    -------
    AlignmentSimulation

    Raises
    ------
    InvalidInput
        If a value is illegal, or the memory needed exceeds the budget.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.simulation import simulate_alignment
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = simulate_alignment(problem, st.TwoSteps(alpha0=1.0), dimension=200, trials=2)
    >>> len(found.cosine)
    2
    """
    setting = Setting(dimension_of(problem, dimension), seed, engine, dtype)
    check_dimension(problem.tokens, setting.dimension)
    trials = integer("trials", trials, 1)
    require_steps(steps)
    require_numbers(problem, steps)
    require_query_memory(problem, steps, setting, memory_budget)

    def report(number: int, trained: TrainedQuery) -> None:
        if on_trial is not None:
            on_trial(number, trained.query.cosine)

    run = functools.partial(_find_query, problem, steps, setting)
    found = run_all(run, trials, executor, report)
    rows = [AlignmentMoments(t.query.cosine, t.overlap, t.norm, t.readout_cosine) for t in found]
    cosine, overlap, norm, readout = np.array([dataclasses.astuple(row) for row in rows]).T
    return AlignmentSimulation(
        cosine, overlap, norm, readout, mean=mean(rows), standard_error=standard_error(rows)
    )


def require_query_memory(
    problem: SparseTokenProblem, steps: TwoSteps, setting: Setting, memory_budget: int | None
) -> None:
    """Raise `InvalidInput` if stages 1-3 need more bytes than the budget."""

    def need(size: Size) -> int:
        n = training_size(steps.alpha0, size.dimension)
        return query_bytes(setting.engine, size.length, n, size.dimension)

    require_memory(
        need,
        Size(setting.dimension, problem.length),
        Size(setting.least_dimension, problem.informative),
        memory_budget,
        "Or raise memory_budget, or lower alpha0.",
    )


def _find_query(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    setting: Setting,
    trial: int,
) -> TrainedQuery:
    return setting.start(problem, trial).train_query(steps)
