"""The numbers of a report as tables: of rows, trials and figures."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from sparsetoken.experiments.core.rows import THEORY, Rows
from sparsetoken.figures.curves import Plotted

FOUND = ("value", "error", "engine", "dimension", "trials", "status")
TRIALS = ("experiment", "row", "series", "quantity", "engine", "dimension", "trial", "value")
PLACES = ("panel", "curve", "x_name", "x", "y_name", "y")


def row_tables(rows: Mapping[str, Rows]) -> dict[str, str]:
    """Return a table of the rows of each experiment, by the name of its file.

    It has series, quantity and all coordinates, then what was found.
    """
    tables = {}
    for experiment, found in rows.items():
        at = list(dict.fromkeys(name for row in found for name in row.at))
        cells = (
            [row.series, row.quantity, *map(row.at.get, at), *(row[n] for n in FOUND)]
            for row in found
        )
        tables[f"{experiment}.csv"] = _text(["series", "quantity", *at, *FOUND], cells)
    return tables


def trial_table(rows: Mapping[str, Rows]) -> str:
    """Return the value of every trial; row is the number of the row in its table, from 0."""
    return _text(
        TRIALS,
        (
            (name, number, row.series, row.quantity, row.engine, row.dimension, trial, value)
            for name, found in rows.items()
            for number, row in enumerate(found)
            for trial, value in enumerate(row.values)
        ),
    )


def figure_table(shown: Iterable[Plotted]) -> str:
    """Return all that a figure shows, with its panel, its curve and its place."""
    cells = (
        [*(getattr(one, name) for name in PLACES), *(one.row[n] for n in ("quantity", *FOUND))]
        for one in shown
    )
    return _text([*PLACES, "quantity", *FOUND], cells)


def beside_theory(shown: Sequence[Plotted]) -> list[tuple[Plotted | None, Plotted | None]]:
    """Return what a figure shows of measurements, each after the theory at its place, if any.

    Where nothing was measured it is all of the theory.
    """
    known = {_place(one): one for one in shown if one.row.engine == THEORY}
    measured = [one for one in shown if one.row.engine != THEORY]
    return [(known.get(_place(one)), one) for one in measured] or [(one, None) for one in shown]


def _place(one: Plotted) -> tuple[Any, ...]:
    return one.panel, one.curve, one.x, None if math.isnan(one.y) else one.y


def _text(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return text.getvalue()


def _cell(value: Any) -> Any:
    return "" if value is None or (isinstance(value, float) and math.isnan(value)) else value
