"""Queries from labels: two gradient steps, or the direction of the pooled readout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.bags import Bags
from sparsetoken.bags.segments import segment_mean
from sparsetoken.estimators.coordinates import Coordinates
from sparsetoken.estimators.readout import SEARCH_TOLERANCE, Samples, fit_weighted
from sparsetoken.losses import Loss

__all__ = ["Steps", "pooled_readouts", "two_steps"]


class Steps(NamedTuple):
    """Step sizes of stages 1 to 3, all >= 0."""

    w: float
    b: float
    q: float


def two_steps(
    bags: Bags,
    means: Float[np.ndarray, "n d"],
    samples: Samples,
    subsets: Sequence[Bool[np.ndarray, " n"]],
    coordinates: Coordinates,
    loss: Loss,
    steps: Steps,
) -> Float[np.ndarray, "d S"]:
    """Return the query after stages 1 to 3 on each of several subsets of the bags.

    From w = 0, b = 0, q = 0 with h0_i = l'(y_i, 0) and averages over the subset:
    w1 = -eta_w mean(h0 xbar), b1 = -eta_b mean(h0), and with h_i = l'(y_i, <xbar_i, w1> + b1)
    q2 = -eta_q mean(h_i X_i^T (I - 11^T/L_i) X_i w1 / L_i), for an inverse temperature of 1.

    Parameters
    ----------
    bags : Bags
    means : array of shape (n, d)
        Mean tokens of the bags, in the coordinates.
    samples : Samples
    subsets : sequence of bool arrays of shape (n,)
    coordinates : Coordinates
    loss : Loss
    steps : Steps

    Returns
    -------
    array of shape (d, number of subsets)
        In the coordinates. The tokens are read twice in all, not once for each subset.
    """
    y, parts = samples.y, np.stack([_share(samples, subset) for subset in subsets])
    h0 = np.asarray(loss.slope(y, np.zeros(len(y))))
    W1 = -steps.w * (parts * h0) @ means
    b1 = -steps.b * parts @ h0
    h = parts * np.asarray(loss.slope(y, W1 @ means.T + b1[:, None]))
    # Centred in each bag, tokens x serve as well as z: the mean of z drops out.
    weights = bags.tokens @ coordinates.raw(W1).T.astype(bags.dtype)
    weights -= np.repeat(segment_mean(weights, bags.offsets), bags.sizes, axis=0)
    weights *= np.repeat((h / bags.sizes).T.astype(bags.dtype), bags.sizes, axis=0)
    moved = (weights.T @ bags.tokens).astype(np.float64)
    return -steps.q * (moved / coordinates.scale).T


def pooled_readouts(
    means: Float[np.ndarray, "n d"],
    samples: Samples,
    subsets: Sequence[Bool[np.ndarray, " n"]],
    loss: Loss,
    ridge: float,
) -> Float[np.ndarray, "d S"]:
    """Return the readout of the mean token that each of several subsets of the bags gives."""
    fits = [
        fit_weighted(means[subset], samples.take(subset), loss, ridge, SEARCH_TOLERANCE)
        for subset in subsets
    ]
    return np.stack([fit.w for fit in fits], axis=1)


def _share(samples: Samples, subset: Bool[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    weight = samples.weight * subset
    return weight / weight.sum()
