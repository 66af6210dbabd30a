"""How many samples can be separated, by as many nodes of a sampled law as it takes."""

from __future__ import annotations

import math

import numpy as np

from sparsetoken.theory.laws.importance import drawn_law
from sparsetoken.theory.laws.proposal import LABELS, Proposal, by_label, refitted
from sparsetoken.theory.laws.tokens import TokenFeatures
from sparsetoken.theory.separability.violation import (
    Separation,
    least_violation,
    squared_violation,
)

_FIRST, _SOME, _MANY, _LAST = 64, 256, 1024, 2**17  # nodes for each class and scramble
_MORE = 4  # times as many, at most, where they are not enough
_MOST_TOKENS = 2**22  # for each class and scramble
_LEAST_NODES = 64.0  # that a minimum rests on
_STAGES = 20
_MATTERS = 0.1  # share of the variance from which a class gets more nodes
_PLAIN = 0.1  # share of nodes from the law itself, so that no rare samples are missed
_EVEN = 0.5  # effective share of plain nodes above which drawn ones do not spread less


def separation_of(tokens: TokenFeatures, tolerance: float) -> Separation:
    """Return the separation to a relative error, twice which is the tolerance, if nodes suffice.

    Plain nodes find the minimum, or come near it. Where few of a class have the violated margins,
    the next ones are drawn where the last solution has them (the cross-entropy method).
    """
    proposals, points = Proposal.of_classes(tokens.problem.length), dict.fromkeys(LABELS, _FIRST)
    last = min(_LAST, 2 ** int(math.log2(_MOST_TOKENS / tokens.layout(-1).dimensions)))
    near: Separation | None = None
    spent, stage = 0, 0
    while True:
        law, leading = drawn_law(tokens, proposals, points, stage)
        before = near
        near = least_violation(law, near, least_nodes=min(law.C.size / 128, _LEAST_NODES))
        spent += near.iterations
        most = max(points.values())
        accurate = 2 * near.error <= tolerance and most >= _SOME
        stage += 1
        if stage == _STAGES or (near.converged and (accurate or most >= last)):
            return near._replace(iterations=spent)
        shares = by_label(law.weight * squared_violation(near.x, law), law.y)
        proposals = refitted(proposals, leading, shares, even=_EVEN, plain=_PLAIN)
        if not near.converged or most == _FIRST:
            stuck = before is not None and np.array_equal(near.x, before.x)
            points = dict.fromkeys(LABELS, _MANY if stuck else _SOME)
            if stuck and most >= _MANY:  # begin anew with these nodes
                near = None
            continue
        # Errors fall at least as the root of the number of nodes.
        more = 2 if (2 * near.error / tolerance) ** 2 < _MORE / 2 else _MORE
        variances = {label: float(np.var(share.sum(axis=1))) for label, share in shares.items()}
        for label, variance in variances.items():
            if variance >= _MATTERS * sum(variances.values()):
                points[label] = min(more * points[label], last)
