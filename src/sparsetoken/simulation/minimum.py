"""The joint minimum of all weights of a network, with real tokens."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import optimize

from sparsetoken.base.validation import integer
from sparsetoken.model.base import Problem, check_problem
from sparsetoken.model.descent import Descent
from sparsetoken.model.minimum import (
    STARTS,
    Minimization,
    Minimum,
    minimization_of,
    require_minimum,
    start_of,
)
from sparsetoken.model.tokens import check_dimension
from sparsetoken.model.training import Training, training_of
from sparsetoken.model.values import broadcast
from sparsetoken.numerics.threads import one_thread
from sparsetoken.results import MinimumOutcome, Simulation, Status, StatusCode, Weights
from sparsetoken.simulation.descent_data import TokenData
from sparsetoken.simulation.network_scores import NewBags
from sparsetoken.simulation.parallel import Trial, simulated
from sparsetoken.simulation.performance import draws_for
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.simulation.setting import Setting
from sparsetoken.simulation.sizes import require_size
from sparsetoken.simulation.tensors import TensorEngine

DIMENSION = 400
_LARGEST = 10**9
_OPTIONS = {"maxiter": 5000, "maxfun": 10_000, "gtol": 1e-7, "ftol": 1e-13, "maxcor": 20}


@dataclasses.dataclass(frozen=True)
class MinimumPlan:
    """All that determines the distribution of a trial of a minimum."""

    problem: Problem
    minimum: Minimum
    setting: Setting
    start: str | Mapping[str, Any] = "uninformed"

    def __post_init__(self) -> None:
        found = self.found
        least = max(len(self.training.start), 3)
        remedy = "The signals and the start take a direction each."
        d = integer("dimension (d)", self.setting.dimension, least, _LARGEST, remedy)
        check_dimension(found.task.tokens, d)
        L, m = self.problem.length, len(found.columns)
        numbers = max(int(found.alpha * d) * L, 2 * draws_for(d) * L * m, L * d)
        require_size(numbers, d, L, "alpha")

    @functools.cached_property
    def found(self) -> Minimization:
        """The minimum in numbers."""
        return minimization_of(self.problem, self.minimum, any_tokens=True)

    @functools.cached_property
    def training(self) -> Training:
        """A descent on the same data from the start."""
        found = self.found
        overlaps = np.where(found.frozen[:, None], found.overlaps, start_of(found, self.start))
        descent = Descent(
            self.minimum.network,
            alpha=found.alpha,
            steps=1,
            start=np.where(found.frozen, found.rest, 1.0),
            start_overlaps=overlaps,
            loss=self.minimum.loss,
        )
        return training_of(self.problem, descent)

    @one_thread()
    def run(self, trial: int) -> Trial[MinimumOutcome]:
        """Run one trial; its seed is a function of the seed and its number."""
        engine = self.setting.start(self.problem, trial, "minimum")
        assert isinstance(engine, TensorEngine)
        data = engine.descent_data(self.training)
        U, c, value, message = self._minimum(data)
        outcome = self._outcome(data, U, c, value, engine.seed)
        if not message:
            return Trial(outcome)
        return Trial(outcome, Status(StatusCode.MAX_ITERATIONS, f"L-BFGS ended with: {message}."))

    def end(self, trial: int, _: float | None) -> tuple[TokenData, np.ndarray, np.ndarray]:
        """Return data, columns and further weights at the lower end of a trial from two starts."""
        ends = []
        for start in STARTS:
            plan = dataclasses.replace(self, start=start)
            engine = self.setting.start(self.problem, trial, "minimum")
            assert isinstance(engine, TensorEngine)
            data = engine.descent_data(plan.training)
            ends.append((data, *plan._minimum(data)))
        return min(ends, key=lambda end: end[3])[:3]

    def _minimum(self, data: TokenData) -> tuple[np.ndarray, np.ndarray, float, str]:
        """Return the minimum that L-BFGS ends in, its value, and a message if it has none."""
        found, U, c = self.found, data.start(), np.array(self.training.start_c)
        free = ~found.frozen
        ridge = found.ridge[free]

        def objective(v: np.ndarray) -> tuple[float, np.ndarray]:
            columns, further = v[: U[:, free].size].reshape(len(U), -1), v[U[:, free].size :]
            weights = U.copy()
            weights[:, free] = columns
            loss, by_U, by_c = data.gradient(weights, further, 0)
            loss += 0.5 * float(ridge @ (columns**2).sum(axis=0))
            loss += 0.5 * found.ridge_c * float(further @ further)
            slope = [(by_U[:, free] + columns * ridge).ravel(), by_c + found.ridge_c * further]
            return loss, np.concatenate(slope)

        start = np.concatenate([U[:, free].ravel(), c])
        end = optimize.minimize(objective, start, jac=True, method="L-BFGS-B", options=_OPTIONS)
        size = U[:, free].size
        U[:, free] = end.x[:size].reshape(len(U), -1)
        # The line search of a flat function may fail where the slope is small already.
        sound = end.success or np.abs(end.jac).max() < 1e-4
        return U, end.x[size:], float(end.fun), "" if sound else str(end.message)

    def _outcome(
        self, data: TokenData, U: np.ndarray, c: np.ndarray, value: float, seed: int
    ) -> MinimumOutcome:
        """Return weights and loss at the minimum, and the error counted on new bags."""
        found, m = self.found, U.shape[1]
        count = 2 * draws_for(self.setting.dimension)
        bags = NewBags(self.training.task, m, count, stream(seed, Stream.TEST))
        at, loss = data.moments(U), data.gradient(U, c, 0).loss
        error, _ = bags.counted(found.network, at, c)
        names = found.columns, found.weights, found.task.directions
        weights = Weights.of_columns(at.overlaps, at.gram, c, *names)
        return MinimumOutcome(error, loss, value, weights)


def minimize(
    problem: Problem,
    minimum: Minimum = Minimum(),
    *,
    start: str | Mapping[str, Any] = "uninformed",
    dimension: int | None = None,
    trials: int = 8,
    seed: int = 0,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Simulation[MinimumOutcome]:
    """Minimise the regularised loss over all weights of a network on real tokens, by L-BFGS.

    Each trial has a data set of its own; another start sees the same data sets.

    Parameters
    ----------
    problem : SparseTokenProblem, ConceptProblem or Task
    minimum : Minimum
    start : str or mapping
        uninformed, informed, or overlaps of columns with the signals, as of `sparsetoken.minimize`;
        beside the signals columns start with norm 1 in random directions.
    dimension : int, optional
        d. By default that of the tokens' covariance, or 400.
    trials : int >= 1
    seed : int >= 0
    workers, keep, progress
        As of `sparsetoken.simulate`.

    Returns
    -------
    Simulation
        Of `MinimumOutcome`. Its status says where L-BFGS found no minimum.

    Raises
    ------
    InvalidInput
        If a value is illegal, or an array of a trial would exceed 2 GiB.

    See Also
    --------
    sparsetoken.minimize : The same in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=3, informative=1, strength=4.0)
    >>> minimum = st.Minimum(st.networks.Pooled(), alpha=2.0, ridge=0.1)
    >>> found = st.simulation.minimize(problem, minimum, dimension=50, trials=4)
    >>> found.trials.dims, found.status
    (('trial',), 'converged')
    """
    require_minimum(minimum)
    grid = broadcast(problem, minimum)
    first = grid.points[0][0]
    check_problem(first)
    own = first.tokens.dimension
    setting = Setting(dimension if dimension is not None else own or DIMENSION, seed, "tensors")
    plans = [MinimumPlan(task, own, setting, start) for task, own in grid.points]
    return simulated(
        plans,
        grid,
        trials,
        call=["simulation.minimize"],
        workers=workers,
        keep=keep,
        progress=progress,
    )
