"""Training by one pass over fresh bags, as a value."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from sparsetoken.base.parameters import SIZES, parameter, same_as, value
from sparsetoken.base.validation import LARGEST_LOAD, InvalidInput, Reals, reals
from sparsetoken.model.architectures.base import Architecture
from sparsetoken.model.architectures.networks import Softmax
from sparsetoken.model.descent import Descent, by_column

__all__ = ["OnePass", "require_descent"]


def _times(given: Any) -> tuple[float, ...]:
    given = [*given] if isinstance(given, range) else given
    times = np.asarray(reals("times", given, 0.0, LARGEST_LOAD), dtype=float)
    if times.ndim != 1 or len(times) < 2 or times[0] != 0 or (np.diff(times) <= 0).any():
        raise InvalidInput("times", "a list of two or more numbers that rise from 0", given)
    return tuple(times.tolist())


@value
class OnePass:
    """Training of all weights of a network by one pass over fresh bags, a bag in each step.

    A step is ``U <- U - rates / d (G + decay U)``, where G is the gradient of the loss of the next
    bag; the same for the further weights c, without decay. Time is the number of bags seen per
    dimension. With any fixed number of bags in a step and rates as many times as large, the
    limit is the same.

    Settings of columns are one number for all, one for each, or a mapping from the names of
    columns, or from their names without digits, to numbers: ``{"q": 2.0, "w": 0.5}``.

    See Also
    --------
    descend : The trajectory in the limit of high dimension.
    Descent : Training on one data set, all of which takes part in each step.

    Examples
    --------
    >>> import sparsetoken as st
    >>> one_pass = st.OnePass(st.networks.Gated(hidden=2), times=[0, 5, 10], rates=0.5)
    >>> one_pass.times
    (0.0, 5.0, 10.0)
    """

    network: Architecture = same_as(Descent, "network", default=Softmax())
    times: Any = parameter(
        "bags seen per dimension, from 0 on: the times at which the weights are given",
        "t",
        default=tuple(map(float, range(21))),
        find=_times,
        kind="sequence of floats >= 0",
    )
    rates: Any = parameter(
        "step sizes of the columns of U",
        default=1.0,
        find=by_column("rates"),
        kind="float, array or mapping",
    )
    rate_c: Reals = parameter("step size of the further weights c", default=0.2, range=SIZES)
    decay: Any = same_as(Descent, "decay", default=0.0)
    loss: Any = same_as(Descent, "loss", default="logistic")
    start: Any = same_as(Descent, "start", default=None)
    signal_cosines: Any = same_as(Descent, "signal_cosines", default=None)
    start_overlaps: Any = same_as(Descent, "start_overlaps", default=0.0)
    start_cosines: Any = same_as(Descent, "start_cosines", default=None)
    start_c: Any = same_as(Descent, "start_c", default=None)

    @property
    def one_step(self) -> Descent:
        """One step on the population loss with the same settings."""
        shared = {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}
        del shared["times"]
        return Descent(**shared, alpha=np.inf, steps=1)


def require_descent(given: Any) -> None:
    """Raise `InvalidInput` unless a value is a descent or one pass."""
    if not isinstance(given, Descent | OnePass):
        remedy = "Write st.Descent(st.networks.Softmax()), for example."
        raise InvalidInput("descent", "a Descent or a OnePass", given, remedy)
