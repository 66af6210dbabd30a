"""Noisy-or: each token by itself makes its bag positive, and none can make it negative."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit, logit

from sparsetoken.bags.segments import segment_sum
from sparsetoken.estimators.fitting.linear_fit import LinearFit, fit_single_features
from sparsetoken.estimators.fitting.queries import (
    TOLERANCE,
    Subsets,
    ridges_of,
    shares_of,
    steps_of,
    telling,
)
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.numerics.lbfgs import descend_together

LEAST = 1e-12  # of the sum of the hazards of a bag


def log_odds(hazard: Float[np.ndarray, "*shape"]) -> Float[np.ndarray, "*shape"]:
    """Return log(exp(H) - 1), the log odds of a bag that is negative with probability exp(-H)."""
    H = np.maximum(hazard, LEAST)
    return H + np.log(-np.expm1(-H))


@dataclasses.dataclass(frozen=True, eq=False)
class NoisyOrFit:
    """Log odds <z_l, v> + b of standardised tokens, and slope and shift of those of their bags.

    Attributes
    ----------
    v : array of shape (d,)
    b : float
    readout : LinearFit
        w = [slope], b, and the scores and losses of bags left out of the fit.
    """

    v: Float[np.ndarray, " d"]
    b: float
    readout: LinearFit


@dataclasses.dataclass(frozen=True, eq=False)
class NoisyOrProblem:
    """Mean log-losses of several subsets of the bags, each with its ridge.

    Equation: noisy-or. P(y = 1) = 1 - prod_l (1 - p_l) with log odds <v, z_l> + b of p_l, so that
    P(y = 0) = exp(-H), H = sum_l log(1 + exp(<v, z_l> + b)).
    """

    tokens: StandardTokens
    positive: np.ndarray
    shares: Float[np.ndarray, "S n"]
    ridges: Float[np.ndarray, " S"]

    def value_and_gradient(
        self, points: Float[np.ndarray, "s m"], of: Int[np.ndarray, " s"]
    ) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s m"]]:
        """Return values and exact gradients of some problems at rows (v, b)."""
        V, b, shares, ridges = points[:, :-1], points[:, -1], self.shares[of], self.ridges[of]
        bags, moved = self.tokens.bags, self.tokens.centre
        u = self.tokens.projected(V.T)
        u += (V @ moved + b).astype(u.dtype)[:, None]
        H = np.add.reduceat(np.logaddexp(0, u), bags.offsets[:-1], axis=1).astype(np.float64)
        H = np.maximum(H, LEAST)
        negative = -np.expm1(-H)  # 1 - P(y = 0)
        values = (shares * np.where(self.positive, -np.log(negative), H)).sum(axis=1)
        pull = shares * np.where(self.positive, 1 - 1 / negative, 1.0)
        on_u = expit(u)
        on_u *= np.repeat(pull.astype(u.dtype), bags.sizes, axis=1)
        total = on_u.sum(axis=1, dtype=np.float64)
        on_v = self.tokens.summed(on_u) + total[:, None] * moved + ridges[:, None] * V
        values += 0.5 * ridges * np.einsum("ij,ij->i", V, V)
        return values, np.concatenate([on_v, total[:, None]], axis=1)


def fit_noisy_or(task: Task, folds: Int[np.ndarray, " n"], constant: float) -> NoisyOrFit:
    """Return the token odds with the ridge of least left-out loss, and calibrate those of bags.

    Descents start where all tokens have the same probability. Slope and shift are fitted to
    scores of bags by odds that have not seen their fold; a slope below 0, which would turn the
    assumption round, becomes 0.
    """
    samples, tokens, n = task.samples, task.tokens, len(folds)
    subsets: Subsets = [folds != j for j in range(folds.max() + 1)]
    subsets = [*subsets, np.ones(n, dtype=bool)]
    ridges = ridges_of(task, len(subsets))
    positive = samples.y > 0
    problem = NoisyOrProblem(
        tokens,
        positive,
        np.tile(shares_of(samples, subsets), (len(ridges), 1)),
        np.repeat(ridges, len(subsets)),
    )
    rate = float(samples.share @ positive)
    even = -np.expm1(np.log1p(-rate) / np.median(task.bags.sizes))
    start = np.zeros((len(problem.ridges), task.bags.dimension + 1))
    start[:, -1] = logit(even)
    steps = steps_of(task, len(start))
    points = descend_together(problem.value_and_gradient, start, steps, TOLERANCE).points
    told = telling(samples, subsets)[folds]  # the only bag of a class is left out of the others
    scores = [
        np.where(told, _unseen(task, part, folds), constant)
        for part in np.split(points, len(ridges))
    ]
    fits = fit_single_features(np.stack(scores), samples, task.loss)
    best = min(range(len(fits)), key=lambda i: fits[i].left_out_loss(samples))
    readout, (*v, b) = fits[best], np.split(points, len(ridges))[best][-1]
    if readout.w[0] <= 0:
        flat = np.full(n, constant)
        losses = np.asarray(task.loss.value(samples.y, flat))
        readout = LinearFit(np.zeros(1), constant, readout.ridge, losses, flat)
    return NoisyOrFit(np.array(v), float(b), task.calibrated(readout))


def _unseen(
    task: Task, points: Float[np.ndarray, "S m"], folds: Int[np.ndarray, " n"]
) -> Float[np.ndarray, " n"]:
    """Return the log odds of each bag by the odds that were found without its fold."""
    V, b = points[:-1, :-1], points[:-1, -1]
    u = task.tokens.projected(V.T) + (V @ task.tokens.centre + b)[:, None]
    H = segment_sum(np.logaddexp(0, u).T, task.bags.offsets)
    return log_odds(np.take_along_axis(H, folds[:, None], axis=1)[:, 0].astype(np.float64))
