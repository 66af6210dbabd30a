"""Queries from labels: two gradient steps, or the direction of the readout of the mean token."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.bags.segments import segment_mean
from sparsetoken.estimators.fitting.linear_fit import SEARCH_TOLERANCE, fit_weighted
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.fitting.task import Task

Subsets = Sequence[Bool[np.ndarray, " n"]]
STEP = 0.5  # size of the gradient step on readout and bias


@dataclasses.dataclass(frozen=True, eq=False)
class Queries:
    """Queries of sharpness 1, one for each subset of the bags.

    Attributes
    ----------
    Q : array of shape (d, S)
    scores : array of shape (N, S)
        Of all tokens, with standard deviation 1 (0 for a query of norm 0).
    """

    Q: Float[np.ndarray, "d S"]
    scores: Float[np.ndarray, "N S"]


def two_steps(task: Task, subsets: Subsets) -> Float[np.ndarray, "d S"]:
    """Return the query of two gradient steps on each of several subsets of the bags.

    From w = 0, b = 0, q = 0 with h0_i = l'(y_i, 0) and averages over the subset:
    w1 = -mean(h0 xbar)/2, b1 = -mean(h0)/2, and with h_i = l'(y_i, <xbar_i, w1> + b1)
    q2 = -mean(h_i X_i^T (I - 11^T/L_i) X_i w1 / L_i).

    X_i are the standardised tokens of a bag. All tokens are read twice in all, not once for
    each subset.
    """
    bags, samples, loss = task.bags, task.samples, task.loss
    scaling, means, y = task.tokens, task.tokens.means, samples.y
    parts = np.stack([_share(samples, subset) for subset in subsets])
    h0 = np.asarray(loss.slope(y, np.zeros(len(y))))
    W1 = -STEP * (parts * h0) @ means
    b1 = -STEP * parts @ h0
    h = parts * np.asarray(loss.slope(y, W1 @ means.T + b1[:, None]))
    # The scores are centred in each bag, so that the mean which z subtracts from x drops out.
    weights = bags.tokens @ scaling.coefficients(W1).T.astype(bags.dtype)
    weights -= np.repeat(segment_mean(weights, bags.offsets), bags.sizes, axis=0)
    weights *= np.repeat((h / bags.sizes).T.astype(bags.dtype), bags.sizes, axis=0)
    moved = (weights.T @ bags.tokens).astype(np.float64)
    return -(moved / scaling.scale).T


def tied(task: Task, subsets: Subsets) -> Float[np.ndarray, "d S"]:
    """Return the readout of the mean token that each of several subsets of the bags gives."""
    scales, samples = task.scales(task.tokens.means), task.samples
    means, loss, ridge = task.tokens.means / scales, task.loss, task.mean_fit.ridge
    fits = [
        fit_weighted(means[subset], samples.take(subset), loss, ridge, SEARCH_TOLERANCE)
        for subset in subsets
    ]
    return np.stack([fit.w / scales for fit in fits], axis=1)


def _share(samples: Samples, subset: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    weight = samples.weight * subset
    return weight / weight.sum()


def unit_queries(task: Task, Q: Float[np.ndarray, "d S"]) -> Queries:
    """Divide queries so that the scores they give the tokens have standard deviation 1."""
    # By the norm first: float32 scores of a query of small steps would lose digits.
    norm = np.linalg.norm(Q, axis=0)
    unit = Q / np.where(norm > 0, norm, 1.0)
    scaling, dtype = task.tokens, task.bags.dtype
    offset = np.array([scaling.offset(q) for q in unit.T])
    scores = task.bags.tokens @ scaling.coefficients(unit.T).T.astype(dtype) + offset.astype(dtype)
    spread = np.array([task.spread(column) for column in scores.T])
    scale = np.where(spread > 0, spread, 1.0)
    scores /= scale.astype(dtype)
    return Queries(unit / scale, scores)
