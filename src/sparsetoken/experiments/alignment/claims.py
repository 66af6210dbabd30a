"""What is claimed, and the comparisons that bear on it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sparsetoken.experiments.alignment.rows import OtherSteps, Simulated, Theory
from sparsetoken.experiments.alignment.work import Profile
from sparsetoken.experiments.claims import Claim, Comparison, Comparisons, largest_z
from sparsetoken.experiments.finite_dimension import NO_SHIFT, carried_to_infinity
from sparsetoken.experiments.rows import Rows, select
from sparsetoken.experiments.rules import compare, judge

CLAIMS = (
    Claim(
        "query-alignment",
        "Two gradient steps turn the query towards the signal; at a finite load α₀ = n₀/d its "
        "cosine with the signal, and that of the readout, have exact limits.",
    ),
    Claim(
        "steps-set-sharpness-only",
        "The step size η_q and the inverse temperature β do not move the cosine of the query; "
        "they set how sharp the softmax is.",
    ),
)
QUANTITIES = ("cosine", "readout_cosine")
ROUNDING = 1e-12  # of the few dozen operations that find a query


def compare_rows(profile: Profile, rows: Rows) -> list[Comparison]:
    """Return all comparisons."""
    theory = {row.alpha0: row for row in select(rows, Theory)}
    found = [
        _judged(name, theory[alpha0], some, key=alpha0 in profile.key)
        for alpha0, some in by_place(rows)
        for name in QUANTITIES
    ]
    return found + [c for row in select(rows, OtherSteps) for c in _steps(row)]


def by_place(rows: Rows) -> list[tuple[float, list[Simulated]]]:
    """Return each load with what was simulated there by one engine, at rising dimensions."""
    found: dict[tuple[str, float], list[Simulated]] = {}
    for row in sorted(select(rows, Simulated), key=lambda row: row.cosine.dimension):
        found.setdefault((row.cosine.engine, row.alpha0), []).append(row)
    return [(alpha0, some) for (_, alpha0), some in sorted(found.items(), key=lambda p: p[0][1])]


def _judged(name: str, theory: Theory, some: Sequence[Simulated], key: bool) -> Comparison:
    """Compare the cosine that several dimensions are carried to, or that at a single one."""
    single = len(some) == 1
    found = [getattr(row, name) for row in some]
    sizes = ", ".join(str(m.dimension) for m in found)
    return judge(
        "query-alignment",
        name,
        getattr(theory, name),
        found[0] if single else carried_to_infinity(found),
        where=f"α₀ = {some[0].alpha0:g}, d = {sizes}" + ("" if single else " → ∞"),
        x=some[0].alpha0,
        shift=None if single else NO_SHIFT,
        key=key or found[0].engine == "tensors",
    )


def _steps(row: OtherSteps) -> list[Comparison]:
    values = (
        ("moved cosine", 0.0, row.moved_cosine),
        ("sharpness over η_q β²", 1.0, row.sharpness_ratio),
    )
    return [
        compare(
            "steps-set-sharpness-only",
            quantity,
            curve="query",
            where=f"{row.choices} choices of η_q and β"
            + (", every trial" if row.engine == "tensors" else ""),
            expected=expected,
            found=found,
            allowance=ROUNDING,
            engine=row.engine,
            key=True,
        )
        for quantity, expected, found in values
    ]


def summary(profile: Profile, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return what the words need."""
    simulated = [some[-1] for _, some in by_place(rows)]
    return {"first": simulated[0], "last": simulated[-1], "largest": largest_z(comparisons)}
