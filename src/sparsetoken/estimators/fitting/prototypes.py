"""Similarities of bags to tokens of training bags, and their readout: MILES."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.bags import Bags
from sparsetoken.estimators.fitting.linear_fit import (
    LinearFit,
    choose_ridge,
    fit_linear,
)
from sparsetoken.estimators.fitting.queries import telling
from sparsetoken.estimators.fitting.standard_tokens import CHUNK
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.losses import Loss
from sparsetoken.numerics.erm import FeatureMatrix


def nearest(
    bags: Bags,
    prototypes: Float[np.ndarray, "P d"],
    scale: Float[np.ndarray, " d"],
    own: Int[np.ndarray, " P"] | None = None,
) -> Float[np.ndarray, "n P"]:
    """Return the squared distance from each prototype to the nearest token of each bag.

    Columns are divided by `scale`. A prototype is no token of its own bag, where `own` says which
    row of the tokens it is: the distance is infinite if the bag has no other.
    """
    n, rows_of_chunk = len(bags), max(1, CHUNK // max(prototypes.shape))
    centre = prototypes.mean(axis=0)  # differences of large numbers would lose digits
    P = ((prototypes - centre) / scale).astype(bags.dtype)
    squares, found = np.square(P).sum(axis=1), np.full((n, len(P)), np.inf, bags.dtype)
    for start in range(0, len(bags.tokens), rows_of_chunk):
        z = ((bags.tokens[start : start + rows_of_chunk] - centre) / scale).astype(bags.dtype)
        D = np.maximum(np.square(z).sum(axis=1)[:, None] + squares - 2 * z @ P.T, 0.0)
        if own is not None:
            here = np.flatnonzero((own >= start) & (own < start + len(z)))
            D[own[here] - start, here] = np.inf
        first = int(np.searchsorted(bags.offsets, start, side="right")) - 1
        last = int(np.searchsorted(bags.offsets, start + len(z), side="left"))
        bounds = np.clip(bags.offsets[first : last + 1] - start, 0, len(z)).tolist()
        # Bag by bag: reduceat along columns is many times slower.
        for row, (low, high) in zip(found[first:last], itertools.pairwise(bounds), strict=True):
            np.minimum(row, D[low:high].min(axis=0), out=row)
    return found


def bandwidth_of(distances: Float[np.ndarray, "n P"]) -> float:
    """Return the median squared distance: the scale on which similarities differ.

    Where most bags hold a copy of most prototypes it is the mean, and 1 if all do.
    """
    finite = distances[np.isfinite(distances)].astype(np.float64)
    if not len(finite):
        return 1.0
    return float(np.median(finite)) or float(finite.mean()) or 1.0


@dataclasses.dataclass(frozen=True, eq=False)
class Similarities:
    """Similarities of bags to prototypes, and the fold of the bag of each prototype.

    Attributes
    ----------
    F : array of shape (n, P), in [0, 1]
    folds : int array of shape (n,)
    fold_of_prototype : int array of shape (P,)
    """

    F: Float[np.ndarray, "n P"]
    folds: Int[np.ndarray, " n"]
    fold_of_prototype: Int[np.ndarray, " P"]

    def readout(
        self, samples: Samples, loss: Loss, constant: float, exhaustive: bool = True
    ) -> LinearFit:
        """Return a readout, with the scores of bags that are left out with their fold.

        Prototypes of bags of that fold are left out with it. The ridge is that of least
        leave-one-out loss of the similarities to all prototypes. The score of a fold without
        which there is one class only is the constant.
        """
        F = self.F
        fit = choose_ridge(F, samples, loss, "auto", exhaustive=exhaustive)
        scores = np.full(len(F), constant)
        for fold in range(self.folds.max() + 1):
            rest, columns = self.folds != fold, self.fold_of_prototype != fold
            if columns.any() and telling(samples, [rest])[0]:
                part = FeatureMatrix(F[np.ix_(rest, columns)])
                found = fit_linear(part, samples.take(rest), loss, fit.ridge, leave_out=False)
                scores[~rest] = F[np.ix_(~rest, columns)] @ found.w + found.b
        losses = np.asarray(loss.value(samples.y, scores))
        return dataclasses.replace(fit, left_out=losses, left_out_scores=scores)
