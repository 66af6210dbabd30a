"""Comparisons of rows with the theory beside them, and of what is said of rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from sparsetoken.experiments.core.claims import COMPUTED, Comparison
from sparsetoken.experiments.core.rows import THEORY, Row, Rows
from sparsetoken.experiments.core.rules import against_simulation, against_value, fraction_true


def beside(known: Rows, row: Row) -> Row:
    """Return the only row of the quantity of another that agrees in all common coordinates."""
    common = [one for one in known if all(row.at.get(n, v) == v for n, v in one.at.items())]
    return Rows(common).one(quantity=row.quantity)


def placed(row: Row, curve: str, where: str, x: str = "") -> dict[str, Any]:
    """Return curve, where and x of a comparison.

    Parameters
    ----------
    row : Row
    curve, where : str
        Formats of its fields and coordinates, such as ``d = {dimension}``.
    x : str
        One of its coordinates; by default there is none.
    """
    place = {"curve": curve.format_map(row), "where": where.format_map(row)}
    return {**place, "x": row[x]} if x else place


def all_true(
    claim: str, quantity: str, true: Sequence[bool], rows: Iterable[Row], where: str, **more: Any
) -> Comparison:
    """Judge by `fraction_true` what is said of rows, which know what measured it and converged."""
    return fraction_true(claim, quantity, true, where=where, **_made_by(rows), **more)


def near(
    claim: str, quantity: str, value: float, rows: Iterable[Row], where: str, **more: Any
) -> Comparison:
    """Judge by `against_value` a number found from rows, which know what measured it."""
    return against_value(claim, quantity, value=value, where=where, **_made_by(rows), **more)


def _made_by(rows: Iterable[Row]) -> dict[str, Any]:
    used = Rows(rows)
    engine = next((row.engine for row in used if row.engine != THEORY), COMPUTED)
    return {"converged": used.converged, "engine": engine}


def compare(
    claim: str, known: Rows, row: Row, curve: str, where: str, x: str = "", **options: Any
) -> Comparison:
    """Compare a simulated row with the row beside it: `against_simulation` at `placed`."""
    return against_simulation(
        claim, beside(known, row), row, **placed(row, curve, where, x), **options
    )
