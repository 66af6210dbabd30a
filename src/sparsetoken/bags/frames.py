"""Tables in files, as pandas frames: CSV, TSV, Parquet, Excel, UCI's .data, WEKA's ARFF."""

from __future__ import annotations

import contextlib
import csv
import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.base.files import refused, require_regular
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput, one_line

_INTEGER = re.compile(r"[+-]?(0|[1-9]\d*)")
_NUMBER = re.compile(r"[+-]?((0|[1-9]\d*)(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
TRUTH = {form(str(one)): one for one in (True, False) for form in (str, str.upper, str.lower)}
Texts = type[str] | dict[str, type[str]]
LEGAL = "of bags and labels that can be read"
MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null")
"""Cells of a sheet without a value; "None" may be a grade."""


def frame_of(path: Path, dtype: Texts) -> Any:
    """Return a table as a pandas frame, whose columns of texts, or all, stay as they are written.

    Numbers would lose the leading zeros of an id, and turn 1e5 into 100000.
    """
    require_regular("FILE", path)
    needed("pandas", "to read tables", "data")
    with refused("FILE", LEGAL, path):
        try:
            return READERS[path.suffix.lower()](path, dtype)
        except UnicodeDecodeError as error:
            remedy = f"{one_line(error)}. Save it as UTF-8."
            raise InvalidInput("FILE", LEGAL, str(path), remedy) from None


def _separated(by: str) -> Callable[[Path, Texts], Any]:
    def read(path: Path, dtype: Texts) -> Any:
        import pandas

        _check_cells(path, by, rows=1)  # whose last cells pandas would drop
        options: dict[str, Any] = {"dtype": dtype, "keep_default_na": dtype is not str}
        options |= {"encoding": "utf-8-sig", "index_col": False}
        try:  # in parts a column could have several types
            frame = pandas.read_csv(path, sep=by, low_memory=False, **options)
        except pandas.errors.ParserError:  # as of a later row with more cells
            _check_cells(path, by)
            raise
        last = frame.iloc[:, -1]
        if (last.isna() | (last == "")).any():  # as pandas fills a row with fewer cells
            _check_cells(path, by)
        return frame

    return read


def _check_cells(path: Path, by: str, rows: int | None = None) -> None:
    """Raise `InvalidInput` if one of the first rows has not as many cells as the header."""
    # A cell of more than 131072 characters is left to pandas.
    with contextlib.suppress(csv.Error), path.open(newline="", encoding="utf-8-sig") as file:
        reader = csv.reader(file, delimiter=by)
        found = (cells for cells in reader if len(cells) > 1 or "".join(cells).strip())
        head = len(next(found, ()))
        for cells in itertools.islice(found, rows):
            if len(cells) != head:
                legal = "with as many cells in each row as in the header"
                got = f"{len(cells)} cells in line {reader.line_num}, {head} in the header"
                remedy = (
                    "Quote cells that hold the separator, and leave out one at the end of rows. "
                    "In R write with row.names=FALSE or col.names=NA."
                ) * (len(cells) > head)
                raise InvalidInput(f"FILE {path.name}", legal, got, remedy)


def _parquet(path: Path, dtype: Texts) -> Any:
    parquet = needed("pyarrow.parquet", "to read Parquet files", "data")
    with parquet.ParquetFile(path, page_checksum_verification=True) as file:
        table = file.read()
        table.validate(full=True)  # pandas takes offsets and UTF-8 on trust
        return table.to_pandas()  # has types of its own


def _excel(path: Path, dtype: Texts) -> Any:
    import pandas

    needed("openpyxl", "to read Excel sheets", "data")
    options: dict[str, Any] = {"dtype": dtype, "keep_default_na": dtype is not str}
    return pandas.read_excel(path, **options)


def _uci(path: Path, dtype: Texts) -> Any:
    """Read lines ``bag,instance,numbers,label.`` without names, which become 0, 1, and so on."""
    import pandas

    table: Any = {"header": None, "comment": "|", "skipinitialspace": True}
    width = pandas.read_csv(path, nrows=1, **table).shape[1]
    named = [int(name) for name in dtype if name.isdecimal()] if isinstance(dtype, dict) else []
    ends = [name for name in (width - 2, width - 1) if name > 0]  # after a last comma is nothing
    texts: Any = dict.fromkeys([0, *named, *ends], str)
    frame = pandas.read_csv(path, dtype=texts, **table).dropna(axis=1, how="all")
    last = frame.columns[-1]
    labels = frame[last].astype(str).str.strip().str.removesuffix(".")
    missing = frame[last].isna() | (labels == "?")
    frame[last] = labels.mask(missing) if missing.any() else typed(labels.tolist())
    for name in frame.columns[:-1]:
        if (unknown := frame[name] == "?").any() or name in ends:
            cells = frame[name].mask(unknown)
            frame[name] = cells if name in [0, *named] else typed_column(cells)
    frame.columns = [str(name) for name in frame.columns]
    return frame


def typed(texts: list[str]) -> np.ndarray:
    """Return texts as integers or numbers, if all are written as these are.

    Integers of more than 64 bits, of which several would be one number, stay texts.
    """
    if all(map(_INTEGER.fullmatch, texts)):
        try:
            return np.array([int(text) for text in texts], np.int64)
        except (OverflowError, ValueError):  # Python reads no integer of 4300 digits
            return np.array(texts, object)
    if all(map(_NUMBER.fullmatch, texts)):
        return np.array([float(text) for text in texts])
    return np.array(texts, object)


def typed_column(column: Any) -> Any:
    """Return a column of texts as truth values or numbers, if all are written as these are."""
    import pandas

    codes, texts = pandas.factorize(column)  # -1 where a cell is missing
    stripped = [text.strip() for text in texts]
    values = typed(stripped)
    if set(stripped) <= TRUTH.keys():
        values = np.array([TRUTH[text] for text in stripped])
    if values.dtype == object:
        return column
    return pandas.Series(values).reindex(codes).set_axis(column.index)


_TOKEN = re.compile(r"""\s*('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|[^,]*?)\s*(?:,|$)""")


def _arff(path: Path, dtype: Texts) -> Any:
    """Read a table of WEKA; the cells of a relational attribute are frames.

    The reader of scipy knows neither texts nor quoted names of classes.
    """
    import pandas

    names: list[str] = []
    within: dict[str, dict[str, bool]] = {}  # whether these are numbers
    numeric: set[str] = set()
    open_in, rows, in_data = "", [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        line = line.strip()
        if not line or line.startswith("%"):
            continue
        if in_data:
            if line.startswith("{"):
                raise ValueError("sparse rows of ARFF, which are not read")
            rows.append(_words(line, len(names)))
            continue
        key, _, rest = line.partition(" ") if " " in line else line.partition("\t")
        if key.lower() == "@data":
            in_data = True
        elif key.lower() == "@end":
            open_in = ""
        elif key.lower() == "@attribute":
            name, kind = _attribute(rest.strip())
            of_numbers = kind in ("numeric", "real", "integer")
            if open_in:
                within[open_in][name] = of_numbers
                continue
            names.append(name)
            if of_numbers:
                numeric.add(name)
            if kind == "relational":
                open_in, within[name] = name, {}
    columns: dict[str, Any] = {}
    for name, values in zip(names, zip(*rows, strict=True), strict=True):
        if name in within:
            columns[name] = [_relation(value, within[name]) for value in values]
        elif name in numeric and isinstance(dtype, dict) and name not in dtype:
            columns[name] = [np.nan if value == "?" else float(value) for value in values]
        else:
            columns[name] = [None if value == "?" else value for value in values]
    return pandas.DataFrame({name: pandas.Series(one) for name, one in columns.items()})


def _attribute(text: str) -> tuple[str, str]:
    found = re.match(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*"|\S+)\s+(\w+|\{)""", text)
    if found is None:
        raise ValueError(f"no attribute in {text[:60]!r}")
    return _unquoted(found[1]), found[2].lower()


def _words(line: str, count: int) -> list[str]:
    words = [_unquoted(found[1]) for found in _TOKEN.finditer(line)][: line.count(",") + 1]
    if len(words) == count + 1 and not words[-1]:
        words.pop()  # what the pattern finds behind the last word
    if len(words) != count:
        raise ValueError(f"{len(words)} values for {count} attributes in {line[:60]!r}")
    return words


def _unquoted(word: str) -> str:
    if word[:1] in ("'", '"') and word[-1:] == word[:1] and len(word) > 1:
        word = word[1:-1].replace("\\n", "\n")
        return re.sub(r"\\(.)", r"\1", word)
    return word


def _relation(text: str, names: dict[str, bool]) -> Any:
    """Return the bag in a cell: numbers, NaN for what is none, and no texts."""
    import pandas

    rows = list(csv.reader(text.split("\n"), skipinitialspace=True))
    frame = pandas.DataFrame([row for row in rows if row], columns=list(names))
    frame = frame.apply(pandas.to_numeric, errors="coerce")
    return frame[[name for name, kept in names.items() if kept or frame[name].notna().any()]]


READERS: dict[str, Callable[[Path, Texts], Any]] = {
    ".csv": _separated(","),
    ".tsv": _separated("\t"),
    ".parquet": _parquet,
    ".pq": _parquet,
    ".xlsx": _excel,
    ".data": _uci,
    ".arff": _arff,
}
"""What reads a table, by the ending of the name of its file."""

UNTYPED = (".csv", ".tsv")
"""Those whose cells are texts."""

SHEETS = (*UNTYPED, ".parquet", ".pq", ".xlsx")
"""Those with a row of names."""


def is_table(path: Path) -> bool:
    """Whether a file is a table whose columns have names."""
    return path.suffix.lower() in (*SHEETS, ".arff")
