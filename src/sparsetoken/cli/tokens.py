"""The command that writes what a saved model says of each token."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli.bag_options import PANEL, File, Source
from sparsetoken.cli.bags import columns_of_model, loaded_model
from sparsetoken.cli.options import Common
from sparsetoken.cli.output import Answer, not_written, printable

if TYPE_CHECKING:
    import numpy as np

ENDINGS = (".parquet", ".csv")


def tokens(
    model: Annotated[Path, Option("MODEL", help="A model that `fit --out` saved.")],
    file: File,
    /,
    *,
    out: Annotated[
        Path | None,
        Option(help="Table to write, .parquet or .csv, with a row for each token.", group=PANEL),
    ] = None,
    source: Source = Source(),
    common: Common = Common(),
) -> Answer:
    """List the tokens of bags: place, coordinates, attention weight, probability for each class.

    Example: sparsetoken bags tokens model.skops slides/ --out tokens.parquet
    """
    from sparsetoken.base.files import require_place
    from sparsetoken.base.validation import InvalidInput
    from sparsetoken.estimators import token_table

    if out is not None:
        require_place("--out", out, file, *filter(None, [source.labels]))
        if out.suffix.lower() not in ENDINGS:
            raise InvalidInput("--out", f"a name that ends in {' or '.join(ENDINGS)}", str(out))
    estimator = loaded_model(model)
    data = source.loaded(file, columns_of_model(estimator, file), empty=True, labelled=False)
    table = token_table(estimator, data.bags, data.ids)
    if out is None:
        lines = "".join(_text(table)).splitlines()
        return Answer("", {"tokens": _records(table)}, lines)
    try:
        _write(table, out)
    except OSError as error:
        failure = not_written("out", out, error)
        return Answer("", {"saved": None}, ["Saved: nothing"], shortfall=failure, code=1)
    values = {"bags": len(data.bags), "tokens": len(table["place"]), "saved": str(out)}
    line = f"Saved: {out}, {values['tokens']} tokens of {values['bags']} bags"
    return Answer("", values, [line])


def _records(table: dict[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return a mapping for each token: coordinates in a list, what is of classes by class."""
    from sparsetoken.estimators.token_table import AXES

    kept = {name: one.tolist() for name, one in table.items()}
    kept["bag"] = list(map(str, kept["bag"]))
    rows = []
    for cells in zip(*kept.values(), strict=True):
        row: dict[str, Any] = {}
        for name, cell in zip(kept, cells, strict=True):
            kind, of, one = name.partition("_")
            if of:
                row.setdefault(kind, {})[one] = cell
            elif name in AXES:
                row.setdefault("coordinates", []).append(cell)
            else:
                row[name] = cell
        rows.append(row)
    return rows


def _text(table: dict[str, np.ndarray]) -> list[str]:
    """Return the lines of a CSV file."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(table)
    for cells in zip(*(one.tolist() for one in table.values()), strict=True):
        lines.writerow([printable(one) if isinstance(one, str) else one for one in cells])
    return text.getvalue().splitlines(keepends=True)


def _write(table: dict[str, np.ndarray], out: Path) -> None:
    from sparsetoken.base.files import write_whole
    from sparsetoken.base.machine import needed

    if out.suffix.lower() == ".csv":
        write_whole(out, "".join(_text(table)).encode())
        return
    pyarrow = needed("pyarrow", "to write Parquet files", "data")
    parquet = needed("pyarrow.parquet", "to write Parquet files", "data")
    content = pyarrow.BufferOutputStream()
    parquet.write_table(pyarrow.table(dict(table)), content)
    write_whole(out, memoryview(content.getvalue()))
