"""Bags and labels from files and folders of all kinds: the table of what reads which."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags import frames
from sparsetoken.bags.convert import as_bags, check_nonempty
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.named_arrays import Names, from_matlab, from_npz, from_packed
from sparsetoken.bags.names import GROUPS, LABEL, TOKENS, is_place
from sparsetoken.bags.sheets import is_sheet, sheet_of
from sparsetoken.bags.slides import ENDINGS as OF_ONE_BAG
from sparsetoken.bags.slides import Slides, files_of
from sparsetoken.bags.tables import (
    LABELS,
    Columns,
    check_present,
    chosen,
    column_name,
    from_rows,
    label_name,
    numbers_or_vectors,
    of_vectors,
)
from sparsetoken.base.files import path_of, require_regular, unreadable
from sparsetoken.base.validation import InvalidInput


def read(
    path: str | Path,
    *,
    labels: Any = "",
    label: str | int = "",
    id: str = "",
    bag: str | int = "bag",
    groups: Any = "",
    columns: Columns = None,
    dataset: str = "",
    coordinates: Any = "",
    merge_groups: bool = False,
    partial: bool = False,
) -> LabelledBags:
    """Read bags and their labels from a file, or from a folder with a file for each bag.

    Coordinates travel with the bags, as `Bags.coordinates`. Load models and data only from people
    you trust.

    Parameters
    ----------
    path : path
        - A folder of .npy, .npz, .h5 (as of CLAM, TRIDENT and STAMP), .pt or .mat files with
          tokens (L_i, d) or (1, L_i, d), and coordinates (L_i, k) where they have them; or one
          such file. The name without the ending is the id. Large ones are read into a temporary
          file; see `pack`.
        - A folder that `pack` wrote, as a memory map.
        - A table with a row for each token, a column of bag ids, and those of the embedding: .csv,
          .tsv, .parquet, .pq, .xlsx. Damage is seen by checksums, which a Parquet file has if
          it was written with ``write_page_checksum=True``.
        - WEKA's .arff with a relational attribute, or a row for each token; UCI's .data, without
          names: the bag is in the first column, the label in the last one, and texts between are
          names of instances.
        - An .npz file, or a .mat file of a classic set, with X (tokens, d), ids of bags and labels,
          or X (n, L, d) with mask if bags are padded, or cells, or an array for each bag.
    labels : path, pandas.DataFrame, str, mapping, pandas.Series, array or None
        A sheet with a row for each bag, as a frame or a path that ends in .csv, .tsv, .parquet,
        .pq or .xlsx: see Notes. Else the array or column of the labels; the default, "", is y, or
        label in a table; a file with both needs a name, and the other one is left out. None reads
        no labels; else labels as in `from_long`.
    label : str
        The column of labels of the sheet; by default label, y or labels. Without a sheet it is that
        of the data.
    id : str
        The column of ids of the sheet; by default bag, id, bag_id, slide_id, slide, filename, file
        or wsi, in letters of any size.
    bag : str
        The array or column of bag ids in the data.
    groups : str, mapping, pandas.Series, array or None
        The column of the sheet, if there is one, else the array or column of the data with groups,
        such as patients. The default, "", is ``groups``, if it is there. None reads no groups;
        else groups as in `from_long`.
    columns : list of str or int, optional
        The columns of the embedding, or the one column of a table that holds it as a list. The
        default is all columns of numbers, or the one of lists, without ids, labels,
        groups and lists of coordinates, and without a first one that has no name, as R and pandas
        write names of rows. A column with numbers in most of its cells must have them
        in all; others are texts, and left out.
    dataset : str
        The array of tokens in files with several, such as ``feats``. The default is the one that is
        named as features, embeddings or tokens are, or the only one.
    coordinates : str, list of str or None
        The array of coordinates, or their columns in a table. The default is the array, or the
        column of lists, that is named so. None reads none.
    merge_groups : bool
        Whether all bags of a group become one bag, whose id is the group.
    partial : bool
        Whether bags without a row in the sheet, and rows without a bag, are left out.

    Returns
    -------
    LabelledBags
        ``bags, y, ids``, in the order in which ids first appear; ``bags, ids`` without labels.

    Raises
    ------
    InvalidInput
        If the file is missing, damaged or of another kind, lacks an array or a column, or does not
        hold bags with one label each; if bags and rows of the sheet are not the same ones; or if a
        package that reads the file is not installed.

    See Also
    --------
    to_frame : A table from bags, to write.
    pack : Files of bags larger than memory.
    from_frame : Bags from a table.

    Notes
    -----
    A sheet is joined by ids, as texts, so that leading zeros count. An id is equal to that of a
    bag, or its name is, without folder and ending: ``slides/007.svs`` is the row of ``007.h5``. Two
    rows of a bag must agree. Cells of a .csv, .tsv or .xlsx sheet that are empty or NA, N/A, #N/A,
    NaN, nan or null have no value.

    Labels in a sheet, a .csv or a .tsv file are numbers if all are written as numbers are, without
    leading zeros; else they are texts, so that 01 and 1 are two classes. Ids and groups of such
    files are texts.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from sparsetoken.bags import read
    >>> X = [[0.1], [0.7], [0.4], [0.6]]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     np.savez(folder + "/bags.npz", X=X, bag=[5, 5, 7, 7], y=["no", "yes"])
    ...     bags, y, ids = read(folder + "/bags.npz")
    >>> bags
    Bags(2 bags of 2 tokens, d = 1, float64)
    >>> ids.tolist(), y.tolist()
    ([5, 7], ['no', 'yes'])
    """
    return loaded(
        path,
        labels=labels,
        label=label,
        id=id,
        bag=bag,
        groups=groups,
        columns=columns,
        dataset=dataset,
        coordinates=coordinates,
        merge_groups=merge_groups,
        partial=partial,
    )


def loaded(
    path: str | Path,
    *,
    labels: Any = "",
    label: str | int = "",
    id: str = "",
    groups: Any = "",
    merge_groups: bool = False,
    partial: bool = False,
    labelled: bool = True,
    empty: bool = False,
    bag: str | int = "bag",
    columns: Columns = None,
    dataset: str = "",
    coordinates: Any = "",
) -> LabelledBags:
    """Read bags as `read`.

    Labels are read only if `labelled`; bags are without a token only where `empty` allows it.
    """
    path, sheet = path_of("FILE", path), None
    bag, label, groups = (column_name(value) for value in (bag, label, groups))
    if is_sheet(labels):
        name = str(label) if labelled else None
        sheet = sheet_of(labels, id=id, label=name, groups=groups, partial=partial)
        labels = None
        if GROUPS in sheet.names or (isinstance(groups, str) and groups == ""):
            groups = None
    else:
        _refuse_without_sheet(id, partial)
        if label and isinstance(labels, str) and labels == "":
            labels = label
        labels = column_name(labels) if labelled else None
    found = _found(path, Names(labels, str(bag), groups, columns, dataset, coordinates))
    if not empty:
        check_nonempty(found.bags)
    if sheet is not None:
        kept, known = sheet.of_bags(found.ids.tolist())
        found = found.with_labels(kept, known.get(LABEL), known.get(GROUPS))
    return found.merged() if merge_groups else found


def _refuse_without_sheet(id: str, partial: bool) -> None:
    for name, given in (("id", id), ("partial", partial)):
        if given:
            legal = "left out where no sheet has the labels"
            raise InvalidInput(name, legal, given, "labels is then the path of a table.")


def _found(path: Path, names: Names) -> LabelledBags:
    ending = path.suffix.lower()
    reader: Callable[[Path, Names], LabelledBags] = from_packed
    if path.is_dir() and not (path / f"{TOKENS}.npy").is_file():
        reader = _from_slides
    elif not path.is_dir():
        if ending not in READERS:
            legal = f"a folder, or a path that ends in {', '.join(READERS)}"
            remedy = "Write arrays with numpy.savez, tables as CSV or Parquet."
            raise InvalidInput("FILE", legal, str(path), remedy)
        if not path.exists():
            raise InvalidInput("FILE", "a file that is there", str(path))
        require_regular("FILE", path)
        reader = READERS[ending]
    try:
        return reader(path, names)
    except InvalidInput:
        raise
    except (MemoryError, RuntimeError, TypeError, ValueError) as error:  # of odd values
        raise unreadable("FILE", frames.LEGAL, path, error) from None


def _from_slides(path: Path, names: Names) -> LabelledBags:
    """Return the bags of a folder with a file for each, or of one such file."""
    slides = Slides.of(files_of(path, "FILE"), names.dataset, names.coordinates)
    labels = names.labels
    if isinstance(labels, str) or (isinstance(names.groups, str) and names.groups):
        legal = "a sheet or a mapping from ids, where each file is a bag"
        got = labels or names.groups or "none"
        remedy = (
            "Give the path of a table with ids and labels: in Python labels=PATH, or labels=None "
            "to read bags alone, in a command --labels PATH."
        )
        raise InvalidInput("the labels of a folder", legal, got, remedy)
    groups = None if isinstance(names.groups, str) else names.groups
    found = LabelledBags.of(slides.read(), slides.ids, labels).with_groups(groups)
    return found if names.columns is None else found.only(chosen(names.columns, found.columns))


def _from_table(path: Path, names: Names) -> LabelledBags:
    """Return the bags of a table with a row for each token."""
    texts, labels = _texts(names), []
    if path.suffix.lower() in frames.UNTYPED:
        labels = [name for name in (*LABELS, names.labels) if isinstance(name, str)]
    frame = frames.frame_of(path, texts | dict.fromkeys(labels, str))
    for name in set(labels) & set(frame.columns) - texts.keys():
        frame[name] = frames.typed_column(frame[name])
    return _of_frame(path, frame, names)


def _texts(names: Names, bag: str = "") -> dict[str, type[str]]:
    """Return the columns that are read as texts, in which leading zeros count: ids and groups."""
    groups = [names.groups or GROUPS] if isinstance(names.groups, str) else []
    return dict.fromkeys([bag or names.bag, *groups], str)


def _of_frame(path: Path, frame: Any, names: Names) -> LabelledBags:
    labels, groups = names.labels, names.groups
    columns = [str(name) for name in frame.columns]
    if isinstance(labels, str):
        default = next((name for name in LABELS if name in columns), "label")
        labels = label_name(path, columns, labels, default)
    if isinstance(groups, str) and groups == "":
        groups = GROUPS if GROUPS in columns else None
    places = names.coordinates
    if places == "" and names.columns is None:
        places = next((n for n in columns if is_place(n) and of_vectors(frame[n])), None)
    own = (names.bag, labels, groups, names.columns)
    picked = functools.partial(numbers_or_vectors, declared=path.suffix.lower() == ".arff")
    return from_rows(f"FILE {path.name}", frame, *own, picked, places)


def _from_uci(path: Path, names: Names) -> LabelledBags:
    """Return the bags of a table without names, whose first and last columns are ids and labels."""
    bag = "0" if names.bag == "bag" else names.bag
    frame = frames.frame_of(path, _texts(names, bag))
    label, last = names.labels, str(frame.columns[-1])
    if label is None or label == "":
        label = last if label == "" else None
        frame = frame.drop(columns=last) if label is None else frame
    return _of_frame(path, frame, names._replace(bag=bag, labels=label))


def _from_arff(path: Path, names: Names) -> LabelledBags:
    """Return the bags of a relational attribute, or of a table with a row for each token.

    Beside the relation the first attribute has the ids, unless one has their name, and the last of
    the others the labels, as in WEKA.
    """
    frame = frames.frame_of(path, _texts(names))
    if not len(frame):
        raise InvalidInput(f"FILE {path.name}", "with at least one row", "none")
    held = [name for name in frame.columns if hasattr(frame[name].iloc[0], "columns")]
    if not held:
        return _of_frame(path, frame, names)
    relation, beside = held[0], [name for name in frame.columns if name not in held]
    key = names.bag if names.bag in beside else next(iter(beside[:-1]), "")
    if names.columns is not None:
        raise InvalidInput("columns", "None for a relational attribute", names.columns)
    labels, groups, source = names.labels, names.groups, "labels"
    grouped = (groups or GROUPS) if isinstance(groups, str) else ""
    if isinstance(groups, str):
        if groups:
            check_present(f"FILE {path.name}", "column", groups, beside, of_groups=True)
        groups = frame[grouped].tolist() if grouped in beside else None
    if isinstance(labels, str):
        others = [name for name in beside if name not in (key, grouped)]
        label = label_name(path, beside, labels, others[-1] if others else "class")
        check_present(f"FILE {path.name}", "column", label, beside)
        if label == key:
            raise InvalidInput("labels", "another column than that of the bag ids", label)
        labels, source = frame[label].tolist(), f"column {label}"
    bags = as_bags(list(frame[relation]), empty=True)
    ids = np.arange(len(bags))
    if key:
        ids = frame[key].to_numpy()
        whole = ids.dtype.kind == "f" and np.isfinite(ids).all() and (ids == ids.round()).all()
        ids = (ids.astype(np.int64) if whole else ids).astype(str)  # 7, not 7.0
    if len(set(ids.tolist())) < len(ids):
        raise InvalidInput(f"FILE {path.name}", "with one row for each bag", f"ids {key}")
    if isinstance(labels, list):
        labels = dict(zip(ids.tolist(), labels, strict=True))
    found = LabelledBags.of(bags, ids, labels, source, columns=bags.feature_names or ())
    return found.with_groups(groups)


READERS: dict[str, Callable[[Path, Names], LabelledBags]] = {
    **dict.fromkeys(OF_ONE_BAG, _from_slides),
    ".npz": from_npz,
    ".mat": from_matlab,
    **dict.fromkeys(frames.SHEETS, _from_table),
    ".data": _from_uci,
    ".arff": _from_arff,
}
"""What reads a file, by the ending of its name."""


def is_rows(path: Path) -> bool:
    """Whether a path is that of a table, with a row for each token or a relation for each bag."""
    return path.suffix.lower() in (*frames.SHEETS, ".data", ".arff") and not path.is_dir()
