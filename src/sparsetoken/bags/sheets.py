"""Sheets of labels: tables with a row for each bag, joined to the bags by their ids."""

from __future__ import annotations

import dataclasses
import numbers
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.frames import MISSING, SHEETS, TRUTH, frame_of, typed
from sparsetoken.bags.keys import composed, is_missing, read_keys, read_labels
from sparsetoken.bags.labels import some
from sparsetoken.bags.names import GROUPS, LABEL
from sparsetoken.base.validation import InvalidInput

LABELS = ("label", "y", "labels")
KEYS = ("bag", "id", "bag_id", "slide_id", "slide", "filename", "file", "wsi")
"""Names that columns have by default, in letters of any size; one of them must be there."""

_TOLD = ", ".join(SHEETS)
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,5}$")  # of a file: parts of ids are longer


def is_sheet(labels: Any) -> bool:
    """Whether labels are a table, or the path of one, and no labels themselves."""
    if isinstance(labels, str):
        return labels.lower().endswith(SHEETS)
    return isinstance(labels, Path) or hasattr(labels, "columns")


def bare(key: str) -> str:
    """Return the name of a file without its folder and its ending.

    Examples
    --------
    >>> from sparsetoken.bags.sheets import bare
    >>> bare("slides/S.007.svs"), bare("TCGA-05.4F2A9C1B-77D1")
    ('S.007', 'TCGA-05.4F2A9C1B-77D1')
    """
    return _ENDING.sub("", re.split(r"[/\\]", key.strip())[-1])


@dataclasses.dataclass(frozen=True)
class Sheet:
    """A table with a row for each bag, and the columns of it that are read.

    Attributes
    ----------
    what : str
        What messages call it.
    keys : list of str
        The id in each row.
    columns : dict from what is read, labels and groups, to a column of texts or values
    names : dict from the same to the names of the columns
    partial : bool
        Whether bags without a row, and rows without a bag, are left out.
    """

    what: str
    key: str
    keys: list[str]
    columns: dict[str, list[Any]]
    names: dict[str, str]
    partial: bool

    def of_bags(self, ids: Sequence[Any]) -> tuple[list[int], dict[str, np.ndarray]]:
        """Return the places of the bags that have a row, and what the sheet says of these.

        Raises
        ------
        InvalidInput
            If a bag has no row or a row no bag, unless the sheet is partial, or two rows of a bag
            differ.
        """
        rows = self._rows_of([text_of(one) for one in ids])
        values = {name: self._values(name, ids, rows) for name in self.columns}
        kept = [
            place
            for place, own in enumerate(rows)
            if own and all(known[place] is not None for known in values.values())
        ]
        lacking = sorted(set(range(len(ids))) - set(kept))
        used = {row for own in rows for row in own}
        extra = [key for row, key in enumerate(self.keys) if row not in used]
        if not kept or (not self.partial and (lacking or extra)):
            self._refuse([text_of(ids[place]) for place in lacking], extra, len(ids))
        return kept, {
            name: _array(name, [known[place] for place in kept]) for name, known in values.items()
        }

    def _refuse(self, lacking: list[str], extra: list[str], count: int) -> None:
        told = []
        if lacking:
            told.append(f"{len(lacking)} of {count} bags without a row or value: {some(lacking)}")
        if extra:
            told.append(f"{len(extra)} of {len(self.keys)} rows without a bag: {some(extra)}")
        remedy, keywords = f"Ids are texts of the column {self.key}. {{}} leaves such out.", []
        keywords.append("partial=True")
        if len(lacking) == count and extra:
            remedy, keywords = f"Ids are texts of the column {self.key}; {{}} names another.", []
            keywords.append("id=")
            if {one.lstrip("0") for one in lacking} & {bare(one).lstrip("0") for one in extra}:
                remedy += " Leading zeros count."
        legal = "with one row for each bag and no other"
        raise InvalidInput(self.what, legal, "; ".join(told), remedy, *keywords)

    def _rows_of(self, ids: list[str]) -> list[list[int]]:
        """Return the rows of each bag: of the same id, else of the same name of a file."""
        exact: dict[str, list[int]] = {}
        for row, key in enumerate(self.keys):
            exact.setdefault(key, []).append(row)
        claimed = {row for one in ids for row in exact.get(one, ())}
        loose: dict[str, list[int]] = {}
        for row, key in enumerate(self.keys):
            if row not in claimed:
                loose.setdefault(bare(key), []).append(row)
        once = Counter(bare(one) for one in ids)  # a name of two bags is that of neither
        return [
            exact.get(one, []) + (loose.get(bare(one), []) if once[bare(one)] == 1 else [])
            for one in ids
        ]

    def _values(self, name: str, ids: Sequence[Any], rows: list[list[int]]) -> list[Any]:
        """Return the value of each bag, None for those without one."""
        column, found = self.columns[name], []
        for one, own in zip(ids, rows, strict=True):
            known = [(row, column[row]) for row in own if column[row] is not None]
            if differ := [pair for pair in known if pair[1] != known[0][1]]:
                (row, value), (other, second) = known[0], differ[0]
                legal = f"with one value for each bag in the column {self.names[name]}"
                got = f"{value} in row {row} and {second} in row {other} for bag {one}"
                remedy = "Rows count from 0 below the names of the columns."
                raise InvalidInput(self.what, legal, got, remedy)
            found.append(known[0][1] if known else None)
        return found


