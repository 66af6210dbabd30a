"""Sheets of labels: tables with a row for each bag, joined to the bags by their ids."""

from __future__ import annotations

import dataclasses
import re
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.labels import id_texts, read_labels, some
from sparsetoken.bags.options import Options, require_different
from sparsetoken.bags.table_files import TABLES, frame_of, typed
from sparsetoken.base.files import path_of
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput

IDS = ("bag", "id", "slide_id", "slide", "filename", "FILENAME")
"""Names that the column of ids has by default, one of which must be there."""

_MISSING = ("", "NA", "N/A", "#N/A", "NaN", "nan", "null")  # "None" may be a grade
_ENDING = re.compile(r"\.[A-Za-z][A-Za-z0-9]{1,5}$")  # of a file: parts of ids are longer


def joined(found: LabelledBags, options: Options) -> LabelledBags:
    """Return the bags that have a row in the sheet, with its labels and groups.

    A row is of the bag of its id, else of the one of this name of a file, without folder and
    ending, if there is one alone.

    Raises
    ------
    InvalidInput
        If a bag has no row or a row no bag, unless `partial`, or two rows of a bag differ.
    """
    pandas = needed("pandas", "to read sheets of labels", "data")
    what, frame = "the sheet", options.sheet
    if hasattr(frame, "to_pandas"):  # of polars and pyarrow
        frame = frame.to_pandas()
    elif not hasattr(frame, "columns"):
        path = path_of("sheet", frame)
        what = f"the sheet {path.name}"
        if path.suffix.lower() not in TABLES or not path.is_file():
            legal = f"a file that is there and ends in {', '.join(TABLES)}"
            raise InvalidInput(what, legal, str(path))
        frame = frame_of(path)
    names = [str(name) for name in frame.columns]
    require_different(what, names)
    ids = found.ids.tolist()
    key, label, groups = options.columns_of(what, names, options.id, IDS, "id=")
    asked = {"y": label, "groups": groups}
    columns = {one: name for one, name in asked.items() if name is not None}
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
        raise InvalidInput(what, "one with a row for each bag", told) from None
    lacking = both["id"][both["_merge"] == "left_only"].tolist()
    extra = sorted(set(rows["id"]) - set(ids))
    kept = np.flatnonzero(both["_merge"] == "both").tolist()
    if not kept or (not options.partial and (lacking or extra)):
        got = [
            f"{len(few)} of {len(all_of)} {kind}: {some(few)}"
            for few, all_of, kind in (
                (lacking, ids, "bags without a row or value"),
                (extra, rows, "rows without a bag"),
            )
            if few
        ]
        remedy = f"Ids are texts of the column {key}, and id= names another; "
        remedy += "partial=True leaves such out."
        legal = "one with a row for each bag and no other"
        raise InvalidInput(what, legal, "; ".join(got), remedy)
    read: Any = {}
    for one, name in columns.items():
        values = both[one].iloc[kept].tolist()  # groups stay as written
        read[one] = read_labels(typed(values) if one == "y" else values, name)
    return dataclasses.replace(found.take(kept), **read)


def _of_bags(texts: list[str], ids: Sequence[str]) -> list[str]:
    """Return the ids of the bags that texts of a sheet are of, as they are where there is none."""
    once = Counter(map(_bare, ids))
    known = {_bare(one): one for one in ids if once[_bare(one)] == 1}
    exact = set(ids)
    return [one if one in exact else known.get(_bare(one), one) for one in texts]


def _bare(text: str) -> str:
    """Return the name of a file without its folder and its ending."""
    return _ENDING.sub("", re.split(r"[/\\]", text)[-1])
