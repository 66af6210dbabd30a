"""The command that compares the best test errors that each model can represent."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli.command import command, numbers
from sparsetoken.cli.output import Answer
from sparsetoken.problem import SparseTokenProblem

if TYPE_CHECKING:
    from sparsetoken.theory.oracle.strength import CriticalStrength


@command
def represent(
    *,
    lengths: Annotated[
        str, Option(help="Lengths L in increasing order, separated by commas.")
    ] = "8,64,512,4096",
    error_level: Annotated[
        float, Option(help="Target test error, in [1e-4, min(pi, 1 - pi)).")
    ] = 0.01,
    informative: Annotated[
        int, Option(help="R, tokens that carry the signal, 1 to L.")
    ] = SparseTokenProblem.informative,
    positive_rate: Annotated[
        float, Option(help="pi, probability of the label +1, in (0, 1).")
    ] = SparseTokenProblem.positive_rate,
    sharpness: Annotated[float, Option(help="k of attention with fixed sharpness.")] = 1.0,
) -> Answer:
    """Find the signal strength at which the best weights of each model attain a given test error.

    Example: sparsetoken represent --lengths 8,64,512 --error-level 0.01
    """
    given = numbers("--lengths", lengths, int)
    from sparsetoken.progress import progress_of
    from sparsetoken.theory.oracle.strength import CURVES, checked_lengths, critical_strength
    from sparsetoken.validation import real

    checked = checked_lengths(given, informative)
    real("sharpness", sharpness, 0.0)  # the curves that do not need it come first
    found: dict[str, list[CriticalStrength]] = {name: [] for name in CURVES}
    with progress_of("critical strengths", len(found) * len(checked)) as done:
        for name, curve in CURVES.items():
            for length in checked:
                found[name].append(
                    critical_strength(
                        curve.model,
                        length,
                        informative=informative,
                        positive_rate=positive_rate,
                        error_level=error_level,
                        sharpness=None if curve.sharpness is None else sharpness,
                    )
                )
                done()
    values = {
        "lengths": list(checked),
        "error_level": error_level,
        "informative": informative,
        "positive_rate": positive_rate,
        "fixed_sharpness": sharpness,
        "critical_strength": {n: [f.strength for f in row] for n, row in found.items()},
        "growth": _growth(checked, found),
        "status": _status(checked, found),
    }
    fallen = "" if values["status"] == "converged" else f"Not converged: {values['status']}."
    return Answer("", values, _lines(values), shortfall=fallen)


def _growth(lengths: tuple[int, ...], found: dict[str, list[CriticalStrength]]) -> dict[str, Any]:
    """Return, for each curve, the growth law that fits best; none below 3 lengths."""
    from sparsetoken.theory.oracle.growth import best_growth, fit_growth, growth_exponent

    growth: dict[str, Any] = {}
    for name, row in found.items():
        strengths = [f.strength for f in row]
        if len(lengths) < 3 or not all(f.status.converged for f in row):
            continue
        fits = fit_growth(lengths, strengths)
        best = fits[best_growth(fits)]
        growth[name] = {
            "law": best.law,
            "intercept": best.intercept,
            "slope": best.slope,
            "exponent": growth_exponent(lengths, strengths),
            "residuals": {law: fit.residual for law, fit in fits.items()},
        }
    return growth


def _status(lengths: tuple[int, ...], found: dict[str, list[CriticalStrength]]) -> str:
    short = [
        f"{name} at L = {length} ({f.status.code})"
        for name, row in found.items()
        for length, f in zip(lengths, row, strict=True)
        if not f.status.converged
    ]
    return "converged" if not short else "; ".join(short)


def _lines(values: dict[str, Any]) -> list[str]:
    from sparsetoken.tables import text

    rows = [
        {"model": name.replace("_", " ")}
        | {f"L = {L}": s for L, s in zip(values["lengths"], row, strict=True)}
        | {"growth": values["growth"].get(name, {}).get("law", "")}
        for name, row in values["critical_strength"].items()
    ]
    title = f"Strength at which the best test error is {values['error_level']:g}"
    return text(rows, title=title).split("\n")
