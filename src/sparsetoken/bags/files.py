"""Bags and labels from files and folders."""

from __future__ import annotations

import dataclasses
import glob
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.array_files import ARRAYS, COORDINATES, LEGAL
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.labels import labels_of, some
from sparsetoken.bags.npz import TOKENS, Names, from_npz, from_packed
from sparsetoken.bags.sheets import LABELS, is_sheet, joined
from sparsetoken.bags.slides import Slides, files_of
from sparsetoken.bags.table_files import TABLES, UNTYPED, frame_of, typed
from sparsetoken.bags.tables import (
    Columns,
    column_name,
    from_rows,
    numbers_or_vectors,
    of_vectors,
)
from sparsetoken.base.files import path_of, require_regular, unreadable
from sparsetoken.base.validation import InvalidInput


class SkippedWarning(UserWarning):
    """Bags without a token, or with NaN or infinity, were left out."""


def read(
    source: str | Path | Sequence[str | Path],
    *,
    labels: Any = "",
    label: str | int = "",
    id: str = "",
    bag: str | int = "",
    groups: Any = "",
    columns: Columns = None,
    dataset: str = "",
    coordinates: Any = "",
    merge_groups: bool = False,
    partial: bool = False,
    skip_invalid: bool = False,
) -> LabelledBags:
    """Read bags and their labels from a file, or from a folder with a file for each bag.

    Coordinates travel with the bags, as `Bags.coordinates`. Load models and data only from people
    you trust.

    Parameters
    ----------
    source : path, or list of paths
        - A folder of .h5, .pt, .npy or .npz files with a bag each, also in folders of its own, such
          as one for each patient; a pattern such as ``"slides/**/*.h5"``; or a list of files. The
          path below the folder that all are in is the id, without the ending: ``P7/scan1``. A file
          has tokens (L_i, d) or (1, L_i, d) in an array named features or feats, as files of CLAM,
          TRIDENT and STAMP, or alone, and coordinates (L_i, k) in coords or coordinates, if any.
          Large ones are read into a temporary file; see `pack`.
        - A folder that `pack` wrote, as a memory map.
        - A table with a row for each token, a column of bag ids, and those of the embedding: .csv,
          .tsv, .parquet, .xlsx; a .csv may have semicolons, with decimal commas or points.
        - An .npz file with X (tokens, d), y, and ids of bags in bag or bounds in offsets; or with
          X (n, L, d), y, and mask (n, L) if bags are padded; also groups and coordinates, if any.
    labels : path, pandas.DataFrame, mapping, pandas.Series, array or None
        A sheet with a row for each bag, as a frame or the path of a table: see Notes. Or labels as
        in `from_long`. The default, "", is those in the data; None reads none.
    label : str
        The column of labels, of the sheet if there is one, else column or array of the data. The
        default is label or y, in an .npz file and a packed folder y.
    id : str
        The column of ids of the sheet; by default bag, id, slide_id, slide or filename, in letters
        of any size.
    bag : str
        The column or array of bag ids in the data, by default bag.
    groups : str, mapping, pandas.Series, array or None
        The column of the sheet, if there is one, else the column or array of the data with groups,
        such as patients. The default, "", is groups, if it is there. None reads no groups;
        else groups as in `from_long`.
    columns : list of str or int, optional
        The columns of the embedding, or the one column of a table that holds it as a list. The
        default is all columns of numbers, or the one of lists, without ids, labels and groups, and
        without a first one that has no name, as R and pandas write names of rows. A column with
        numbers in most of its cells must have them in all; others are texts, and left out.
    dataset : str
        The array of tokens, where it has another name.
    coordinates : str, list of str or None
        The array of coordinates, where it has another name, or their columns in a table; there the
        default is the column of lists that is named so. None reads none.
    merge_groups : bool
        Whether all bags of a group become one bag, whose id is the group.
    partial : bool
        Whether bags without a row in the sheet, and rows without a bag, are left out.
    skip_invalid : bool
        Whether bags without a token, or with NaN or infinity, are left out, with a warning, and
        named in `LabelledBags.skipped`.

    Returns
    -------
    LabelledBags
        ``bags, y, ids``, in the order in which ids first appear; ``bags, ids`` without labels.

    Warns
    -----
    SkippedWarning
        Of bags that are left out by `skip_invalid`.

    Raises
    ------
    InvalidInput
        If the file is missing, damaged or of another kind, lacks an array or a column, or does not
        hold bags with one label each; if bags and rows of the sheet are not the same ones; if a bag
        is without a token, or has NaN or infinity; or if a package that reads the file is not
        installed.

    See Also
    --------
    to_frame : A table from bags, to write.
    pack : Files of bags larger than memory.
    from_frame : Bags from a table.

    Notes
    -----
    Ids are texts: 7 is "7", and two ids that are one text are refused. A sheet is joined by ids, so
    that leading zeros count. An id is equal to that of a bag, or the name is, without folder and
    ending: ``slides/007.svs`` is the row of ``007.h5``. Two rows of a bag must agree. Cells of a
    sheet that are empty or NA, N/A, #N/A, NaN, nan or null have no value.

    Labels in a sheet, a .csv or a .tsv file are numbers or truth values if all are written as these
    are, without leading zeros; else they are texts, so that 01 and 1 are two classes. Groups of
    such files are texts.

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
    (['5', '7'], ['no', 'yes'])
    """
    return loaded(
        source,
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
        skip_invalid=skip_invalid,
    )


