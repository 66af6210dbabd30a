"""Where a classifier of two classes draws the line, and rates of classes at another site."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Real
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Shaped
from numpy.typing import ArrayLike

from sparsetoken.base.validation import InvalidInput, refuse_masked

Threshold = float | str | Mapping[str, Any]
Prior = Mapping[Any, float] | ArrayLike | None

AUTO = "auto"
_LEGAL = (
    "'auto', a probability in (0, 1), {'sensitivity': s} or {'specificity': s} with s in (0, 1], "
    "or {'costs': {class: cost > 0, ...}}"
)
_SUM = 1e-6  # by which rates of classes may miss 1


def check_threshold(threshold: Any, classes: Shaped[np.ndarray, " K"]) -> None:
    """Raise `InvalidInput` unless a threshold is legal; with more than two classes it is 'auto'."""
    if isinstance(threshold, str) and threshold == AUTO:
        return
    if len(classes) > 2:
        remedy = "predict_proba gives the probability of each."
        raise InvalidInput("threshold", "'auto' for more than two classes", threshold, remedy)
    if _number(threshold) and 0 < threshold < 1:
        return
    if isinstance(threshold, Mapping) and len(threshold) == 1:
        (kind, value), known = next(iter(threshold.items())), set(classes.tolist())
        if kind in ("sensitivity", "specificity") and _number(value) and 0 < value <= 1:
            return
        of_classes = kind == "costs" and isinstance(value, Mapping) and set(value) == known
        if of_classes and all(_number(cost) and 0 < cost < np.inf for cost in value.values()):
            return
    raise InvalidInput("threshold", _LEGAL, threshold)


def _number(value: Any) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool)


def threshold_of(
    threshold: Threshold,
    chances: Float[np.ndarray, " n"],
    positive: Bool[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
    classes: Shaped[np.ndarray, " K"],
) -> float:
    """Return the probability of the second class from which on it is predicted.

    Parameters
    ----------
    threshold : float, "auto" or mapping
        A legal one.
    chances : array of shape (n,)
        Probabilities of the second class of bags that are left out.
    positive : bool array of shape (n,)
        Whether they are of it.
    weight : array of shape (n,)
    classes : array of shape (2,)
    """
    if not isinstance(threshold, Mapping):
        return 0.5 if isinstance(threshold, str) else float(threshold)
    ((kind, value),) = threshold.items()
    if kind == "costs":
        # Of least expected cost: what it costs to be wrong on either side (C. Elkan, 2001).
        first, second = (float(value[one]) for one in classes.tolist())
        return first / (first + second)
    if kind == "sensitivity":
        return _reached(chances[positive], weight[positive], float(value))
    low = -_reached(-chances[~positive], weight[~positive], float(value))
    return float(np.nextafter(low, 1))  # bags at the threshold itself are of the second class


def _reached(
    chances: Float[np.ndarray, " m"], weight: Float[np.ndarray, " m"], share: float
) -> float:
    """Return the largest threshold which at least such a share of the weight reaches."""
    order = np.argsort(-chances, kind="stable")
    total = np.cumsum(weight[order]) / weight.sum()
    place = int(np.searchsorted(total, share * (1 - 1e-12)))  # sums are rounded
    return float(chances[order[min(place, len(order) - 1)]])


def read_prior(prior: Any, classes: Shaped[np.ndarray, " K"]) -> Float[np.ndarray, " K"]:
    """Return the rate of each class, or raise `InvalidInput`."""
    names = classes.tolist()
    legal = f"a rate > 0 for each of the classes {names}, of sum 1, by class or in this order"
    refuse_masked("class_prior", prior)
    if isinstance(prior, Mapping):
        if set(prior) != set(names):
            raise InvalidInput("class_prior", legal, dict(prior))
        prior = [prior[one] for one in names]
    try:
        rates = np.asarray(prior, dtype=float)
        if np.asarray(prior).dtype.kind not in "iuf":
            raise TypeError("words")
    except (TypeError, ValueError):
        raise InvalidInput("class_prior", legal, prior) from None
    fits = rates.shape == (len(names),) and np.isfinite(rates).all() and (rates > 0).all()
    if not fits or abs(rates.sum() - 1) > _SUM:
        raise InvalidInput("class_prior", legal, rates.tolist())
    return rates
