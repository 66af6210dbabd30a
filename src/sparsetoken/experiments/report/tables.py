"""The numbers of a report as tables: of rows, trials and figures."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from sparsetoken.experiments.core.rows import THEORY, Rows
from sparsetoken.figures.curves import Plotted

ROW_COLUMNS = ("series", "quantity", "value", "error", "engine", "dimension", "trials", "status")
PLACES = ("panel", "curve", "x_name", "x", "y_name", "y")


def row_tables(rows: Mapping[str, Rows]) -> dict[str, str]:
    """Return a table of the rows of each experiment, by the name of its file.

    It has series, quantity and all coordinates, then what was found.
    """
    tables = {}
    for name, own_rows in rows.items():
        at = dict.fromkeys(n for row in own_rows for n in row.at)
        columns = [*ROW_COLUMNS[:2], *at, *ROW_COLUMNS[2:]]
        tables[f"{name}.csv"] = _csv(
            {n: row.at.get(n) if n in at else row[n] for n in columns} for row in own_rows
        )
    return tables


def trial_table(rows: Mapping[str, Rows]) -> str:
    """Return the value of every trial; row is the number of the row in its table, from 0."""
    return _csv(
        {"experiment": name, "row": number}
        | {n: row[n] for n in ("series", "quantity", "engine", "dimension")}
        | {"trial": trial, "value": value}
        for name, own_rows in rows.items()
        for number, row in enumerate(own_rows)
        for trial, value in enumerate(row.values)
    )


def figure_table(shown: Iterable[Plotted]) -> str:
    """Return all that a figure shows, with its panel, its curve and its place."""
    return _csv(
        {n: getattr(one, n) for n in PLACES} | {n: one.row[n] for n in ROW_COLUMNS} for one in shown
    )


def beside_theory(shown: Sequence[Plotted]) -> list[tuple[Plotted | None, Plotted | None]]:
    """Return what a figure shows of measurements, each after the theory at its place, if any.

    Where nothing was measured it is all of the theory.
    """
    known = {_place(one): one for one in shown if one.row.engine == THEORY}
    measured = [one for one in shown if one.row.engine != THEORY]
    return [(known.get(_place(one)), one) for one in measured] or [(one, None) for one in shown]


def _place(one: Plotted) -> tuple[Any, ...]:
    return one.panel, one.curve, one.x, None if math.isnan(one.y) else one.y


def _csv(lines: Iterable[Mapping[str, Any]]) -> str:
    return pd.DataFrame(list(lines)).to_csv(index=False, lineterminator="\n")
