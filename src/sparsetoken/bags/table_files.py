"""Tables in files, as pandas frames: CSV and TSV, Parquet, Excel."""

from __future__ import annotations

import functools
import re
import warnings
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from sparsetoken.bags.array_files import LEGAL
from sparsetoken.bags.options import require_different
from sparsetoken.base.files import refused
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput, one_line

_KINDS: tuple[tuple[re.Pattern[str], Callable[[str], Any]], ...] = (
    (re.compile(r"[+-]?(0|[1-9]\d{0,18})"), int),
    (re.compile(r"[+-]?((0|[1-9]\d{0,18})(\.\d*)?|\.\d+)([eE][+-]?\d+)?"), float),
    (re.compile("True|False|TRUE|FALSE|true|false"), lambda text: text.lower() == "true"),
)


def frame_of(path: Path, texts: Collection[str] | None = None) -> Any:
    """Return a table as a pandas frame; columns of texts, by default all, stay as written.

    Numbers would lose the leading zeros of an id, and turn 1e5 into 100000.
    """
    needed("pandas", "to read tables", "data")
    with refused("FILE", LEGAL, path):
        try:
            frame = TABLES[path.suffix.lower()](path, texts)
        except UnicodeDecodeError as error:
            remedy = f"{one_line(error)}. Save it as UTF-8."
            raise InvalidInput("FILE", LEGAL, str(path), remedy) from None
    return frame.set_axis([str(name) for name in frame.columns], axis=1)


def _options(texts: Collection[str] | None) -> dict[str, Any]:
    if texts is None:
        return {"dtype": str, "keep_default_na": False}
    return {"dtype": dict.fromkeys(texts, str)}


def _separated(by: str, path: Path, texts: Collection[str] | None) -> Any:
    """Read a table of one separator; with semicolons commas are decimal, as in much of Europe."""
    import pandas

    with path.open(encoding="utf-8-sig") as file:
        head = file.readline()
    european = by == "," and head.count(";") > head.count(",")
    options: dict[str, Any] = {"sep": ";", "decimal": ","} if european else {"sep": by}
    with warnings.catch_warnings():  # of rows with more cells than the header, else cut
        warnings.simplefilter("error", pandas.errors.ParserWarning)
        # In parts a column could have several types.
        options |= {"low_memory": False, "encoding": "utf-8-sig", "index_col": False}
        _require_different(path, pandas.read_csv(path, header=None, nrows=1, dtype=str, **options))
        frame = pandas.read_csv(path, **options, **_options(texts))
    for name in frame.columns if european else ():
        column = frame[name]
        if column.dtype.kind in "biuf":
            continue
        if texts is None or name in texts:  # numbers as labels
            if column.dropna().str.fullmatch(r"\s*[+-]?\d+(,\d+)?\s*").all():
                frame[name] = column.str.replace(",", ".")
            continue
        numbers = pandas.to_numeric(column, errors="coerce")  # with decimal points
        if numbers.notna().equals(column.notna()):
            frame[name] = numbers
    return frame


def _parquet(path: Path, texts: Collection[str] | None) -> Any:
    parquet = needed("pyarrow.parquet", "to read Parquet files", "data")
    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read()
        table.validate(full=True)  # pandas takes offsets and UTF-8 on trust
        return table.to_pandas()  # has types of its own


def _excel(path: Path, texts: Collection[str] | None) -> Any:
    import pandas

    needed("openpyxl", "to read Excel sheets", "data")
    _require_different(path, pandas.read_excel(path, header=None, nrows=1, dtype=str))
    return pandas.read_excel(path, **_options(texts))


def _require_different(path: Path, head: Any) -> None:
    """Raise `InvalidInput` if two columns have one name, the second of which pandas renames."""
    require_different(f"FILE {path.name}", head.iloc[0].dropna().tolist() if len(head) else [])


def typed(cells: list[Any]) -> list[Any]:
    """Return texts as numbers or truth values, if all are written as these are.

    01 and 1 are two classes, and so are integers of more digits than numbers keep apart.
    """
    texts = [one.strip() for one in cells if isinstance(one, str)]
    for pattern, kind in _KINDS:
        if all(map(pattern.fullmatch, texts)):
            return [kind(one.strip()) if isinstance(one, str) else one for one in cells]
    return cells


TABLES: dict[str, Callable[[Path, Collection[str] | None], Any]] = {
    ".csv": functools.partial(_separated, ","),
    ".tsv": functools.partial(_separated, "\t"),
    ".parquet": _parquet,
    ".pq": _parquet,
    ".xlsx": _excel,
}
"""What reads a table, by the ending of the name of its file."""

UNTYPED = (".csv", ".tsv")
"""Those whose cells are texts."""
