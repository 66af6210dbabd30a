"""Small test errors by importance sampling where a readout is wrong."""

from __future__ import annotations

from typing import Any

from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.importance import drawn_law
from sparsetoken.theory.laws.proposal import (
    LABELS,
    Proposal,
    by_label,
    effective_share,
    refitted,
)
from sparsetoken.theory.outcome.measured import SolvedReadout
from sparsetoken.theory.readout.features import Features

_ROUNDS, _PILOT = 6, 256  # nodes for each class and scramble
_MOST_POINTS = 2**13
_PLAIN = 0.5  # share of nodes from the law itself
_EVENLY = 0.1  # effective share of nodes from which a proposal is where errors are


def nodes_where_wrong(
    features: Features, problem: Any, solution: SolvedReadout, points: int
) -> FeatureLaw | None:
    """Return nodes of new data of a problem, drawn where a readout is wrong.

    Leading coordinates of the tokens of each class are drawn from a normal law whose moments are
    those of wrong samples, found in a few rounds (the cross-entropy method), and as often from
    their own law, so that no weight is above twice that of a plain node. Points, of which no more
    than 8192 are drawn, are those of each class and each of 16 scrambles. It is None where the
    features are not sampled from tokens.
    """
    tokens = features.tokens(problem)
    if tokens is None:
        return None
    points, state = min(points, _MOST_POINTS), features.state_on(problem, solution)
    proposals = Proposal.of_classes(problem.length)
    for stage in range(_ROUNDS):
        law, leading = drawn_law(tokens, proposals, dict.fromkeys(LABELS, _PILOT), stage)
        nodes = features.of_law(problem, law)
        shares = by_label(nodes.weight * features.scores(nodes, state).errors, nodes.y)
        if all(effective_share(share) > _EVENLY for share in shares.values()):
            break
        proposals = refitted(proposals, leading, shares, plain=_PLAIN)
    law, _ = drawn_law(tokens, proposals, dict.fromkeys(LABELS, points), _ROUNDS)
    return features.of_law(problem, law)
