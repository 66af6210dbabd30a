"""Convex weights of several scores, by left-out loss: stacking, or the super learner."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float
from scipy.optimize import minimize

from sparsetoken.fitting.samples import Samples
from sparsetoken.losses import Loss
from sparsetoken.validation import InvalidInput


def convex_weights(
    scores: Float[np.ndarray, "n M"], samples: Samples, loss: Loss
) -> Float[np.ndarray, " M"]:
    """Return the weights >= 0 of sum 1 that give weighted scores the least mean loss.

    Equation: stacking. The problem is convex: of least loss among all averages, these weights
    are no worse than those of any one member.

    Parameters
    ----------
    scores : array of shape (n, M)
        Of each sample by each member, which was fitted without this sample.
    samples : Samples
    loss : Loss
        Smooth and convex.

    Returns
    -------
    array of shape (M,)
        Weights below 1e-6 are 0. Of members whose scores are not all finite the weight is 0.

    Raises
    ------
    InvalidInput
        If no member has finite scores.

    References
    ----------
    D. H. Wolpert (1992), Stacked generalization; L. Breiman (1996), Stacked regressions;
    M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007), Super learner.
    """
    usable = np.flatnonzero(np.isfinite(scores).all(axis=0))
    if not len(usable):
        raise InvalidInput("members", "one with finite left-out scores", "none")
    Z, y, share, M = scores[:, usable], samples.y, samples.share, len(usable)

    def objective(w: Float[np.ndarray, " m"]) -> tuple[float, Float[np.ndarray, " m"]]:
        z = Z @ w
        value = float(share @ np.asarray(loss.value(y, z)))
        return value, Z.T @ (share * np.asarray(loss.slope(y, z)))

    vertices = np.eye(M)
    best = min(vertices, key=lambda w: objective(w)[0])
    sum_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(M)}
    found = minimize(
        objective,
        best,
        jac=True,
        bounds=[(0, 1)] * M,
        constraints=sum_to_one,
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    ).x
    found = np.clip(found, 0, None) / np.clip(found, 0, None).sum()
    if not objective(found)[0] < objective(best)[0]:  # scores of very different size
        found = best
    weights = np.zeros(scores.shape[1])
    weights[usable] = np.where(found > 1e-6, found, 0.0)
    return weights / weights.sum()
