"""The course of a training, step by step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from sparsetoken.results.record import Numbers, Record, about, quantity, record
from sparsetoken.results.status import Status
from sparsetoken.stages import Query


@record
class DescentPath(Record):
    """Weights (w, q, b) and what they are worth, at the start and after each step.

    Its last dimension is step. What a descent that diverged has not is nan.

    Attributes
    ----------
    test_error : array, as all others
        P(y sign(score) < 0) on new data; a score of 0 counts one half.
    training_loss : array
        Mean loss over all samples, without weight decay.
    cosine : array
        <q, xi> / |q|; 0 where q = 0.
    sharpness : array
        k = beta |q|.
    overlap_w, overlap_q : array
        <w, xi> and <q, xi>.
    norm_w, norm_q : array
        |w| and |q|.
    product_wq : array
        <w, q>.
    bias : array
        b.
    """

    test_error: Numbers
    training_loss: Numbers
    cosine: Numbers
    sharpness: Numbers
    overlap_w: Numbers
    overlap_q: Numbers
    norm_w: Numbers
    norm_q: Numbers
    product_wq: Numbers
    bias: Numbers

    def query(self, step: int = -1) -> Query:
        """Return the query after a step, the last by default, to train a readout on it.

        Raises
        ------
        InvalidInput
            If there is no such step, or the descent diverged before it.
        """
        there = self.isel(step=step)
        return Query(np.clip(there.cosine, -1, 1), there.sharpness)

    @property
    def best_step(self) -> Numbers:
        """The step with the least test error."""
        return np.nanargmin(self.test_error, axis=-1)


QUANTITIES = tuple(field.name for field in DescentPath.quantities)


def path_of_table(values: np.ndarray) -> DescentPath:
    """Return the path of a table with a row for each state, in the order of `QUANTITIES`."""
    return DescentPath(*values.T, **over_steps(len(values)))


def over_steps(states: int) -> dict[str, Any]:
    """Return the dimension and the coordinate of a path with so many states."""
    return {"dims": ("step",), "coords": {"step": np.arange(states)}}


@record
class Trajectory(DescentPath):
    """The course of a training predicted by theory.

    Attributes
    ----------
    errors : DescentPath
        Standard error of each quantity at each step, from independent replicas.
    numerical_error : number or array
        The largest standard error of the test error over the steps.
    replicas : integer or array
        How many replicas were followed.
    status : Status, or array of them
        NO_LIMIT if the descent diverges: the steps before that are kept.
    notes : tuple of str, or array of them
        What to know of the course, with a remedy; `advice` sums them up.
    floor : callable or None
        Computes the test error of the best learner from the same samples, where it is known, for
        each descent in C order.
    """

    errors: DescentPath = quantity(suffix="_error")
    numerical_error: Numbers = quantity(without=("step",))
    replicas: Numbers = quantity(without=("step",))
    status: Status = quantity(without=("step",))
    notes: tuple[str, ...] = about(default=(), without=("step",))
    floor: Callable[[], np.ndarray] | None = about(default=None, without=("step",))
