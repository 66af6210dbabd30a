"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.claims import FAILS, Claim, Comparison, Comparisons, largest_z
from sparsetoken.experiments.finite_dimension import NO_SHIFT, SHIFTS
from sparsetoken.experiments.rows import Predicted, Rows, select
from sparsetoken.experiments.rules import judge
from sparsetoken.experiments.sensitivity.rows import Best, Choice, Neighbour, OnMap, Spot
from sparsetoken.experiments.sensitivity.work import BIAS, NEIGHBOUR, Profile

CLAIMS = (
    Claim(
        "test-error-over-sharpness",
        "How does the test error depend on β and α₀? Simulated places lie on the predicted map.",
    ),
    Claim(
        "test-error-over-bias-step",
        "How does the test error depend on η_b and π? Simulated places lie on the predicted map.",
    ),
    Claim(
        "test-error-over-split",
        "How does the test error depend on the split of a fixed number of samples? Simulated "
        "places lie on the predicted lines.",
    ),
    Claim(
        "best-split",
        "Which share of the samples should find the query? No simulated neighbour of the "
        "predicted share is better.",
    ),
    Claim(
        "best-sharpness",
        "Which β is best? No simulated neighbour of the predicted β is better.",
    ),
)
ON_MAP = {
    "sharpness": "test-error-over-sharpness",
    "bias": "test-error-over-bias-step",
    "split": "test-error-over-split",
}
BEST = {"split": "best-split", "sharpness": "best-sharpness"}


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons: places against the map, and the best against its neighbours."""
    comparisons = []
    for panel in ON_MAP:
        spots = [row for row in select(rows, Spot) if row.choice.panel == panel]
        comparisons += [_on_map(row, key=row is spots[0]) for row in spots]
    return comparisons + [_no_better(row) for row in select(rows, Neighbour)]


def _on_map(row: Spot, key: bool) -> Comparison:
    # The usual shift, and what the bias of the query's cosine moves at small alpha0 d.
    usual, d = SHIFTS["test_error"], row.measured.dimension
    spread = math.hypot(usual.spread, row.shift * d / row.predicted.value)
    return judge(
        ON_MAP[row.choice.panel],
        "test_error",
        row.predicted,
        row.measured,
        curve="attention",
        where=_where(row.choice),
        x=_x(row.choice),
        group=row.choice.panel,
        shift=usual._replace(spread=spread),
        key=key,
    )


def _no_better(row: Neighbour) -> Comparison:
    """Judge by how much a neighbour is better than the best; being worse counts as 0."""
    gain = dataclasses.replace(row.gain, value=max(row.gain.value, 0.0))
    usual = row.best.total == 1.0 if row.best.panel == "split" else row.best.alpha0 == 1.0
    higher = f"measured error higher by {-row.gain.value:.4f} ± {row.gain.error:.4f}"
    return judge(
        BEST[row.best.panel],
        "gain",
        Predicted(0.0, status=row.status),
        gain,
        curve=row.side,
        where=f"{_where(row.best)}, against {_x(row.beside):.3g}: {higher}",
        x=_x(row.beside),
        group=row.best.panel,
        shift=NO_SHIFT,  # both have that of the same training
        key=usual and row.side == "below",
    )


def _where(choice: Choice) -> str:
    if choice.panel == "sharpness":
        return f"β = {choice.beta:.3g}, α₀ = {choice.alpha0:.3g}"
    if choice.panel == "bias":
        return f"η_b = {choice.eta_b:.3g}, π = {choice.positive_rate:.3g}"
    return f"share {choice.share:.3g} of α₀ + α₁ = {choice.total:.3g}"


def _x(choice: Choice) -> float:
    return {"sharpness": choice.beta, "bias": choice.eta_b, "split": choice.share}[choice.panel]


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
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
