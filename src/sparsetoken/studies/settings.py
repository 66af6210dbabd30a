"""A setting that theory and real tokens are compared in."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.studies.claims import TENSORS
from sparsetoken.studies.study import Call, Experiment

PROBLEM = st.SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
READOUT = st.Readout("logistic", ridge=1e-2, alpha1=2.0)
COVARIANCE = "covariance-learned-error"
ACCURACY = 1e-3  # of predictions
ERROR_AND_LOSS = ("test_error", "training_loss")
TOLERANCE, REPLICAS = 0.5, 3  # of trajectories, whose stated errors are a part of z
FIT_READOUT = (
    partial(st.predict, tolerance=ACCURACY), partial(st.simulate, engine=TENSORS)
)  # fmt: skip
"""Calls of theory and simulation."""
OVERLAPS = "overlaps"
"""Stands for the overlap of each column that is largest in the end."""


@dataclasses.dataclass(frozen=True)
class Setting:
    """A row of the table.

    Attributes
    ----------
    claim, curve, where : str
        As of `row`; together they tell the setting from all others.
    problem
        Or a function of the dimension, where the tokens have one.
    given : tuple
        What else theory and simulation take: model and readout, or a descent or a minimum.
    quantities : sequence of str
        Columns of both results that are compared.
    calls : tuple of two partials
        Theory and simulation.
    steps : sequence of int
        Of a descent, after which they are compared.
    simulated : Readout, optional
        That of the simulation, if it is another.
    vanishing : callable, optional
        Of a setting in which the training loss vanishes: a function of the result of the theory,
        which returns what may be left of it in the simulation.
    sizes, trials, shared
        As of `Experiment`.
    """

    claim: str
    curve: str
    where: str
    problem: Any
    given: tuple[Any, ...]
    quantities: Sequence[str] = ("test_error", "training_loss", "training_error", "auc")
    calls: tuple[Call, Call] = FIT_READOUT
    steps: Sequence[int] = ()
    simulated: st.Readout | None = None
    vanishing: Callable[[Any], float] | None = None
    sizes: Sequence[int] = (50, 200)
    trials: int = 30
    shared: Sequence[str] = ()

    @property
    def pairs(self) -> dict[Any, tuple[Call, Experiment]]:
        """Theory and experiment by place: one pair, or one for each dimension of the problem."""
        place = (self.claim, self.curve, self.where)
        if not callable(self.problem):
            return {(*place, 0): self._pair(self.problem, self.sizes)}
        return {(*place, i): self._pair(self.problem(d), (d,), i) for i, d in enumerate(self.sizes)}

    def _pair(self, problem: Any, sizes: Sequence[int], *number: int) -> tuple[Call, Experiment]:
        theory, simulation = (partial(call, problem, *self.given) for call in self.calls)
        if number and isinstance(getattr(self.given[0], "query", None), st.TwoSteps):
            theory = partial(theory, dimension=sizes[0])  # at which the query is known
        if self.simulated:
            simulation = partial(self.calls[1], problem, self.given[0], self.simulated)
        shared: tuple[str | int, ...] = (*self.shared, *number) if self.shared else ()
        return theory, Experiment(simulation, sizes, self.trials, TENSORS, shared)


def signal_of(dimension: int) -> np.ndarray:
    """Return a unit vector with projections of all sizes on the eigenvectors."""
    signal: np.ndarray = np.cos(1.7 * np.arange(dimension))
    return signal / np.linalg.norm(signal)


def columns_of(setting: Setting, result: Any) -> list[str]:
    """Return the columns that are compared."""
    names = [name for name in setting.quantities if name != OVERLAPS]
    if OVERLAPS in setting.quantities:
        columns = [name for name in result.columns() if name.startswith("overlap_")]
        own = [name for name in columns if not name.endswith("_se")]
        overlaps = np.abs(result.weights.overlaps[-1])
        best = zip(np.reshape(own, overlaps.shape), overlaps.argmax(axis=1), strict=True)
        names += [str(some[place]) for some, place in best]
    return names
