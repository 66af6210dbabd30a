"""Sheets of labels: tables with a row for each bag, joined to the bags by their ids."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Shaped

from sparsetoken.bags.labels import id_texts, read_labels, some
from sparsetoken.bags.table_files import TABLES, frame_of, typed
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput

LABELS = ("label", "y")
IDS = ("bag", "id", "slide_id", "slide", "filename")
"""Names that columns have by default, in letters of any size; one of them must be there."""

_MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null")  # "None" may be a grade
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,5}$")  # of a file: parts of ids are longer


def is_sheet(labels: Any) -> bool:
    """Whether labels are a table, or the path of one, and no labels themselves."""
    return hasattr(labels, "columns") or (isinstance(labels, str | Path) and labels != "")


def joined(
    sheet: Any,
    ids: Sequence[str],
    *,
    id: str,
    label: str | None,
    groups: str | None,
    partial: bool,
) -> tuple[list[int], dict[str, Shaped[np.ndarray, " kept"]]]:
    """Return the places of the bags that have a row, and their labels `y` and `groups`.

    Parameters
    ----------
    sheet : path or frame
    ids : sequence of str
        Those of the bags. A row is of the bag of its id, else of the one of this name of a file,
        without folder and ending, if there is one alone.
    id : str
        The column of ids; "" for that of `IDS`.
    label, groups : str or None
        The columns; "" for that of `LABELS`, and for groups, if it is there; None for none.
    partial : bool
        Whether bags without a row, and rows without a bag, are left out.

    Raises
    ------
    InvalidInput
        If a bag has no row or a row no bag, unless `partial`, or two rows of a bag differ.
    """
    pandas = needed("pandas", "to read sheets of labels", "data")
    what, frame = "the table of labels", sheet
    if hasattr(sheet, "to_pandas"):  # of polars and pyarrow
        frame = sheet.to_pandas()
    elif not hasattr(sheet, "columns"):
        path = Path(sheet)
        what = f"the sheet {path.name}"
        if path.suffix.lower() not in TABLES or not path.is_file():
            legal = f"a file that is there and ends in {', '.join(TABLES)}"
            raise InvalidInput(what, legal, str(path), "{} names a column.", "label=")
        frame = frame_of(path)
    names = [str(name) for name in frame.columns]
    key = _column(what, names, id, IDS, "id=")
    columns = {}
    if label is not None:
        columns["y"] = _column(what, names, label, LABELS, "label=")
    if groups or (groups == "" and "groups" in names):
        columns["groups"] = _column(what, names, groups or "groups", (), "groups=")
    rows = pandas.DataFrame(
        {"id": frame.iloc[:, names.index(key)]}
        | {one: frame.iloc[:, names.index(name)] for one, name in columns.items()}
    )
    for one in columns:
        cells = rows[one].map(lambda cell: cell.strip() if isinstance(cell, str) else cell)
        rows[one] = cells.where(~cells.isin(_MISSING))
    texts = id_texts(rows["id"].to_list(), f"the column {key} of {what}").tolist()
    rows["id"] = _of_bags(texts, ids)
    bags = pandas.DataFrame({"id": list(ids)})
    valued = rows.dropna().drop_duplicates()
    try:
        both = bags.merge(valued, "left", on="id", validate="one_to_one", indicator=True)
    except pandas.errors.MergeError:
        twice = valued["id"][valued["id"].duplicated()].unique().tolist()
        told = f"two that differ for {some(twice)}"
        raise InvalidInput(what, "with one row for each bag", told) from None
    lacking = both["id"][both["_merge"] == "left_only"].tolist()
    extra = sorted(set(rows["id"]) - set(ids))
    kept = np.flatnonzero(both["_merge"] == "both").tolist()
    if not kept or (not partial and (lacking or extra)):
        got = [
            f"{len(few)} of {len(all_of)} {kind}: {some(few)}"
            for few, all_of, kind in (
                (lacking, ids, "bags without a row or value"),
                (extra, rows, "rows without a bag"),
            )
            if few
        ]
        remedy = f"Ids are texts of the column {key}, and {{}} names another; {{}} leaves such out."
        legal = "with a row for each bag and no other"
        raise InvalidInput(what, legal, "; ".join(got), remedy, "id=", "partial=True")
    found = {}
    for one in columns:
        values = both[one].iloc[kept].tolist()  # groups stay as written
        found[one] = read_labels(typed(values) if one == "y" else values, columns[one])
    return kept, found


def _of_bags(texts: list[str], ids: Sequence[str]) -> list[str]:
    """Return the ids of the bags that texts of a sheet are of, as they are where there is none."""
    once = Counter(map(_bare, ids))
    known = {_bare(one): one for one in ids if once[_bare(one)] == 1}
    exact = set(ids)
    return [one if one in exact else known.get(_bare(one), one) for one in texts]


def _bare(text: str) -> str:
    """Return the name of a file without its folder and its ending."""
    return _ENDING.sub("", re.split(r"[/\\]", text)[-1])


def _column(what: str, names: list[str], given: str, known: Sequence[str], option: str) -> str:
    """Return the column that is given, else the one with a known name."""
    found = [name for name in names if (name == given if given else name.lower() in known)]
    if len(found) != 1:
        legal = f"with the column {given or ' or '.join(known)}"
        raise InvalidInput(what, legal, f"columns {some(names)}", "{} names it.", option)
    return found[0]
