"""Where a classifier of two classes draws the line."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped

from sparsetoken.base.validation import InvalidInput

Threshold = float | str | Mapping[str, float]

AUTO, SENSITIVITY = "auto", "sensitivity"


def check_threshold(threshold: Any, classes: int) -> None:
    """Raise `InvalidInput` unless a threshold is legal; with more than two classes it is 'auto'."""
    if isinstance(threshold, str) and threshold == AUTO:
        return
    if classes > 2:
        remedy = "predict_proba gives the probability of each."
        raise InvalidInput("threshold", "'auto' for more than two classes", threshold, remedy)
    if isinstance(threshold, Mapping):
        share: Any = threshold.get(SENSITIVITY)
        legal = len(threshold) == 1 and _is_number(share) and 0 < share <= 1
    else:
        legal = _is_number(threshold) and 0 < threshold < 1
    if not legal:
        words = "'auto', a probability in (0, 1), or {'sensitivity': s} with s in (0, 1]"
        raise InvalidInput("threshold", words, threshold)


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def positive_place(positive: Any, classes: Shaped[np.ndarray, " C"]) -> int:
    """Return the place of the positive class of two: the second one where None is named.

    Of more classes, of which none is named, it is -1.

    Raises
    ------
    InvalidInput
        If a class is named that is not one of two.
    """
    names: list[Any] = classes.tolist()
    if positive is None:
        return 1 if len(names) == 2 else -1
    if len(names) == 2 and positive in names:
        return names.index(positive)
    legal = f"one of the two classes, {names[0]!r} or {names[1]!r}"
    if len(names) > 2:
        legal = f"None for {len(names)} classes"
    raise InvalidInput("positive", legal, positive)


def threshold_of(
    threshold: Threshold,
    chances: Float[np.ndarray, " n"],
    positive: Bool[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"] | None = None,
) -> float:
    """Return the probability of the positive class from which on it is predicted.

    Of n positive bags the one of rank ceil(s (n + 1)) has a score that a new one reaches with a
    probability of at least s (conformal prediction; V. Vovk et al., 2005); if that exceeds n, the
    lowest one is taken. The threshold is in the middle between its score and the next lower one of
    a negative bag: anywhere there as many negative bags are left alone. Of weights, and of groups
    of bags, n is the effective number.

    Parameters
    ----------
    threshold : float, "auto" or mapping
        A legal one.
    chances : array of shape (n,)
        Probabilities of the positive class of bags that are left out.
    positive : bool array of shape (n,)
    weight : array of shape (n,)
        Of the bags, > 0.
    groups : int array of shape (n,), optional
    """
    if not isinstance(threshold, Mapping):
        return 0.5 if isinstance(threshold, str) else float(threshold)
    found, share = chances[positive], weight[positive] / weight[positive].sum()
    of_groups = share if groups is None else np.bincount(groups[positive], share)
    wanted = threshold[SENSITIVITY] * (1 + np.square(of_groups).sum())  # 1 + 1/n
    order = np.argsort(-found, kind="stable")
    place = int(np.searchsorted(np.cumsum(share[order]), wanted * (1 - 1e-12)))  # sums are rounded
    reached = float(found[order[min(place, len(order) - 1)]])
    below = chances[~positive & (chances < reached)]
    return (reached + float(below.max(initial=0.0))) / 2
