"""The command that compares what the best weights of each model can do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken.cli import options as o
from sparsetoken.cli.progress import progress_bar
from sparsetoken.cli.show import guarded, message, put, put_json

if TYPE_CHECKING:
    from sparsetoken.theory.oracle.strength import CriticalStrength


@guarded
def represent(
    lengths: Annotated[
        str, typer.Option("--lengths", help="Lengths L in rising order, with commas between.")
    ] = "8,64,512,4096",
    error_level: Annotated[
        float,
        typer.Option("--error-level", help="Test error to reach, in [1e-4, min(pi, 1 - pi))."),
    ] = 0.01,
    informative: Annotated[
        int, o.option("--informative", "R, tokens that carry the signal, 1 to L.", o.TASK)
    ] = 1,
    positive_rate: Annotated[
        float, o.option("--positive-rate", "pi, chance of the label +1, in (0, 1).", o.TASK)
    ] = 0.5,
    sharpness: Annotated[
        float, typer.Option("--sharpness", help="k of attention with fixed sharpness.")
    ] = 1.0,
    as_json: o.AsJson = False,
) -> None:
    """Find the signal strength at which the best weights of each model reach a test error.

    Example: [cyan]sparsetoken represent --lengths 8,64,512 --error-level 0.01[/]
    """
    from sparsetoken.theory.oracle.strength import CURVES, checked_lengths, critical_strength
    from sparsetoken.validation import real

    given = o.numbers("--lengths", lengths, int, "integers with commas between")
    checked = checked_lengths(given, informative)
    real("sharpness", sharpness, 0.0)  # the curves that do not need it come first
    found: dict[str, list[CriticalStrength]] = {name: [] for name in CURVES}
    with progress_bar() as bar:
        task = bar.add_task("critical strengths", total=len(found) * len(checked))
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
                bar.advance(task)
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
    _show(values, as_json)
    if values["status"] != "converged":
        message(f"Not converged: {values['status']}.")
        raise typer.Exit(1)


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


def _show(values: dict[str, Any], as_json: bool) -> None:
    if as_json:
        put_json(values)
        return
    from rich.table import Table

    title = f"Strength at which the best test error is {values['error_level']:g}"
    table = Table(title=title, title_justify="left", title_style="bold")
    table.add_column("model")
    for length in values["lengths"]:
        table.add_column(f"L = {length}", justify="right")
    table.add_column("growth")
    for name, row in values["critical_strength"].items():
        law = values["growth"].get(name, {}).get("law", "")
        cells = ["-" if x != x else f"{x:.4g}" for x in row]
        table.add_row(name.replace("_", " "), *cells, law)
    put(table)
