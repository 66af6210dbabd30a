"""Where the mean violation is least, and around which nodes, as found on few of them."""

from __future__ import annotations

import math

import numpy as np

from sparsetoken.theory.feature_law import Coordinates, FeatureLaw, TokenFeatures
from sparsetoken.theory.separability.proposal import LABELS, Proposal
from sparsetoken.theory.separability.streamed_law import ClassNodes, drawn_law
from sparsetoken.theory.separability.violation import Penalised, least_violation, squared_violation

_LEAST_NODES = 64.0  # that a place or a mean rests on
MOST_ROUNDS = 16
_PILOTS = (64, 256, 1024)  # nodes for each class and scramble: first, on the way, last


class Minimizer:
    """The weights (w_1, w_2, b) of least violation, which improve as better nodes become known."""

    def __init__(self) -> None:
        self.x = np.zeros(3)
        self.residual, self.iterations = math.inf, 0
        self._minimum: Penalised | None = None

    def improve(self, law: FeatureLaw, *, plain: bool) -> bool:
        """Move to the minimum over these nodes, or as near as they can tell; say if it is there.

        Plain nodes know all of the way from 0; others only the part for which they were drawn.
        """
        least = min(law.C.size / 128, _LEAST_NODES)
        again = plain and self._minimum is not None
        for start in (self._minimum, None) if again else (self._minimum,):
            minimum, penalty = least_violation(law, start, least_nodes=least)
            if minimum.converged:
                break
        self.iterations += minimum.iterations
        if np.all(np.isfinite(minimum.x)):
            self._minimum, self.x, self.residual = (minimum, penalty), minimum.x, minimum.residual
        return minimum.converged

    def move(self, step: np.ndarray) -> None:
        """Take a Newton step."""
        self.x = self.x + step
        self.iterations += 1


def pilot(
    features: TokenFeatures, coordinates: Coordinates, minimizer: Minimizer
) -> dict[int, dict[str, Proposal]]:
    """Improve the minimizer and fit proposals to each class, in turns.

    Where the classes are so far apart that few nodes of one round violate a margin, the minimizer
    moves only as far as the next round's proposal can follow.
    """
    proposals = dict.fromkeys(LABELS, Proposal.standard(features.problem.length))
    fitted: dict[int, dict[str, Proposal]] = {}
    points = _PILOTS[0]
    for stage in range(MOST_ROUNDS):
        nodes = [ClassNodes(features, y, proposals[y], coordinates, stage) for y in LABELS]
        law, leading = drawn_law(nodes, points)
        there = minimizer.improve(law, plain=stage == 0)
        shares = np.split(law.weight * squared_violation(minimizer.x, law), len(LABELS), axis=1)
        for label, z, share in zip(LABELS, leading, shares, strict=True):
            fitted[label] = Proposal.fitted(z, share.ravel())
            proposals[label] = fitted[label]["all"]
        if there and points == _PILOTS[-1]:
            break
        points = _PILOTS[-1] if there and stage > 0 else _PILOTS[1]
    return fitted
