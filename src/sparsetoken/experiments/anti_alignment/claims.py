"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken.experiments.anti_alignment.rows import (
    Cell,
    Edge,
    Place,
    SmallStepEdge,
    SmallStepTrials,
    Trials,
)
from sparsetoken.experiments.anti_alignment.work import TINY, Profile
from sparsetoken.experiments.claims import Claim, Comparison, Comparisons, largest_z
from sparsetoken.experiments.rows import Rows, select
from sparsetoken.experiments.rules import compare, judge, share

CLAIMS = (
    Claim(
        "anti-alignment-of-rare-positives",
        "Where positives are rare and the signal is weak, two gradient steps turn the query away "
        "from the signal, on one side of a boundary that the sign condition gives.",
    ),
    Claim(
        "bias-step-turns-it-back",
        "A larger bias step η_b, which offsets the imbalance of the labels, turns "
        "such a query back.",
    ),
    Claim(
        "small-step-condition",
        "For small steps the query turns towards the signal if and only if "
        "π θ² R (1 − R/L) > (1 − 2π)(L − 1).",
    ),
)
SMALL = "small-step-condition"
_OF_PANEL = {"rate": "anti-alignment-of-rare-positives", "step": "bias-step-turns-it-back"}


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    found = []
    for panel, claim in _OF_PANEL.items():
        trials = [row for row in _beside(rows) if row.place.panel == panel]
        found += [_signs(claim, trials), _sides(claim, rows, panel)]
        found += [_judged(claim, row, _where(row.place), panel) for row in trials]
    small = select(rows, SmallStepTrials)
    found += [_signs(SMALL, small), *_small_steps(select(rows, SmallStepEdge))]
    steps = f", steps of {TINY:g}"
    return found + [_judged(SMALL, row, _where(row.place) + steps) for row in small]


def _judged(claim: str, row: Trials, where: str, group: str = "") -> Comparison:
    place: dict[str, Any] = {"where": where, "x": row.place.along, "group": group}
    return judge(claim, "cosine", row.predicted, row.measured, curve="query", **place)


def _beside(rows: Rows) -> list[Trials]:
    """Return the trials with ordinary steps."""
    return [row for row in select(rows, Trials) if not isinstance(row, SmallStepTrials)]


def _signs(claim: str, trials: Sequence[Trials]) -> Comparison:
    """Judge the signs of measured cosines that are predicted far enough from 0."""
    clear = [
        row.measured.value * row.predicted.value > 0
        for row in trials
        if abs(row.predicted.value) > 4 * row.measured.error
    ]
    return share(
        claim,
        "share of measured cosines with the predicted sign",
        clear,
        curve="query",
        where=f"{len(clear)} of {len(trials)} places, |theory| > 4 standard errors",
        engine="reduced",
        key=True,
    )


def _sides(claim: str, rows: Rows, panel: str) -> Comparison:
    """Judge the sign of the mapped cosines by the side of the boundary they are on."""
    edge = [row for row in select(rows, Edge, panel=panel) if row.across.converged]
    cells = [row for row in select(rows, Cell) if row.place.panel == panel]
    along = [row.place.along for row in cells]
    across = np.array([row.place.across for row in cells])
    known = [row.along for row in edge], [row.across.value for row in edge]
    values = np.interp(along, *known, np.nan, np.nan)
    # Between two solved places the boundary is interpolated: cells within 5 % do not count.
    decided = np.abs(across / values - 1) > 0.05
    right = (np.array([row.cosine.value for row in cells]) > 0) == (across > values)
    return share(
        claim,
        "share of cells on the predicted side",
        right[decided].tolist(),
        curve="query",
        where=f"{int(decided.sum())} cells of the map",
        converged=all(row.cosine.converged for row in cells),
    )


def _small_steps(edges: Sequence[SmallStepEdge]) -> list[Comparison]:
    return [
        compare(
            SMALL,
            "strength",
            curve="query",
            where=f"boundary at π = {edge.positive_rate:.3g}, steps of {TINY:g}",
            expected=edge.condition,
            found=edge.tiny_steps.value,
            # Steps of 1e-6 move every score by about as much, times theta^2 at most.
            allowance=1e-4 * edge.condition,
            x=edge.positive_rate,
            converged=edge.tiny_steps.converged,
            key=edge is edges[0],
        )
        for edge in edges
    ]


def _where(place: Place) -> str:
    if place.panel == "rate":
        return f"π = {place.positive_rate:g}, θ = {place.strength:.3g}"
    return f"η_b = {place.eta_b:.3g}, α₀ = {place.alpha0:g}"


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need."""
    cells = [row for row in select(rows, Cell) if row.place.panel == "rate"]
    steps = [r.across.value for r in select(rows, Edge, panel="step") if r.across.converged]
    return {
        "away": 100 * float(np.mean([row.cosine.value < 0 for row in cells])),
        "lowest": min(cells, key=lambda row: row.cosine.value),
        "fixed": Place("step"),
        "steps": (min(steps), max(steps)),
        "tiny": TINY,
        "off": max(abs(e.tiny_steps.value / e.condition - 1) for e in select(rows, SmallStepEdge)),
        "largest": largest_z(comparisons),
    }
