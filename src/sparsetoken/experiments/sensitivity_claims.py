"""What the maps of test error say, and how it is judged."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Sequence

from sparsetoken.experiments.claims import ALLOWANCE, Claim, Statement, judge
from sparsetoken.experiments.points import THEORY, Point, select

__all__ = ["STATEMENTS", "claims_of", "result"]

SPOTS = ("spot", "below", "at best", "above")
COORDINATES = {
    "sharpness": "β = {x:.3g}, α₀ = {y:.3g}",
    "bias step": "η<sub>b</sub> = {x:.3g}, π = {y:.3g}",
    "split": "share {x:.3g} of α₀ + α₁ = {y:.3g}",
}

STATEMENTS = (
    Statement(
        "test-error-over-sharpness",
        "How does the test error depend on β and α₀? Simulated places lie on the predicted map.",
    ),
    Statement(
        "test-error-over-bias-step",
        "How does the test error depend on η<sub>b</sub> and π? Simulated places lie on the "
        "predicted map.",
    ),
    Statement(
        "test-error-over-split",
        "How does the test error depend on the split of a fixed number of samples? Simulated "
        "places lie on the predicted lines.",
    ),
    Statement(
        "best-split",
        "Which share of the samples should find the query? No simulated neighbour of the "
        "predicted share is better.",
    ),
    Statement(
        "best-sharpness",
        "Which β is best? No simulated neighbour of the predicted β is better.",
    ),
)
_OF_GROUP = dict(zip(COORDINATES, (s.name for s in STATEMENTS[:3]), strict=True))


def claims_of(points: Sequence[Point]) -> list[Claim]:
    """Return the claims: simulated places on the map, and the best against neighbours."""
    claims = []
    for group in COORDINATES:
        simulated = [
            p
            for p in select(points, group=group, quantity="test_error")
            if p.source != THEORY and p.curve in SPOTS
        ]
        claims += [_on_map(points, p, key=p is simulated[0]) for p in simulated]
    claims += _against_neighbours(points, "split", "best-split")
    return claims + _against_neighbours(points, "sharpness", "best-sharpness")


def _on_map(points: Sequence[Point], found: Point, key: bool) -> Claim:
    place = {"group": found.group, "curve": found.curve, "x": found.x, "y": found.y}
    (exact,) = select(points, quantity="test_error", source=THEORY, **place)
    (shift,) = select(points, quantity="shift", **place)
    # The usual allowance, and what the bias of the query's cosine moves at small alpha0 d.
    allowance = ALLOWANCE["test_error"] / found.dimension * exact.value + shift.value
    where = COORDINATES[found.group].format(x=found.x, y=found.y)
    return judge(_OF_GROUP[found.group], exact, found, where=where, allowance=allowance, key=key)


def _against_neighbours(points: Sequence[Point], group: str, statement: str) -> list[Claim]:
    simulated = [
        p for p in select(points, group=group, quantity="test_error") if p.source != THEORY
    ]
    claims = []
    for best in (p for p in simulated if p.curve == "at best"):
        (searched,) = (
            p
            for name in ("split", "beta")
            for p in select(points, curve="best", quantity=name, group=group, y=best.y)
        )
        for beside in (p for p in simulated if p.y == best.y and p.curve in ("below", "above")):
            key = best.y == 1.0 and beside.curve == "below"
            claims.append(_no_better(statement, searched, best, beside, key))
    return claims


def _no_better(statement: str, searched: Point, best: Point, beside: Point, key: bool) -> Claim:
    """Judge by how much a neighbour is better than the best; being worse counts as 0."""
    higher = beside.value - best.value
    error = math.hypot(beside.error, best.error)
    here = COORDINATES[best.group].format(x=best.x, y=best.y)
    where = f"{here}, against {beside.x:.3g}: measured error higher by {higher:.4f} ± {error:.4f}"
    zero = dataclasses.replace(searched, quantity="gain", value=0.0, error=0.0)
    gain = dataclasses.replace(
        beside, curve=beside.curve, quantity="gain", value=max(-higher, 0.0), error=error
    )
    return judge(statement, zero, gain, where=where, allowance=0.0, key=key)


def result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    """Return what came out, in sentences."""
    on_map = [c for c in claims if c.quantity == "test_error"]
    near = [c for c in claims if c.quantity == "gain"]
    splits = sorted(select(points, curve="best", quantity="split"), key=lambda p: p.y)
    sharp = sorted(select(points, curve="best", quantity="k"), key=lambda p: p.y)
    shares = ", ".join(f"{p.value:.2f} at α₀ + α₁ = {p.y:g}" for p in splits)
    ks = ", ".join(f"{p.value:.2g} at α₀ = {p.y:g}" for p in sharp)
    better = sum(c.verdict == "fails" for c in near)
    falling = all(a.value > b.value for a, b in itertools.pairwise(splits))
    return (
        f"The largest |z| of {len(on_map)} simulated places is "
        f"{max(abs(c.z) for c in on_map):.1f}. "
        f"The best share for the query is {shares}"
        f"{': the more samples, the smaller the share that the query needs' * falling}. "
        f"The best sharpness k is {ks}. Of {len(near)} simulated neighbours, three times the odds "
        f"or β away, {better} are better than the predicted best. {_turned_away(points)}"
    )


def _turned_away(points: Sequence[Point]) -> str:
    cosines = select(points, group="bias step", quantity="cosine")
    away = [p for p in cosines if p.value < 0]
    if not away:
        return "The query turns away from the signal nowhere on the map of (η<sub>b</sub>, π)."
    errors = select(points, group="bias step", curve="surface", quantity="test_error")
    error = {(p.x, p.y): p.value for p in errors if p.converged}
    ratios = [error[p.x, p.y] / p.y for p in away if (p.x, p.y) in error]
    return (
        f"On the map of (η<sub>b</sub>, π) the query turns away from the signal in {len(away)} of "
        f"{len(cosines)} places, all with π ≤ {max(p.y for p in away):.2g} and "
        f"η<sub>b</sub> ≤ {max(p.x for p in away):.2g}; the test error there is "
        f"{min(ratios):.2f} to {max(ratios):.2f} times that of the constant guess −1."
    )
