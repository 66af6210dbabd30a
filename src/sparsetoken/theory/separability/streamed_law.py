"""Nodes of the feature law in any number, block by block, drawn where they count.

Means over the feature law of what happens rarely (a violated margin) need many plain nodes.
Here a few leading coordinates of scrambled Sobol points are drawn from a proposal, a normal
law fitted to where the integrand is large, and weighted by the ratio of densities.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, ndtri

from sparsetoken.numerics.quadrature import BITS, sobol_sequence
from sparsetoken.theory.feature_law import (
    COLUMNS,
    Coordinates,
    FeatureLaw,
    Group,
    Layout,
    TokenFeatures,
)
from sparsetoken.theory.separability.proposal import Proposal

SCRAMBLES = 16
_SEED = 20250929  # any fixed number: the same nodes in every run
_BLOCK = 2**17  # tokens in memory at once


class Block(NamedTuple):
    """Some nodes of one scramble."""

    scramble: int
    law: FeatureLaw
    leading: Float[np.ndarray, "n size"]


class ClassNodes:
    """Nodes of one class in blocks, without end; others at each stage, a whole number.

    The proposal is of as many coordinates as `Proposal.standard` has.
    """

    def __init__(
        self,
        features: TokenFeatures,
        label: int,
        proposal: Proposal,
        coordinates: Coordinates,
        stage: int,
    ) -> None:
        self.features, self._label, self._proposal = features, label, proposal
        self._coordinates, self._stage = coordinates, stage
        pi = features.problem.positive_rate
        self._chance = pi if label > 0 else 1 - pi
        self._layout = features.layout(label)
        dimensions = self._layout.dimensions
        self._most = 2 ** max(6, int(math.log2(_BLOCK / dimensions)))
        seeds = np.random.SeedSequence([_SEED, stage, label > 0]).spawn(SCRAMBLES)
        self._sobol = [sobol_sequence(dimensions, np.random.default_rng(seed)) for seed in seeds]

    def again(self) -> ClassNodes:
        """Return the same nodes from the first on."""
        law = self.features, self._label, self._proposal
        return ClassNodes(*law, self._coordinates, self._stage)

    def blocks(self, points: int) -> Iterator[Block]:
        """Yield the next `points` nodes of each scramble; a weight is a chance times a ratio.

        Weights add up to about `points` times the chance of the class.
        """
        size = len(self._proposal.mean)
        for scramble, sobol in enumerate(self._sobol):
            for first in range(0, points, self._most):
                # Middles of the cells of the net: an end would be a normal of 37 sd.
                uniforms = sobol.random(min(self._most, points - first)) + 0.5 ** (BITS + 1)
                z, log_ratio = self._proposal.draw(uniforms[:, :size])
                groups = _TOKENS[self._coordinates](z, uniforms[:, size:], self._layout)
                weight = self._chance * np.exp(log_ratio)
                law = self.features.law_of_groups(groups, self._label, weight)
                yield Block(scramble, law, z)


def drawn_law(
    classes: Sequence[ClassNodes], points: int
) -> tuple[FeatureLaw, Float[np.ndarray, "classes n size"]]:
    """Return the law of all classes at the next nodes of each scramble, and leading coordinates.

    Weights of a scramble add up to about 1. Classes stand one after the other, and in the leading
    coordinates of each one scramble after the other.
    """
    blocks = [list(nodes.blocks(points)) for nodes in classes]

    def column(name: str) -> np.ndarray:
        flat = [np.concatenate([getattr(b.law, name)[0] for b in own]) for own in blocks]
        return np.concatenate([values.reshape(SCRAMBLES, points) for values in flat], axis=1)

    along, across, C, y, weight = (column(name) for name in COLUMNS)
    law = FeatureLaw(
        along,
        across,
        C,
        y,
        weight / points,
        gaussian_variance=classes[0].features.gaussian_variance,
    )
    return law, np.stack([np.concatenate([b.leading for b in own]) for own in blocks])


def _ordered(z: np.ndarray, rest: np.ndarray, layout: Layout) -> list[Group]:
    """Return tokens, largest first in each group."""
    logs = np.concatenate([log_ndtr(z), np.log(rest)], axis=1)
    return layout.groups(
        lambda own: logs[:, own], lambda own: np.concatenate([z, ndtri(rest)], axis=1)[:, own]
    )


def _summed(z: np.ndarray, rest: np.ndarray, layout: Layout) -> list[Group]:
    """Return tokens, the first coordinate of each group being their sum over sqrt(size)."""
    normals = np.concatenate([z, ndtri(rest)], axis=1)
    tokens = [_reflected(normals[:, own]) for own in layout.columns]
    return [Group(g, 0, np.empty((len(g), 0))) for g in tokens]


def _reflected(z: np.ndarray) -> np.ndarray:
    """Apply the reflection that exchanges e_1 and (1, ..., 1)/sqrt(n)."""
    n = z.shape[1]
    if n < 2:
        return z
    axis = np.full(n, -1 / math.sqrt(n))
    axis[0] += 1
    axis /= np.linalg.norm(axis)
    return z - 2 * np.outer(z @ axis, axis)


_TOKENS: dict[Coordinates, Callable[[np.ndarray, np.ndarray, Layout], list[Group]]] = {
    "ordered": _ordered,
    "summed": _summed,
}
