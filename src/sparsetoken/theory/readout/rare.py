"""Small test errors by importance sampling where a readout is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.theory.feature_law import Coordinates, TokenFeatures
from sparsetoken.theory.features import ModelFeatures
from sparsetoken.theory.readout.equations import SaddleEquations
from sparsetoken.theory.readout.nodes import FeatureNodes
from sparsetoken.theory.readout.outcome import scores_on, standard_error
from sparsetoken.theory.readout.solve import SaddlePoint
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.theory.separability.proposal import LABELS, Proposal, fitted_proposals
from sparsetoken.theory.separability.streamed_law import ClassNodes, drawn_law

_ROUNDS, _PILOT = 6, 256  # nodes for each class and scramble
_MOST_POINTS = 2**13
_PLAIN = 0.5  # share of nodes from the law itself
_EVENLY = 0.1  # effective share of nodes from which a proposal is where errors are


class DrawnError(NamedTuple):
    """A test error over drawn nodes, and its standard error over their scrambles."""

    nodes: FeatureNodes
    scores: ScoreLaw
    test_error: float
    standard_error: float


def drawn_error(
    features: ModelFeatures,
    equations: SaddleEquations,
    saddle: SaddlePoint,
    problem: SparseTokenProblem,
    points: int,
) -> DrawnError | None:
    """Return the test error of a readout on new data, over nodes that are drawn where it is wrong.

    Leading coordinates of the tokens of each class are drawn from a normal law whose moments are
    those of wrong samples, found in a few rounds (the cross-entropy method), and as often from
    their own law, so that no weight is above twice that of a plain node. Points, of which no more
    than 8192 are drawn, are those of each class and each of 16 scrambles. It is None where the
    features are not sampled from tokens, or from weights up to a factor.
    """
    tokens = features.tokens(problem)
    if tokens is None or tokens.up_to_factor:
        return None
    points, state = min(points, _MOST_POINTS), features.state_on(problem, equations, saddle)

    def drawn(
        proposals: Mapping[int, Proposal], coordinates: Coordinates, points: int, stage: int
    ) -> tuple[FeatureNodes, ScoreLaw, np.ndarray]:
        nodes, z = drawn_nodes(features, problem, tokens, proposals, coordinates, points, stage)
        return nodes, scores_on(nodes, state), z

    def estimate(coordinates: Coordinates) -> DrawnError:
        proposals = dict.fromkeys(LABELS, Proposal.standard(problem.length))
        for stage in range(_ROUNDS):
            nodes, scores, leading = drawn(proposals, coordinates, _PILOT, stage)
            of_classes = np.split(nodes.weight * scores.errors, len(LABELS), axis=1)
            if all(effective_share(one) > _EVENLY for one in of_classes):
                break
            proposals = fitted_proposals(leading, of_classes, _PLAIN)
        nodes, scores, _ = drawn(proposals, coordinates, points, _ROUNDS)
        errors = scores.errors_by_scramble
        return DrawnError(nodes, scores, float(errors.mean()), standard_error(errors))

    return min(map(estimate, tokens.tried), key=lambda one: one.standard_error)


def drawn_nodes(
    features: ModelFeatures,
    problem: SparseTokenProblem,
    tokens: TokenFeatures,
    proposals: Mapping[int, Proposal],
    coordinates: Coordinates,
    points: int,
    stage: int,
) -> tuple[FeatureNodes, Float[np.ndarray, "classes n size"]]:
    """Return nodes of features that are drawn from proposals, and where they lie.

    The features are sampled from `tokens`. Proposals are of the leading coordinates in each class,
    by label, positives first. Points are those of each class and scramble; classes stand one after
    the other. There are other nodes at each stage, a whole number.
    """
    classes = [
        ClassNodes(tokens, label, proposal, coordinates, stage)
        for label, proposal in proposals.items()
    ]
    law, leading = drawn_law(classes, points)
    return features.of_law(problem, law), leading


def effective_share(share: np.ndarray) -> float:
    """Return the effective number of nodes over their number."""
    total = float(np.sum(share))
    return 1 / (share.size * float(np.sum((share / total) ** 2))) if total > 0 else 0.0
