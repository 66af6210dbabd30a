"""Tables of predictions, scores and tokens: JSON, CSV on standard output, and files."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli.bag_options import PANEL
from sparsetoken.cli.output import Answer, counted, not_written, write_table

ENDINGS = (".parquet", ".csv")
Out = Annotated[
    Path | None,
    Option(
        help="Table to write in place of the output, .parquet or .csv, with all rows.", group=PANEL
    ),
]


def check_out(out: Path | None, *inputs: Path | None, endings: tuple[str, ...] = ENDINGS) -> None:
    """Raise `InvalidInput` unless a table can be written there, beside what is read.

    An ending "" allows a folder.
    """
    from sparsetoken.base.files import require_other, require_place
    from sparsetoken.base.machine import needed
    from sparsetoken.base.validation import InvalidInput

    if out is not None:
        files = [*filter(None, inputs)]
        if "" in endings and not out.suffix and out.is_dir():
            require_other("--out", out, *files)
        else:
            require_place("--out", out, *files)
        if out.suffix.lower() not in endings:
            legal = " or ".join(filter(None, endings)) + ", or a folder" * ("" in endings)
            raise InvalidInput("--out", f"a name that ends in {legal}", str(out))
        if out.suffix.lower() == ".parquet":
            needed("pyarrow", "to write Parquet files", "data")


def answered(
    kind: str, bags: int, table: Mapping[str, Any], out: Path | None, of: str = ""
) -> Answer:
    """Return named columns as JSON and CSV; or write them to a file, and say how many rows.

    On a terminal numbers other than coordinates have six digits.

    In JSON attention is by class, also where there is one column of it, which is then `of` one.
    """
    if out is None:
        shown = table
        if sys.stdout is not None and sys.stdout.isatty():  # a person reads it
            shown = {name: _short(name, column) for name, column in table.items()}
        lines = _frame(shown).to_csv(index=False, lineterminator="\n").rstrip("\n").split("\n")
        return Answer("", {kind: _records(table, of)}, lines)
    if failure := written(table, out):
        return Answer("", {"saved": None}, ["Saved: nothing"], shortfall=failure, code=1)
    rows = len(next(iter(table.values())))
    line = f"Saved: {out}, {counted(rows, kind)} of {counted(bags, 'bags')}"
    return Answer("", {"bags": bags, kind: rows, "saved": str(out)}, [line])


def written(table: Mapping[str, Any], out: Path) -> str:
    """Write named columns to a file, and return why that failed, "" if it did not."""
    try:
        write_table(out, _frame(table))
    except OSError as error:
        return not_written("out", out, error)
    return ""


def _frame(table: Mapping[str, Any]) -> Any:
    """Return named columns as a pandas frame, with escapes for what is no UTF-8 in names of files.

    pandas has no place for halves of pairs of surrogates.
    """
    import pandas

    def encoded(text: str) -> str:
        return text.encode(errors="backslashreplace").decode()

    return pandas.DataFrame(
        {
            encoded(name): list(map(encoded, one.tolist())) if one.dtype.kind == "U" else one
            for name, one in table.items()
        }
    )


def _records(table: Mapping[str, Any], of_one: str) -> list[dict[str, Any]]:
    """Return a mapping for each row: coordinates in a list, what is of classes by class."""
    from sparsetoken.estimators.token_table import AXES

    rows = []
    for cells in zip(*(one.tolist() for one in table.values()), strict=True):
        row: dict[str, Any] = {}
        for name, cell in zip(table, cells, strict=True):
            kind, of, one = name.partition("_")
            if of or name == "attention":
                row.setdefault(kind, {})[one or of_one] = cell
            elif name in AXES:
                row.setdefault("coordinates", []).append(cell)
            else:
                row[name] = cell
        rows.append(row)
    return rows


def _short(name: str, column: Any) -> Any:
    """Return numbers as texts of a few digits, but places as they are."""
    import numpy as np

    from sparsetoken.estimators.token_table import AXES

    if name in AXES or column.dtype.kind != "f":
        return column
    return np.array(["" if one != one else f"{one:.6g}" for one in column.tolist()])