def loaded(
    source: Any,
    *,
    labels: Any = "",
    label: str | int = "",
    id: str = "",
    bag: str | int = "",
    groups: Any = "",
    columns: Columns = None,
    dataset: str = "",
    coordinates: Any = "",
    merge_groups: bool = False,
    partial: bool = False,
    skip_invalid: bool = False,
    labelled: bool = True,
    empty: bool = False,
    into: Path | None = None,
) -> LabelledBags:
    """Read bags as `read`.

    Labels are read only if `labelled`; bags are without a token only where `empty` allows it. The
    tokens of files with a bag each are written to `tokens.npy` in the folder `into`, if given.
    """
    sheet = labels if is_sheet(labels) else None
    if sheet is None and (id or partial):
        got = f"id {id!r} and partial {partial}"
        raise InvalidInput("labels", "a sheet where id or partial is given", got)
    if not isinstance(source, list | tuple):
        source = path_of("FILE", source)
    own = Names(
        bag=str(bag),
        label=str(label) if labelled and sheet is None and isinstance(labels, str) else None,
        groups=column_name(groups) if isinstance(groups, str | int) else None,
        columns=columns,
        dataset=dataset,
        coordinates=coordinates,
    )
    if sheet is not None and own.groups:  # it is then a column of the sheet
        own = own._replace(groups=None)
    reader = _reader_of(source)
    try:
        found = reader(source, own)
    except InvalidInput:
        raise
    except (MemoryError, RuntimeError, TypeError, ValueError) as error:  # of odd values
        raise unreadable("FILE", LEGAL, Path(str(source)), error) from None
    found = _with(found, labels if labelled and sheet is None else "", groups)
    if sheet is not None:
        values: Any
        kept, values = joined(
            sheet,
            found.ids.tolist(),
            id=id,
            label=str(label) if labelled else None,
            groups=groups if isinstance(groups, str) else None,
            partial=partial,
        )
        found = dataclasses.replace(found.take(kept), **values)
    if reader is not from_packed:  # whose tokens were checked once
        found = _valid(found, skip_invalid, empty)
    found = found.by_group() if merge_groups else found
    if isinstance(found.bags, Slides):
        bags = found.bags.read(into)
        numbers = [str(k) for k in range(bags.dimension)]
        found = dataclasses.replace(found, bags=bags, columns=numbers)
    return found.merged() if merge_groups else found


def _reader_of(source: Any) -> Callable[[Any, Names], LabelledBags]:
    """Return what reads a source."""
    if isinstance(source, list | tuple):
        return _from_slides
    if source.is_dir():
        return from_packed if (source / f"{TOKENS}.npy").is_file() else _from_slides
    if not source.exists() and glob.has_magic(str(source)):
        return _from_slides
    ending = source.suffix.lower()
    if ending not in READERS:
        legal = f"a folder, or a path that ends in {', '.join(READERS)}"
        remedy = "Write arrays with numpy.savez, tables as CSV or Parquet."
        raise InvalidInput("FILE", legal, str(source), remedy)
    if not source.exists():
        raise InvalidInput("FILE", "a file that is there", str(source))
    require_regular("FILE", source)
    return READERS[ending]


