"""Scores of held-out predictions with 90% intervals: over bags, or over groups if bags have any."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.stats import norm

SAMPLES = 1000
_TAIL = 0.05
_LEAST = 1e-15  # of a probability whose logarithm is taken


class Interval(NamedTuple):
    """A value and its 90% interval."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return "{:.3f} ({:.3f} to {:.3f})".format(*self)


def wilson(share: float, n: float) -> Interval:
    """Return the interval of a share of n independent bags (E. B. Wilson, 1927)."""
    z = float(norm.isf(_TAIL))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return Interval(share, max(float(centre - half), 0.0), min(float(centre + half), 1.0))


class Bootstrap:
    """Means over bags, in all of them and in bootstrap samples of bags, or of whole groups."""

    def __init__(self, n: int, groups: Int[np.ndarray, " n"] | None, seed: int) -> None:
        self.groups = np.arange(n) if groups is None else groups
        self.whole = groups is None
        count = int(self.groups.max()) + 1
        rng = np.random.default_rng(seed)
        self._counts = rng.multinomial(count, np.full(count, 1 / count), SAMPLES).astype(np.float32)

    def mean(
        self, values: Float[np.ndarray, " n"], rows: Bool[np.ndarray, " n"] | None = None
    ) -> Float[np.ndarray, " B"]:
        """Return the mean over some bags, then its values in the samples; nan without any."""
        weight = np.ones(len(values)) if rows is None else rows.astype(float)
        with np.errstate(invalid="ignore", divide="ignore"):
            centre = float(values @ weight / weight.sum())  # no digits cancel
            parts = [np.bincount(self.groups, one) for one in (weight * (values - centre), weight)]
            sums, counts = (np.concatenate([[one.sum()], self._counts @ one]) for one in parts)
            return np.asarray(centre + sums / counts)

    def interval(self, values: Float[np.ndarray, " B"]) -> Interval:
        """Return the first value with percentiles of the others."""
        known = values[1:][np.isfinite(values[1:])]
        low, high = np.quantile(known, [_TAIL, 1 - _TAIL]) if len(known) else (np.nan, np.nan)
        return Interval(float(values[0]), float(low), float(high))

    def units(self, rows: Bool[np.ndarray, " n"]) -> int:
        """Return the number of independent bags, or groups, among some bags."""
        return len(np.unique(self.groups[rows]))

    def bounded(self, values: Float[np.ndarray, " B"], units: int) -> Interval:
        """Return that of values in [0, 1]; samples of 0 or 1 have no spread, where it is Wilson's.

        The units are those of the rarer class, which tells least.
        """
        found = self.interval(values)
        return wilson(found.value, units) if found.value in (0, 1) else found

    def share(
        self, right: Bool[np.ndarray, " n"], rows: Bool[np.ndarray, " n"] | None = None
    ) -> Interval:
        """Return a share of bags; that of independent ones is Wilson's."""
        given = np.ones(len(right), bool) if rows is None else rows
        values, units = self.mean(right.astype(float), given), self.units(given)
        if self.whole and units:
            return wilson(float(values[0]), units)
        return self.bounded(values, units)


def class_scores(
    y: Int[np.ndarray, " n"],
    predicted: Int[np.ndarray, " n"],
    chances: Float[np.ndarray, "n C"] | None,
    placed: Float[np.ndarray, "n K"],
    over: Bootstrap,
    positive: int = 1,
) -> dict[str, Interval]:
    """Return accuracies, the log-loss, and the AUC: of several classes means over classes.

    What needs bags of a class that has none, or chances that are unknown, is nan; the balanced
    accuracy is of the classes that have bags.

    Parameters
    ----------
    y, predicted : int arrays of shape (n,)
        Numbers of classes.
    chances : array of shape (n, C), or None
    placed : array of shape (n, K)
        Placements among the bags of the other side, of the second of two classes, or of each class
        against the rest; nan where they are unknown.
    over : Bootstrap
    positive : int
        Of two classes that of the sensitivity; the specificity is of the other one.
    """
    right, C = predicted == y, max(placed.shape[1], 2)
    present = np.unique(y).tolist()
    rarest = min(over.units(y == c) for c in present)
    recalls = [over.mean(right.astype(float), y == c) for c in present]
    found = {
        "accuracy": over.share(right),
        "balanced_accuracy": over.bounded(np.mean(recalls, axis=0), rarest),
    }
    if C == 2:
        found["specificity"] = over.share(right, y != positive)
        found["sensitivity"] = over.share(right, y == positive)
    areas = []
    for column, k in zip(placed.T, [1] if C == 2 else range(C), strict=True):
        of_class, others = over.mean(column, y == k), over.mean(column, y != k)
        # To first order a sample moves the AUC by the placements of bags on either side.
        area = of_class + others - (of_class[0] + others[0]) / 2
        areas.append(np.clip(area, 0, 1))
    found["auc"] = over.bounded(np.mean(areas, axis=0), rarest)
    losses = np.full(len(y), np.nan)
    if chances is not None:
        losses = -np.log(np.maximum(chances[np.arange(len(y)), y], _LEAST))
    return found | {"log_loss": over.interval(over.mean(losses))}


def number_scores(
    y: Float[np.ndarray, " n"], predicted: Float[np.ndarray, " n"], over: Bootstrap
) -> dict[str, Interval]:
    """Return R^2, which is nan of equal numbers, and mean errors."""
    error, moved = over.mean(np.square(y - predicted)), y - y.mean()
    variance = over.mean(np.square(moved)) - np.square(over.mean(moved))
    with np.errstate(invalid="ignore", divide="ignore"):
        r2 = np.where(variance > 0, 1 - error / variance, np.nan)
    return {
        "r2": over.interval(r2),
        "root_mean_squared_error": over.interval(np.sqrt(error)),
        "mean_absolute_error": over.interval(over.mean(np.abs(y - predicted))),
    }
