"""Trials of an experiment at finite dimension."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

import numpy as np

from sparsetoken.model.values import Broadcast
from sparsetoken.results.outcomes import Outcome
from sparsetoken.results.record import ALONG, Numbers, Record, quantity, record, stacked
from sparsetoken.results.status import Status

Of = TypeVar("Of", bound=Record)


@record
class TrialOutcome(Outcome):
    """The outcome of one trial, with its query."""

    cosine: Numbers = quantity("Of the query; nan for a model without one.")
    sharpness: Numbers = quantity("Of the query; nan for a model without one.")
    readout_cosine: Numbers = quantity(
        "<w1, xi> / |w1|, w1 after its first step; nan where no steps find the query."
    )


@record
class Simulation(Record, Generic[Of]):
    """Trials of one finite-dimensional experiment.

    See Also
    --------
    sparsetoken.simulate : The function that returns it.
    TrialOutcome : The outcome of one trial.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = st.simulate(problem, st.Pooled(), dimension=100, trials=4)
    >>> found.trials.dims, found.trials.test_error.shape, found.status
    (('trial',), (4,), 'converged')
    """

    trials: Of = quantity("The outcomes, over a dimension trial.")
    status: Status = quantity(
        "Whether the trials are valid, at each point.", objects=True, without=ALONG
    )

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the dimensions, without trials."""
        sizes = zip(self.trials.dims, self.trials.shape, strict=True)
        return tuple(size for dim, size in sizes if dim != "trial")

    @property
    def mean(self) -> Of:
        """Means over trials: a record without the dimension trial."""
        return self._over_trials(np.mean)

    @property
    def standard_error(self) -> Of:
        """Standard errors of the means; nan for a single trial."""
        return self._over_trials(standard_error)

    def _over_trials(self, reduce: Callable[[np.ndarray, int], Numbers]) -> Of:
        coords = {name: c for name, c in self.trials.coords.items() if name != "trial"}
        return dataclasses.replace(self.trials, coords=coords)._along("trial", reduce)

    def columns(self) -> dict[str, np.ndarray]:
        """Return means by column, their standard errors as NAME_se, and the status."""
        errors = self.standard_error.columns()
        columns = self.mean.columns() | {f"{name}_se": value for name, value in errors.items()}
        return columns | self._status_columns()


def standard_error(values: np.ndarray, axis: int = 0) -> Numbers:
    """Return sd / sqrt(n) of the mean along an axis; nan for one value."""
    values = np.asarray(values)
    n = values.shape[axis]
    if n < 2:
        return np.full(np.delete(values.shape, axis), np.nan)[()]
    return np.std(values, axis=axis, ddof=1) / np.sqrt(n)


def of_trials(trials: Sequence[Of], status: Status) -> Simulation[Of]:
    """Return the simulation of one experiment from its trials."""
    first = trials[0]
    coords = {"trial": np.arange(len(trials))}
    together = stacked(trials, Broadcast([], (len(trials),), ("trial",), coords))
    return Simulation(together, status, dims=first.dims, coords=first.coords)