def _with(found: LabelledBags, labels: Any, groups: Any) -> LabelledBags:
    """Give bags labels and groups that are no texts, as of `from_long`."""
    ordered = found.rows is None or bool((found.ids[1:] > found.ids[:-1]).all())
    for name, field, given in (("labels", "y", labels), ("groups", "groups", groups)):
        if given is not None and not isinstance(given, str | int):
            where = (found.bags.offsets, found.ids, found.rows)
            known: Any = {field: labels_of(given, *where, name, ordered)}
            found = dataclasses.replace(found, **known)
    return found


def _valid(found: LabelledBags, skip: bool, empty: bool) -> LabelledBags:
    """Leave out bags without a token, or with NaN or infinity, or raise `InvalidInput`.

    Files with a bag each are read for it only to leave some out: else what is not finite is met
    later, when they are.
    """
    bags, ids = found.bags, found.ids
    bad = np.zeros(len(ids), bool) if empty else bags.sizes == 0
    if isinstance(bags, Slides):
        bad |= ~bags.finite if skip else False
    elif not np.isfinite(bags.extremes).all():
        bad |= [not np.isfinite(bag).all() for bag in bags]
    if not bad.any():
        return found
    skipped = ids[bad].tolist()
    told = f"{len(skipped)} of {len(ids)} bags without a token, or with NaN or infinity: "
    if not skip or bad.all():
        legal = "of bags of finite tokens, one or more in each"
        remedy = "{} leaves such out."
        raise InvalidInput("FILE", legal, told + some(skipped), remedy, "skip_invalid=True")
    warnings.warn(f"Left out {told}{some(skipped)}.", SkippedWarning, stacklevel=4)
    return dataclasses.replace(found.take(np.flatnonzero(~bad).tolist()), skipped=skipped)


def _from_slides(source: Any, names: Names) -> LabelledBags:
    """Return the bags of files with one each, whose tokens are not read yet."""
    if names.label is not None or names.groups:
        legal = "a sheet or a mapping from ids, where each file is a bag"
        remedy = "Give {} the path of a table with ids and labels; None reads bags alone."
        raise InvalidInput("labels and groups", legal, "no sheet", remedy, "labels=")
    if names.columns is not None:
        raise InvalidInput("columns", "None where each file is a bag", names.columns)
    paths, ids = files_of(source)
    slides: Any = Slides.of(paths, names.dataset, names.coordinates)
    return LabelledBags(slides, np.empty(0), ids, [])


def _from_table(path: Path, names: Names) -> LabelledBags:
    """Return the bags of a table with a row for each token."""
    bag, groups = names.bag or "bag", names.groups
    label = names.label
    texts = {bag, groups or "groups"}
    labels = {label} if label else set(LABELS)
    untyped = path.suffix.lower() in UNTYPED
    frame = frame_of(path, texts | (labels if untyped else set()))
    columns = [str(name) for name in frame.columns]
    for name in labels.intersection(columns) - texts if untyped else ():
        frame[name] = typed(frame[name].to_list())
    if label == "":
        here = [name for name in LABELS if name in columns]
        if len(here) != 1:
            legal, got = f"with a column {' or '.join(LABELS)}", f"columns {some(columns)}"
            raise InvalidInput(f"FILE {path.name}", legal, got, "{} names another.", "label=")
        label = here[0]
    if groups == "":
        groups = "groups" if "groups" in columns else None
    places = names.coordinates
    if places == "":
        lists = [name for name in COORDINATES if name in columns and of_vectors(frame[name])]
        places = lists[:1] or None
    what, of_tokens = f"FILE {path.name}", (names.columns, numbers_or_vectors, places)
    return from_rows(what, frame, bag, label, groups, *of_tokens)


READERS: dict[str, Callable[[Any, Names], LabelledBags]] = {
    **dict.fromkeys(TABLES, _from_table),
    **dict.fromkeys(ARRAYS, _from_slides),
    ".npz": from_npz,
}
"""What reads a file, by the ending of its name."""
