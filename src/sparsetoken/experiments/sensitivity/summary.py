"""The numbers that the words need."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import FAILS, Comparison, largest_z
from sparsetoken.experiments.rows import select
from sparsetoken.experiments.sensitivity.rows import Best, OnMap
from sparsetoken.experiments.sensitivity.work import BIAS, NEIGHBOUR, Profile

__all__ = ["summary"]


def summary(
    profile: Profile, rows: Sequence[Any], comparisons: Sequence[Comparison]
) -> dict[str, Any]:
    """Return the best choices, how the comparisons went, and where the query turns away."""
    best = select(rows, Best)
    splits = sorted((r for r in best if r.choice.panel == "split"), key=lambda r: r.choice.total)
    betas = sorted((r for r in best if r.choice.panel != "split"), key=lambda r: r.choice.alpha0)
    on_map = [c for c in comparisons if c.quantity == "test_error"]
    near = [c for c in comparisons if c.quantity == "gain"]
    return {
        "neighbour": NEIGHBOUR,
        "bias": BIAS,
        "places": len(on_map),
        "largest": largest_z(on_map),
        "splits": splits,
        "falling": all(a.choice.share > b.choice.share for a, b in itertools.pairwise(splits)),
        "betas": betas,
        "neighbours": len(near),
        "better": sum(c.verdict == FAILS for c in near),
        "turned": _turned_away([row for row in select(rows, OnMap) if row.choice.panel == "bias"]),
    }


def _turned_away(rows: Sequence[OnMap]) -> dict[str, float]:
    """Return where the query turns away, with test errors over that of the constant guess."""
    away = [row for row in rows if row.cosine < 0]
    ratios = [r.test_error.value / r.choice.positive_rate for r in away if r.test_error.converged]
    if not ratios:
        return {}
    return {
        "places": len(away),
        "of": len(rows),
        "positive_rate": max(row.choice.positive_rate for row in away),
        "eta_b": max(row.choice.eta_b for row in away),
        "least": min(ratios),
        "most": max(ratios),
    }
