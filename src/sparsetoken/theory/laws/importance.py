"""Nodes of the feature law, drawn where they count.

Means over the feature law of what happens rarely (a violated margin) need many plain nodes.
Here a few leading coordinates of scrambled Sobol points are drawn from a proposal, a normal
law fitted to where the integrand is large, and weighted by the ratio of densities.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr

from sparsetoken.numerics.quadrature import BITS, sobol_sequence
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.proposal import Proposal
from sparsetoken.theory.laws.tokens import TokenFeatures

SCRAMBLES = 16
_SEED = 20250929  # any fixed number: the same nodes in every run
_BLOCK = 2**17  # tokens in memory at once


def drawn_law(
    tokens: TokenFeatures,
    proposals: Mapping[int, Proposal],
    points: Mapping[int, int],
    stage: int,
) -> tuple[FeatureLaw, dict[int, Float[np.ndarray, "n size"]]]:
    """Return nodes of each class, so many in each scramble, and their leading coordinates.

    All is given by label; proposals are of as many coordinates as those of `Proposal.of_classes`.
    There are other nodes at each stage, a whole number. A weight is a chance times a ratio of
    densities: those of a scramble add up to about 1. Classes stand one after the other, and in the
    leading coordinates one scramble after the other.
    """
    classes = [
        _of_class(tokens, label, proposal, points[label], stage)
        for label, proposal in proposals.items()
    ]
    *columns, leading = zip(*classes, strict=True)
    a, C, y, weight = (np.concatenate(parts, axis=1) for parts in columns)
    law = FeatureLaw(a, C, y, weight, tokens.covariance)
    return law, dict(zip(proposals, leading, strict=True))


def _of_class(
    tokens: TokenFeatures, label: int, proposal: Proposal, points: int, stage: int
) -> tuple[np.ndarray, ...]:
    """Return a, C, y and weight of nodes of a class by scrambles, and leading coordinates."""
    pi, layout, size = tokens.problem.positive_rate, tokens.layout(label), len(proposal.mean)
    chance = pi if label > 0 else 1 - pi
    most = 2 ** max(6, int(math.log2(_BLOCK / layout.dimensions)))
    blocks = []
    for seed in np.random.SeedSequence([_SEED, stage, label > 0]).spawn(SCRAMBLES):
        sobol = sobol_sequence(layout.dimensions, np.random.default_rng(seed))
        for first in range(0, points, most):
            # Middles of the cells of the net: an end would be a normal of 37 sd.
            uniforms = sobol.random(min(most, points - first)) + 0.5 ** (BITS + 1)
            z, log_ratio = proposal.draw(uniforms[:, :size])
            logs = np.concatenate([log_ndtr(z), np.log(uniforms[:, size:])], axis=1)
            weight = chance / points * np.exp(log_ratio)
            blocks.append((*tokens.of_groups(layout.groups(logs), label), weight, z))
    *parts, z = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    a, C, weight = (part.reshape(SCRAMBLES, points, *part.shape[1:]) for part in parts)
    return a, C, np.full(weight.shape, float(label)), weight, z
