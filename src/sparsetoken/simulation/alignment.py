"""Stages 1-3 at finite dimension: the query that two gradient steps find."""

from __future__ import annotations

import dataclasses
import functools
import json
from collections.abc import Callable
from concurrent.futures import Executor

import numpy as np
from jaxtyping import Float

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.budget import query_bytes, require_memory
from sparsetoken.simulation.design import TrainedQuery, training_size
from sparsetoken.simulation.experiment import Setting
from sparsetoken.simulation.moments import mean_error
from sparsetoken.simulation.parallel import run_all
from sparsetoken.training import FourStageTraining
from sparsetoken.validation import integer

__all__ = ["AlignmentMoments", "AlignmentSimulation", "simulate_alignment"]


@dataclasses.dataclass(frozen=True)
class AlignmentMoments:
    """A mean, or a standard error, of each quantity of `AlignmentSimulation`."""

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
    """

    cosine: Float[np.ndarray, " trials"]
    overlap: Float[np.ndarray, " trials"]
    norm: Float[np.ndarray, " trials"]
    readout_cosine: Float[np.ndarray, " trials"]

    @property
    def mean(self) -> AlignmentMoments:
        """The mean of each quantity over the trials."""
        return self._each(lambda values: float(np.mean(values)))

    @property
    def standard_error(self) -> AlignmentMoments:
        """The standard error of each mean; nan for a single trial."""
        return self._each(mean_error)

    def _each(self, reduce: Callable[[np.ndarray], float]) -> AlignmentMoments:
        names = [field.name for field in dataclasses.fields(AlignmentMoments)]
        return AlignmentMoments(**{name: reduce(getattr(self, name)) for name in names})


def simulate_alignment(
    problem: SparseTokenProblem,
    training: FourStageTraining,
    *,
    dimension: int = 1000,
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
    problem, training, dimension, trials, seed, engine, dtype, memory_budget, executor
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
    """
    setting = Setting(dimension, seed, engine, dtype)
    trials = integer("trials", trials, 1)
    L, alpha0 = problem.length, training.alpha0
    require_memory(
        lambda d: query_bytes(engine, L, training_size(alpha0, d), d),
        dimension,
        memory_budget,
        "Or raise memory_budget.",
    )

    def report(number: int, trained: TrainedQuery) -> None:
        if on_trial is not None:
            on_trial(number, trained.query.cosine)

    run = functools.partial(_find_query, problem, training, setting)
    found = run_all(run, trials, executor, report)
    return AlignmentSimulation(
        cosine=np.array([t.query.cosine for t in found]),
        overlap=np.array([t.overlap for t in found]),
        norm=np.array([t.norm for t in found]),
        readout_cosine=np.array([t.readout_cosine for t in found]),
    )


def _find_query(
    problem: SparseTokenProblem,
    training: FourStageTraining,
    setting: Setting,
    trial: int,
) -> TrainedQuery:
    coordinates = {"training": json.loads(training.to_json()), "trial": trial}
    return setting.start(problem, **coordinates).train_query(training)
