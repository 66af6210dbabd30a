"""Measures of held-out scores: the AUC of bags, and the excess variance in positive bags.

An area under the ROC curve (AUC) is the share of pairs of bags of two classes that are in the
right order. Scores of several folds share no intercept, so that pairs are of one fold. The
placement of a bag is the share of its pairs that are right: the AUC is their mean in each class,
and their spread in each class gives its variance (DeLong, DeLong and Clarke-Pearson, 1988).

R informative tokens among L that score higher by t standard deviations raise the mean score of
a bag by t R / L, and the variance of the scores in it by t^2 R (L - R) / (L (L - 1)). A signal
that all tokens share raises the mean alone. This tells sparse signals from dense ones with far
fewer bags than a gain of attention does, since every token counts.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.bags import Bags
from sparsetoken.estimators import PooledClassifier


def filled(
    sums: Float[np.ndarray, "K n"],
    counts: Float[np.ndarray, "K n"],
    positive: Bool[np.ndarray, " n"],
) -> Float[np.ndarray, "K n"]:
    """Return mean placements, that of its class for a bag tested with none of the other class."""
    placed = sums / np.maximum(counts, 1)
    for known, row in zip(counts > 0, placed, strict=True):
        for rows in (positive, ~positive):
            row[rows & ~known] = row[rows & known].mean() if (rows & known).any() else 0.5
    return placed


@dataclasses.dataclass(frozen=True)
class Excess:
    """The variance of scores in positive bags less that in negative ones, over the latter.

    It is 0 with an infinite standard error where no bag has two tokens.
    """

    value: float
    standard_error: float


def spreads(classifier: PooledClassifier, negative: Bags, bags: Bags) -> Float[np.ndarray, " n"]:
    """Return the variance of the token scores in each bag; nan for bags of one token.

    Negative training bags give its unit.
    """
    unit = _variances(classifier, negative)
    unit = unit[np.isfinite(unit)].sum() / max(np.isfinite(unit).sum(), 1)
    return _variances(classifier, bags) / unit if unit > 0 else np.full(len(bags), np.nan)


def _variances(classifier: PooledClassifier, bags: Bags) -> Float[np.ndarray, " n"]:
    places = np.arange(len(bags.tokens) + 1)
    tokens = Bags(bags.tokens, places, bags.feature_names)  # each a bag of its own
    scores = np.split(classifier.decision_function(tokens), bags.offsets[1:-1])
    return np.array([one.var(ddof=1) if len(one) > 1 else np.nan for one in scores])


def excess(
    spread: Float[np.ndarray, "K n"],
    positive: Bool[np.ndarray, " n"],
    groups: Int[np.ndarray, " n"] | None = None,
) -> Excess:
    """Compare the two classes in mean spreads by readouts that had not seen the bags, or nan."""
    known = np.isfinite(spread)
    count = known.sum(axis=0)
    total = np.where(known, spread, 0.0).sum(axis=0)
    mean, several = total / np.maximum(count, 1), count > 0
    means, moves = [], np.zeros(len(mean))
    for rows in (positive & several, ~positive & several):
        G = rows.sum() if groups is None else len(np.unique(groups[rows]))
        if G < 2:
            return Excess(0.0, np.inf)
        means.append(mean[rows].mean())
        moves[rows] = (mean[rows] - means[-1]) * np.sqrt(G / (G - 1)) / rows.sum()
    moves[~positive] *= -1
    of_groups = moves if groups is None else np.bincount(groups, moves)
    return Excess(float(means[0] - means[1]), float(np.linalg.norm(of_groups)))


def excess_of(
    shift: Float[np.ndarray, " G"], informative: np.ndarray, length: int
) -> Float[np.ndarray, " G"]:
    """Return the expected excess where informative tokens score higher by a shift."""
    R = np.minimum(informative, length)
    return np.square(shift) * R * (length - R) / (length * max(length - 1, 1))
