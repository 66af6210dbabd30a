"""The area under the ROC curve of a sample of scores, and its standard error."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Bool, Float, Int, Real
from scipy.stats import norm


def sample_auc(scores: Float[np.ndarray, " n"], labels: Real[np.ndarray, " n"]) -> float:
    """Return the fraction of correctly ordered pairs of the two classes; a tie counts one half.

    It is nan if the labels are of one class or a score is nan.
    """
    plus, minus = scores[labels > 0], np.sort(scores[labels < 0])
    if len(plus) == 0 or len(minus) == 0 or np.isnan(scores).any():
        return math.nan
    below, up_to = (np.searchsorted(minus, plus, side) for side in ("left", "right"))
    return float((below.sum() + up_to.sum()) / (2 * len(plus) * len(minus)))


def placements(
    scores: Float[np.ndarray, " n"], positive: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return the fraction of bags of the other class ranked correctly against each; ties are half.

    Both classes must be there.
    """
    placements = np.empty(len(scores))
    for rows in (positive, ~positive):
        others = np.sort(scores[~rows])
        below, up_to = (np.searchsorted(others, scores[rows], side) for side in ("left", "right"))
        placements[rows] = (below + up_to) / (2 * len(others))
    placements[~positive] = 1 - placements[~positive]
    return placements


def auc(
    placed: Float[np.ndarray, "*K n"], positive: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, "*K"]:
    """Return the AUC: the mean of the mean placements of the two classes.

    These two differ a little where folds differ in size.
    """
    classes = [placed[..., rows].mean(axis=-1) for rows in (positive, ~positive)]
    return np.asarray(np.mean(classes, axis=0))


def influences(
    placed: Float[np.ndarray, "*K n"], positive: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, "*K n"]:
    """Return by how much each bag moves the AUC; their covariance over n is that of AUCs.

    It is the placement of the bag less the AUC, over the share of bags that are of its class: a
    bag of a rare class moves the AUC more. In small folds, where a placement rests on few pairs,
    the variance is overestimated: the noise of a pair is in the placements of both its bags.
    """
    rate = positive.mean()
    return (placed - auc(placed, positive)[..., None]) / np.where(positive, rate, 1 - rate)


def clustered_covariance(
    values: Float[np.ndarray, "J n"], groups: Int[np.ndarray, " n"] | None
) -> Float[np.ndarray, "J J"]:
    """Return the covariance of the means of J values of each bag, of which groups are independent.

    Deviations are summed in each group (K.-Y. Liang and S. L. Zeger, 1986). Without groups each
    bag is one.
    """
    moved = values - values.mean(axis=1, keepdims=True)
    if groups is not None:
        moved = np.stack([np.bincount(groups, row) for row in moved])[:, np.bincount(groups) > 0]
    count = moved.shape[1]
    return moved @ moved.T * (count / max(count - 1, 1)) / values.shape[1] ** 2


def auc_interval(
    scores: Float[np.ndarray, "n K"],
    number: Int[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"] | None = None,
) -> Float[np.ndarray, " 3"]:
    """Return an AUC and its 90% interval (E. R. DeLong et al., 1988), over groups if there are any.

    Without an error of pairs, as where all are in order, it is that of scores by chance.

    Parameters
    ----------
    scores : array of shape (n, K)
        Of the second of two classes, or of each class against the rest: then it is the mean AUC.
    number : int array of shape (n,)
        The classes, from 0. Each column needs bags of both sides.
    groups : int array of shape (n,), optional
    """
    K, areas, moves = scores.shape[1], [], []
    units = np.arange(len(number)) if groups is None else groups
    by_chance = 0.0
    for column, k in zip(scores.T, [1] if K == 1 else range(K), strict=True):
        positive = number == k
        placed = placements(column, positive)
        areas.append(float(auc(placed, positive)))
        moves.append(influences(placed, positive))
        a, b = (len(np.unique(units[rows])) for rows in (positive, ~positive))
        by_chance = max(by_chance, math.sqrt((a + b + 1) / (12 * a * b)))
    value = float(np.mean(areas))
    variance = float(clustered_covariance(np.mean(moves, axis=0)[None], groups)[0, 0])
    half = norm.isf(0.05) * (math.sqrt(variance) or by_chance)
    return np.clip([value, value - half, value + half], 0, 1)
