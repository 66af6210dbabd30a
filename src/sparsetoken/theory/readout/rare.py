"""Small test errors by importance sampling where a readout is wrong."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from sparsetoken.numerics.errors import stated_error
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.features import Features
from sparsetoken.theory.readout.equations import SaddleEquations
from sparsetoken.theory.readout.outcome import scores_on
from sparsetoken.theory.readout.solve import SaddlePoint
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.theory.separability.drawn_law import drawn_law
from sparsetoken.theory.separability.proposal import (
    LABELS,
    Proposal,
    effective_share,
    refitted,
)
from sparsetoken.theory.separability.violation import by_label

_ROUNDS, _PILOT = 6, 256  # nodes for each class and scramble
_MOST_POINTS = 2**13
_PLAIN = 0.5  # share of nodes from the law itself
_EVENLY = 0.1  # effective share of nodes from which a proposal is where errors are


class DrawnError(NamedTuple):
    """A test error over drawn nodes, and its error over their scrambles."""

    nodes: FeatureLaw
    scores: ScoreLaw
    test_error: float
    error: float


def drawn_error(
    features: Features,
    equations: SaddleEquations,
    saddle: SaddlePoint,
    problem: Any,
    points: int,
) -> DrawnError | None:
    """Return the test error of a readout on new data, over nodes that are drawn where it is wrong.

    Leading coordinates of the tokens of each class are drawn from a normal law whose moments are
    those of wrong samples, found in a few rounds (the cross-entropy method), and as often from
    their own law, so that no weight is above twice that of a plain node. Points, of which no more
    than 8192 are drawn, are those of each class and each of 16 scrambles. It is None where the
    features are not sampled from tokens.
    """
    tokens = features.tokens(problem)
    if tokens is None:
        return None
    points, state = min(points, _MOST_POINTS), features.state_on(problem, equations, saddle)
    proposals = Proposal.of_classes(problem.length)

    def drawn(points: int, stage: int) -> tuple[FeatureLaw, ScoreLaw, dict[int, np.ndarray]]:
        law, leading = drawn_law(tokens, proposals, dict.fromkeys(LABELS, points), stage)
        nodes = features.of_law(problem, law)
        return nodes, scores_on(nodes, state), leading

    for stage in range(_ROUNDS):
        nodes, scores, leading = drawn(_PILOT, stage)
        shares = by_label(nodes.weight * scores.errors, nodes.y)
        if all(effective_share(share) > _EVENLY for share in shares.values()):
            break
        proposals = refitted(proposals, leading, shares, plain=_PLAIN)
    nodes, scores, _ = drawn(points, _ROUNDS)
    errors = scores.errors_by_scramble
    return DrawnError(nodes, scores, float(errors.mean()), float(stated_error(errors)))
