"""Results as dicts, as pandas tables and in a notebook."""

from __future__ import annotations

import dataclasses
import html as escape
import math
from collections.abc import Mapping, Sequence
from typing import Any

from sparsetoken.extras import needed

_BEYOND = ("advice",)
_MOST_ROWS = 60


def flat(record: Any) -> dict[str, Any]:
    """Return the numbers of a result by column.

    Overlaps get the columns query_overlap, orthogonal_overlap, noise_overlap and bias, a
    query gets cosine and sharpness, a status gets status and message.
    """
    columns: dict[str, Any] = {}
    for field in dataclasses.fields(record):
        value = getattr(record, field.name)
        if field.name in _BEYOND or value is None:
            continue
        if field.name == "status":
            columns |= {"status": str(value.code), "message": value.remedy}
        elif field.name == "overlaps":
            own = dataclasses.asdict(value)
            columns |= {n if n == "bias" else f"{n}_overlap": v for n, v in own.items()}
        elif dataclasses.is_dataclass(value):
            columns |= flat(value)
        else:
            columns[field.name] = value
    return columns


def frame(rows: Sequence[Mapping[str, Any]]) -> Any:
    """Return rows as a pandas DataFrame.

    Raises
    ------
    InvalidInput
        If pandas is not installed.
    """
    return needed("pandas", "to make a table", "data").DataFrame(list(rows))


def html(rows: Sequence[Mapping[str, Any]], advice: Sequence[str] = ()) -> str:
    """Return rows as an HTML table for a notebook; one row stands upright."""
    if len(rows) == 1:
        body = "".join(_html_row([name, value]) for name, value in rows[0].items() if value != "")
        table = f"<table>{body}</table>"
    else:
        names = list(rows[0])
        shown = rows[:_MOST_ROWS]
        head = "".join(f"<th>{escape.escape(name)}</th>" for name in names)
        body = "".join(_html_row([row.get(name, "") for name in names]) for row in shown)
        table = f"<table><tr>{head}</tr>{body}</table>"
        if len(rows) > len(shown):
            table += f"<p>{len(rows) - len(shown)} more rows</p>"
    return table + "".join(f"<p>{escape.escape(text)}</p>" for text in advice)


def _html_row(cells: Sequence[Any]) -> str:
    return "<tr>" + "".join(f"<td>{escape.escape(text_of(cell))}</td>" for cell in cells) + "</tr>"


def text_of(value: Any) -> str:
    """Return a number with six digits, small ones with three; other values as they are."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    if not math.isfinite(value):
        return "-" if math.isnan(value) else str(value)
    return f"{value:.3g}" if 0 < abs(value) < 1e-3 else f"{value:.6g}"
