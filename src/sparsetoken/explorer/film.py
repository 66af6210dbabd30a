"""What a network does to a few bags at each step of its training."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsetoken.model.architectures.base import Architecture, attention_of, scores_of
from sparsetoken.model.base import Problem
from sparsetoken.model.tokens import Isotropic
from sparsetoken.results.outcomes import Weights

BAGS, SEED = 6, 3


def bags_in_training(
    task: Problem, network: Architecture, weights: Weights, states: int
) -> list[dict[str, Any]]:
    """Return new bags with the attention weights of their tokens and the output, state by state.

    A bag keeps the normals that its noise is made of. Projections on the columns have covariance
    U^T U: those on the directions and the rest, of which the symmetric root follows the weights
    smoothly. Among tokens of a covariance that of the projections is not known, and there are none.
    """
    if not isinstance(task.tokens, Isotropic):
        return []
    rng = np.random.default_rng(SEED)
    latent = task.latent(BAGS, rng)
    shape = (BAGS, task.length)
    P, m = weights.overlaps.shape[-1], weights.overlaps.shape[-2]
    scale = latent.get("scale", np.ones(shape))[..., None]
    noise = scale * rng.standard_normal((*shape, P + m))
    Z = latent["coefficients"] + noise[..., :P]
    y, informative = task.targets(latent, Z), latent.get("informative", np.zeros(shape, bool))
    kind = "class" if np.isin(y, (-1, 1)).all() else "number"
    bags: list[dict[str, Any]] = [
        {
            "kind": kind,
            "target": y[i],
            "informative": informative[i].tolist(),
            "weights": [],
            "output": [],
        }
        for i in range(BAGS)
    ]
    for U, gram, c in zip(
        weights.overlaps[:states], weights.gram[:states], weights.c[:states], strict=True
    ):
        sizes, vectors = np.linalg.eigh(gram - U @ U.T)
        root = vectors * np.sqrt(np.maximum(sizes, 0)) @ vectors.T
        for bag, H in zip(bags, Z @ U.T + noise[..., P:] @ root, strict=True):
            attention = attention_of(network, H, c, gram)
            share = np.ones(task.length) if attention is None else attention
            bag["weights"].append(share / share.sum())
            bag["output"].append(scores_of(network, H, c, gram, 1)[0])
    return bags