def sheet_of(labels: Any, *, id: str, label: str | None, groups: Any, partial: bool) -> Sheet:
    """Return a sheet from a table or its file; `label` is None where labels are not read.

    Groups that are a text name a column, others are none of the sheet.
    """
    what, frame = "the table of labels", labels
    if hasattr(labels, "to_pandas"):
        frame = labels.to_pandas()
    elif not hasattr(labels, "columns"):
        path = Path(labels)
        what = f"the sheet {path.name}"
        if path.suffix.lower() not in SHEETS or not path.is_file():
            raise InvalidInput(what, f"a file that is there and ends in {_TOLD}", str(path))
        frame = frame_of(path, str)
    names = [str(name) for name in frame.columns]
    frame = frame.set_axis(names, axis=1)
    key = id or _default(what, names, KEYS, "id=", "of the ids")
    wanted = {}
    if label is not None:
        wanted[LABEL] = label or _default(what, names, LABELS, "label=", "of the labels")
    if isinstance(groups, str) and (groups or GROUPS in names):
        wanted[GROUPS] = groups or GROUPS
    options = {LABEL: "label=", GROUPS: "groups="}
    for name, option in ((key, "id="), *((name, options[one]) for one, name in wanted.items())):
        if name not in names:
            got = f"columns {some(names)}"
            raise InvalidInput(what, f"with the column {name}", got, "{} names it.", option)
    keys = [text_of(one) for one in frame[key].tolist()]
    if "" in keys:
        got = f"none in row {keys.index('')}"
        raise InvalidInput(what, f"with an id in each row of the column {key}", got)
    columns = {one: [_value(each) for each in frame[name].tolist()] for one, name in wanted.items()}
    return Sheet(what, key, keys, columns, wanted, partial)


def text_of(value: Any) -> str:
    """Return an id as a text: that of a whole number has no decimals."""
    if isinstance(value, numbers.Real) and not isinstance(value, bool):
        number = float(value)
        if number.is_integer():
            return str(value if isinstance(value, int) else int(number))
    return "" if is_missing(value) else composed(str(value).strip())


def _value(cell: Any) -> Any:
    """Return a cell without blanks around it, None if it has no value."""
    cell = cell.strip() if isinstance(cell, str) else cell
    return None if is_missing(cell) or cell in MISSING else cell


def _array(name: str, values: list[Any]) -> np.ndarray:
    """Return labels, numbers if all are written so, or groups, which stay texts."""
    if name == GROUPS:
        return read_keys(values, "groups")
    spelt = sorted({one for one in values if isinstance(one, str) and one in TRUTH})
    if len(spelt) > len({TRUTH[one] for one in spelt}):
        raise InvalidInput("labels", "True and False in one spelling", ", ".join(spelt))
    if all(isinstance(one, str) for one in values):
        return read_labels(typed(values), "labels")
    return read_labels(values, "labels")


def _default(what: str, names: list[str], known: Sequence[str], option: str, of: str) -> str:
    """Return the one column that has a known name."""
    found = [name for name in names if name.lower() in known]
    if len(found) != 1:
        legal = f"with one of the columns {', '.join(known)}"
        remedy = f"{{}} names the column {of}."
        raise InvalidInput(what, legal, f"columns {some(found or names)}", remedy, option)
    return found[0]
