"""Nodes of the feature law, drawn where they count.

Means over the feature law of what happens rarely (a violated margin) need many plain nodes.
Here a few leading coordinates of scrambled Sobol points are drawn from a proposal, a normal
law fitted to where the integrand is large, and weighted by the ratio of densities.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator, Mapping

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, ndtri_exp

from sparsetoken.numerics.quadrature import BITS, sobol_sequence
from sparsetoken.theory.feature_law import COLUMNS, FeatureLaw, TokenFeatures
from sparsetoken.theory.separability.proposal import Proposal

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
    blocks = {
        label: list(_of_class(tokens, label, proposal, points[label], stage))
        for label, proposal in proposals.items()
    }

    def column(name: str) -> np.ndarray:
        flat = [np.concatenate([getattr(law, name)[0] for law, _ in b]) for b in blocks.values()]
        return np.concatenate([values.reshape(SCRAMBLES, -1) for values in flat], axis=1)

    along, across, C, y, weight = (column(name) for name in COLUMNS)
    law = FeatureLaw(along, across, C, y, weight, gaussian_variance=tokens.gaussian_variance)
    return law, {label: np.concatenate([z for _, z in own]) for label, own in blocks.items()}


def _of_class(
    tokens: TokenFeatures, label: int, proposal: Proposal, points: int, stage: int
) -> Iterator[tuple[FeatureLaw, np.ndarray]]:
    """Yield laws of some nodes of a class at a time, and their leading coordinates."""
    pi, layout, size = tokens.problem.positive_rate, tokens.layout(label), len(proposal.mean)
    chance = pi if label > 0 else 1 - pi
    most = 2 ** max(6, int(math.log2(_BLOCK / layout.dimensions)))
    for seed in np.random.SeedSequence([_SEED, stage, label > 0]).spawn(SCRAMBLES):
        sobol = sobol_sequence(layout.dimensions, np.random.default_rng(seed))
        for first in range(0, points, most):
            # Middles of the cells of the net: an end would be a normal of 37 sd.
            uniforms = sobol.random(min(most, points - first)) + 0.5 ** (BITS + 1)
            z, log_ratio = proposal.draw(uniforms[:, :size])
            logs = np.concatenate([log_ndtr(z), np.log(uniforms[:, size:])], axis=1)
            log_uniforms = functools.partial(np.take, logs, axis=1)
            groups = layout.groups(log_uniforms, functools.partial(_normals, logs))
            yield tokens.law_of_groups(groups, label, chance / points * np.exp(log_ratio)), z


def _normals(log_uniforms: np.ndarray, columns: np.ndarray) -> np.ndarray:
    return np.asarray(ndtri_exp(log_uniforms[:, columns]))
