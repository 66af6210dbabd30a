"""Where the mean violation is least, and around which nodes, as found on few of them."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken.theory.feature_law import Coordinates, FeatureLaw, TokenFeatures
from sparsetoken.theory.separability.proposal import Proposal
from sparsetoken.theory.separability.streamed_law import SCRAMBLES, ClassNodes
from sparsetoken.theory.separability.violation import Penalised, least_violation, squared_violation

LABELS = (1, -1)
LEAST_NODES = 64.0  # that a place or a mean rests on
MOST_ROUNDS = 16
_PILOTS = (64, 256, 1024)  # nodes for each class and scramble: first, on the way, last


class Place:
    """A place (w_1, w_2, b) that improves as better nodes become known."""

    def __init__(self, with_bias: bool) -> None:
        self.x = np.zeros(3)
        self.residual, self.iterations = math.inf, 0
        self._with_bias = with_bias
        self._found: Penalised | None = None

    def improve(self, law: FeatureLaw, *, plain: bool) -> bool:
        """Move to the minimum over these nodes, or as near as they can tell; say if it is there.

        Plain nodes know all of the way from 0; others only the part for which they were drawn.
        """
        found = self._minimum(law, self._found)
        if plain and self._found is not None and not found.converged:
            found = self._minimum(law, None)
        self.iterations += found.iterations
        if np.all(np.isfinite(found.x)):
            self._found, self.x, self.residual = found, found.x, found.residual
        return found.converged

    def _minimum(self, law: FeatureLaw, start: Penalised | None) -> Penalised:
        least = min(law.C.size / 128, LEAST_NODES)
        return least_violation(law, start, with_bias=self._with_bias, least_nodes=least)

    def move(self, step: np.ndarray) -> None:
        """Take a Newton step."""
        self.x = self.x + step
        self.iterations += 1


def pilot(
    features: TokenFeatures, coordinates: Coordinates, place: Place
) -> dict[int, dict[str, Proposal]]:
    """Improve the place and fit proposals to each class, in turns.

    Where the classes are so far apart that few nodes of one round violate a margin, the place
    goes only as far as the next round's proposal can follow.
    """
    proposals = dict.fromkeys(LABELS, Proposal.standard(features.problem.length))
    fitted: dict[int, dict[str, Proposal]] = {}
    points = _PILOTS[0]
    for stage in range(MOST_ROUNDS):
        nodes = [ClassNodes(features, y, proposals[y], coordinates, stage) for y in LABELS]
        blocks = [list(n.stream().blocks(points)) for n in nodes]
        laws = [_joined([b.law for b in of_class], points) for of_class in blocks]
        there = place.improve(_joined(laws), plain=stage == 0)
        for label, law, of_class in zip(LABELS, laws, blocks, strict=True):
            share = (law.weight * squared_violation(place.x, law))[0]
            leading = np.concatenate([b.leading for b in of_class])
            fitted[label] = Proposal.fitted(leading, share)
            proposals[label] = fitted[label]["all"]
        if there and points == _PILOTS[-1]:
            break
        points = _PILOTS[-1] if there and stage > 0 else _PILOTS[1]
    return fitted


def _joined(laws: list[FeatureLaw], points: int = 0) -> FeatureLaw:
    """Return one scramble with the nodes of all; with points, weights add up to a chance."""
    weight = np.concatenate([law.weight for law in laws], axis=1)
    return dataclasses.replace(
        laws[0],
        along=np.concatenate([law.along for law in laws], axis=1),
        across=np.concatenate([law.across for law in laws], axis=1),
        C=np.concatenate([law.C for law in laws], axis=1),
        y=np.concatenate([law.y for law in laws], axis=1),
        weight=weight / (points * SCRAMBLES) if points else weight,
    )
