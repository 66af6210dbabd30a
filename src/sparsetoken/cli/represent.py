"""The command that finds the critical signal strengths of all models."""

from __future__ import annotations

import itertools
from typing import Annotated, Any

from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput, integer, real
from sparsetoken.cli import options as o
from sparsetoken.cli.output import Answer, table


def represent(
    *,
    lengths: Annotated[o.Numbers, o.number("Lengths L in increasing order.")] = (
        *(8, 64, 512, 4096),  # type: ignore[assignment]
    ),
    error_level: Annotated[
        float, o.number("Target test error, in [1e-4, min(pi, 1 - pi)).")
    ] = 0.01,
    informative: Annotated[int, o.number("R, informative tokens.")] = 1,
    positive_rate: Annotated[float, o.number("π, rate of positives.")] = 0.5,
    sharpness: Annotated[float, o.number("k of attention with fixed sharpness.")] = 1.0,
    common: o.Common = o.Common(),
) -> Answer:
    """Find the signal strength at which the best weights of each model attain a given test error.

    Example: sparsetoken represent --lengths 8,64,512 --error-level 0.01
    """
    from sparsetoken.theory.oracle.strength import CURVES, critical_strength

    low = max(2, integer("informative (R)", informative, 1))
    checked = [integer("length (L)", L, low) for L in o.listed(lengths)]
    if any(a >= b for a, b in itertools.pairwise(checked)):
        raise InvalidInput("lengths", "different lengths in rising order", lengths)
    real("sharpness", sharpness, 0.0)  # the curves that do not need it come first
    curves: dict[str, list[Any]] = {name: [] for name in CURVES}
    with progress_of("critical strengths", len(curves) * len(checked)) as done:
        for name, curve in CURVES.items():
            for length in checked:
                found = critical_strength(
                    curve.model,
                    length,
                    informative=informative,
                    positive_rate=positive_rate,
                    error_level=error_level,
                    sharpness=None if curve.sharpness is None else sharpness,
                )
                curves[name].append(found)
                done()
    short = [
        f"{name} at L = {length} ({found.status.code})"
        for name, row in curves.items()
        for length, found in zip(checked, row, strict=True)
        if not found.status.converged
    ]
    values = {
        "lengths": checked,
        "error_level": error_level,
        "informative": informative,
        "positive_rate": positive_rate,
        "fixed_sharpness": sharpness,
        "critical_strength": {n: [found.strength for found in row] for n, row in curves.items()},
        "status": "; ".join(short) or "converged",
    }
    rows = [
        {"model": name} | {f"L = {L}": f.strength for L, f in zip(checked, row, strict=True)}
        for name, row in curves.items()
    ]
    title = f"Strength at which the best test error is {error_level:g}"
    fallen = f"Not converged: {values['status']}." if short else ""
    return Answer("", values, table(title, rows), shortfall=fallen)
