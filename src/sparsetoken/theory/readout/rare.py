"""Small test errors by importance sampling where a readout is wrong."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.feature_law import Coordinates, TokenFeatures
from sparsetoken.theory.features import ModelFeatures
from sparsetoken.theory.readout.equations import ConvexReadout
from sparsetoken.theory.readout.nodes import FeatureNodes
from sparsetoken.theory.readout.outcome import standard_error
from sparsetoken.theory.readout.solve import SaddlePoint
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.theory.separability.pilot import LABELS
from sparsetoken.theory.separability.proposal import Proposal
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
    readout: ConvexReadout,
    found: SaddlePoint,
    problem: SparseTokenProblem,
    points: int,
) -> DrawnError | None:
    """Return the test error of a readout over nodes that are drawn where it is wrong.

    Leading coordinates of the tokens of each class are drawn from a normal law whose moments are
    those of wrong samples, found in a few rounds (the cross-entropy method), and as often from
    their own law, so that no weight is above twice that of a plain node.

    Parameters
    ----------
    features : ModelFeatures
    readout : ConvexReadout
    found : SaddlePoint
    problem : SparseTokenProblem
        Of new data.
    points : int
        Nodes for each class and each of 16 scrambles; no more than 8192 are drawn.

    Returns
    -------
    DrawnError or None
        None where the features are not sampled from tokens, or from weights up to a factor.
    """
    tokens = features.tokens(problem)
    if tokens is None or tokens.up_to_factor:
        return None
    draw = _Draw(features, tokens, readout, found, problem)
    found_by = [draw.estimate(c, min(points, _MOST_POINTS)) for c in tokens.tried]
    return min(found_by, key=lambda one: one.standard_error)


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

    Parameters
    ----------
    features : ModelFeatures
    problem : SparseTokenProblem
    tokens : TokenFeatures
        What the features are sampled from.
    proposals : mapping of Proposal
        Of the leading coordinates in each class, by label, positives first.
    coordinates : {"ordered", "summed"}
    points : int
        Nodes for each class and scramble; classes stand one after the other.
    stage : int
        Other nodes for each whole number.
    """
    classes = [
        ClassNodes(tokens, label, proposal, coordinates, stage)
        for label, proposal in proposals.items()
    ]
    law, leading = drawn_law(classes, points)
    return features.of_law(problem, law), leading


class _Draw:
    """Draws nodes for one readout."""

    def __init__(
        self,
        features: ModelFeatures,
        tokens: TokenFeatures,
        readout: ConvexReadout,
        found: SaddlePoint,
        problem: SparseTokenProblem,
    ) -> None:
        self._features, self._tokens, self._problem = features, tokens, problem
        self._readout, self._found = readout, found

    def estimate(self, coordinates: Coordinates, points: int) -> DrawnError:
        """Return the test error with one sort of leading coordinates."""
        proposals = dict.fromkeys(LABELS, Proposal.standard(self._problem.length))
        for stage in range(_ROUNDS):
            nodes, leading = self._drawn(proposals, coordinates, _PILOT, stage)
            share = nodes.weight * self._scores(nodes).errors
            of_classes = np.split(share, len(LABELS), axis=1)
            if all(effective_share(one) > _EVENLY for one in of_classes):
                break
            proposals = {
                label: dataclasses.replace(Proposal.fitted(z, one.ravel())["all"], plain=_PLAIN)
                for label, z, one in zip(LABELS, leading, of_classes, strict=True)
            }
        nodes, _ = self._drawn(proposals, coordinates, points, _ROUNDS)
        scores = self._scores(nodes)
        errors = scores.errors_by_scramble
        return DrawnError(nodes, scores, float(errors.mean()), standard_error(errors))

    def _drawn(
        self, proposals: dict[int, Proposal], coordinates: Coordinates, points: int, stage: int
    ) -> tuple[FeatureNodes, np.ndarray]:
        law = self._features, self._problem, self._tokens
        return drawn_nodes(*law, proposals, coordinates, points, stage)

    def _scores(self, nodes: FeatureNodes) -> ScoreLaw:
        return self._features.scores(self._readout, self._found, self._problem, nodes)


def effective_share(share: np.ndarray) -> float:
    """Return the effective number of nodes over their number."""
    total = float(np.sum(share))
    return 1 / (share.size * float(np.sum((share / total) ** 2))) if total > 0 else 0.0
