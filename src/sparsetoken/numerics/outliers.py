"""Outlying values among independent trials, whose mean and spread they would decide."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from jaxtyping import Float
from scipy.special import stdtrit

LEVEL = 1e-4
"""Chance that a test calls a value outlying where all are normal of one law."""

_SHARE = 4  # one in so many values may be outlying: more of them are no outliers
_COARSEST = 0.01  # step of values that are shares of a count, of a hundred or more
_WIDER = 1.05  # the standard deviation with outliers, over that of the others
_ROUNDING = 1e-9  # relative, and of numbers below 1: smaller differences are none


def outliers(values: Sequence[float] | np.ndarray, level: float = LEVEL) -> list[int]:
    """Return the places of values that are far from all others, the farthest first.

    This is the generalized ESD test (Rosner, Technometrics 25, 1983): the farthest values are taken
    away one by one, and each is compared with those that are left, so that several wrong values do
    not hide one another. Of one candidate it is Grubbs' test.

    Values >= 0, or <= 1, must be outlying also on the scale of the square roots of their distance
    to that bound, on which counts, shares of errors and squares are about normal. Two values that
    differ by one count are no outliers, even if all others are equal. Nor are those that hardly
    widen the spread, one among a thousand say: the tails of few laws are known so far out.

    Parameters
    ----------
    values : sequence of float
        Fewer than four, or some that are not finite, have no outliers.
    level : float

    Examples
    --------
    >>> from sparsetoken.numerics.outliers import outliers
    >>> outliers([0.21, 0.19, 0.2, 60.0, 0.22, 0.18])
    [3]
    """
    x = np.asarray(values, dtype=float)
    if len(x) < _SHARE or not np.isfinite(x).all():
        return []
    found = _farthest(x, np.asarray, level)
    for bounded in (x, 1 - x):
        if found and bounded.min() >= 0:
            also = _farthest(bounded, np.sqrt, level)
            found = [place for place in found if place in also]
    widens = bool(found) and x.std(ddof=1) > _WIDER * np.delete(x, found).std(ddof=1)
    return found if widens else []


def _farthest(
    x: Float[np.ndarray, " n"], scale: Callable[[np.ndarray], np.ndarray], level: float
) -> list[int]:
    """Return the outliers of values on a scale that rises with them."""
    order = np.argsort(x)
    step = min(np.diff(np.unique(x)).min(initial=_COARSEST), _COARSEST)
    step = max(step, _ROUNDING * max(1.0, np.abs(x).max()))
    x, y = x[order], scale(x[order])
    low, high, taken, count = 0, len(x), [], 0
    for _ in range(len(x) // _SHARE):
        centre = y[low:high].mean()
        if centre - y[low] > y[high - 1] - centre:
            far, low = low, low + 1
        else:
            far, high = high - 1, high - 1
        taken.append(int(order[far]))
        m, middle = high - low, x[low:high].mean()
        half_a_step = float(scale(middle + step) - scale(middle)) / 2
        spread = math.hypot(y[low:high].std(ddof=1), half_a_step) * math.sqrt(1 + 1 / m)
        largest = -stdtrit(m - 1, level / (2 * (m + 1))) * spread
        if abs(y[far] - y[low:high].mean()) > largest:
            count = len(taken)
    return taken[:count]
