"""The AUC of held-out scores, and the contribution of each bag.

An area under the ROC curve (AUC) is the share of pairs of bags of two classes that are in the
right order. Scores of several folds share no intercept, so that pairs are of one fold. The
placement of a bag is the share of its pairs that are right: the AUC is their mean in each class,
and their spread in each class gives its variance (DeLong, DeLong and Clarke-Pearson, 1988).
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Bool, Float


def placements(
    scores: Float[np.ndarray, " n"], positive: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return the fraction of bags of the other class ranked correctly against each; ties are half.

    Both classes must be there.
    """
    found = np.empty(len(scores))
    for rows in (positive, ~positive):
        others = np.sort(scores[~rows])
        below, up_to = (np.searchsorted(others, scores[rows], side) for side in ("left", "right"))
        found[rows] = (below + up_to) / (2 * len(others))
    found[~positive] = 1 - found[~positive]
    return found


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
