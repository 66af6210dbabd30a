"""Bags and labels from files and folders."""

from __future__ import annotations

import dataclasses
import glob
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.array_files import ARRAYS, LEGAL
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.labels import some
from sparsetoken.bags.npz import TOKENS, from_npz, from_packed
from sparsetoken.bags.options import LABELS, Options
from sparsetoken.bags.sheets import joined
from sparsetoken.bags.slides import Slides, files_of
from sparsetoken.bags.table_files import TABLES, UNTYPED, frame_of, typed
from sparsetoken.bags.tables import Columns, from_rows
from sparsetoken.base.files import path_of, require_regular, unreadable
from sparsetoken.base.validation import InvalidInput


class SkippedWarning(UserWarning):
    """Bags without a token, or with NaN or infinity, were left out."""


def read(
    source: str | Path | Sequence[str | Path],
    *,
    sheet: Any = None,
    labels: Any = "",
    groups: Any = "",
    id: str = "",
    bag: str | int = "",
    columns: Columns = None,
    dataset: str = "",
    coordinates: Any = "",
    merge_groups: bool = False,
    partial: bool = False,
    skip_invalid: bool = False,
    empty: bool = False,
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
    sheet : path or pandas.DataFrame, optional
        A table with a row for each bag, which is joined by ids: see Notes.
    labels : str, int, mapping, pandas.Series, array or None
        The column of labels, of the sheet if there is one, else column or array of the data; by
        default label or y, in an .npz file and a packed folder y. Or labels as in `from_long`.
        None reads none.
    groups : str, int, mapping, pandas.Series, array or None
        The same of groups, such as patients; by default groups, if it is there.
    id : str
        The column of ids of the sheet; by default bag, id, slide_id, slide, filename or FILENAME.
    bag : str or int
        The column or array of bag ids in the data, by default bag.
    columns : list of str or int, optional
        The columns of the embedding, or the one column of a table that holds it as a list. The
        default is all columns of numbers, or the one of lists, without ids, labels and groups,
        other ones named label or y, and a first one that has no name, as R and pandas write names
        of rows. A column with numbers in most of its cells must have them in all; others are
        texts, and left out.
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
    empty : bool
        Whether bags may be without a token, as `predict` takes them.

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
    options = Options(
        sheet=sheet,
        labels=labels,
        groups=groups,
        id=id,
        bag=bag,
        columns=columns,
        dataset=dataset,
        coordinates=coordinates,
        merge_groups=merge_groups,
        partial=partial,
        skip_invalid=skip_invalid,
        empty=empty,
    )
    return loaded(source, options)


def loaded(source: Any, options: Options, into: Path | None = None) -> LabelledBags:
    """Read bags as `read`.

    The tokens of files with a bag each are written to `tokens.npy` in the folder `into`, if given.
    """
    labels, sheet = options.labels, options.sheet
    if hasattr(labels, "columns") or (
        isinstance(labels, str | Path) and Path(labels).suffix.lower() in TABLES
    ):
        legal = "a name of a column, or labels by id"
        raise InvalidInput("labels", legal, labels, "sheet= takes a table with them.")
    if sheet is None and (options.id or options.partial):
        got = f"id {options.id!r} and partial {options.partial}"
        raise InvalidInput("sheet", "given where id or partial is", got)
    if not isinstance(source, list | tuple):
        source = path_of("FILE", source)
    inside = options.named()
    if sheet is not None:  # which has the columns that are named
        inside = inside._replace(labels=None, groups=inside.groups and None)
    reader = _reader_of(source)
    try:
        found = reader(source, inside)
    except InvalidInput:
        raise
    except (MemoryError, RuntimeError, TypeError, ValueError) as error:  # of odd values
        raise unreadable("FILE", LEGAL, Path(str(source)), error) from None
    if sheet is not None:
        found = joined(found, options)
    found = found.with_labels(*options.given())
    if reader is not from_packed:  # whose tokens were checked once
        found = _valid(found, options)
    found = found.by_group() if options.merge_groups else found
    if isinstance(found.bags, Slides):
        found = dataclasses.replace(found, bags=found.bags.read(into))
    return found.merged() if options.merge_groups else found


def _reader_of(source: Any) -> Callable[[Any, Options], LabelledBags]:
    """Return what reads a source."""
    if isinstance(source, list | tuple):
        return _from_slides
    if source.is_dir():
        return from_packed if (source / f"{TOKENS}.npy").is_file() else _from_slides
    if not source.exists() and glob.has_magic(str(source)):
        return _from_slides
    if not source.exists():
        raise InvalidInput("FILE", "a file or a folder that is there", str(source))
    ending = source.suffix.lower()
    if ending not in (*TABLES, *ARRAYS):
        legal = f"a folder, or a path that ends in {', '.join((*TABLES, *ARRAYS))}"
        remedy = "Write arrays with numpy.savez, tables as CSV or Parquet."
        raise InvalidInput("FILE", legal, str(source), remedy)
    require_regular("FILE", source)
    if ending in TABLES:
        return _from_table
    return from_npz if ending == ".npz" else _from_slides


def _valid(found: LabelledBags, options: Options) -> LabelledBags:
    """Leave out bags without a token, or with NaN or infinity, or raise `InvalidInput`.

    Files with a bag each are read for it only to leave some out: else what is not finite is met
    later, when they are.
    """
    bags, ids = found.bags, found.ids
    bad, skip = (bags.sizes == 0) & (not options.empty), options.skip_invalid
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
        remedy = "skip_invalid=True leaves such out."
        raise InvalidInput("FILE", legal, told + some(skipped), remedy)
    warnings.warn(f"Left out {told}{some(skipped)}.", SkippedWarning, stacklevel=4)
    return dataclasses.replace(found.take(np.flatnonzero(~bad).tolist()), skipped=skipped)


def _from_slides(source: Any, options: Options) -> LabelledBags:
    """Return the bags of files with one each, whose tokens are not read yet."""
    if options.labels is not None or options.groups:
        legal = "in a sheet or a mapping from ids, where each file is a bag"
        remedy = "sheet= takes a table with ids and labels."
        raise InvalidInput("labels and groups", legal, "no sheet", remedy)
    options.leave_out("where each file is a bag", "bag", "columns")
    if isinstance(options.coordinates, list):
        got = ", ".join(map(str, options.coordinates))
        raise InvalidInput("coordinates", "one array where each file is a bag", got)
    paths, ids = files_of(source)
    slides: Any = Slides.of(paths, options.dataset, options.coordinates)
    return LabelledBags(slides, np.empty(0), ids)


def _from_table(path: Path, options: Options) -> LabelledBags:
    """Return the bags of a table with a row for each token."""
    options.leave_out("for a table", "dataset")
    texts = {str(options.bag or "bag"), str(options.groups or "groups")}
    labels = {str(options.labels)} if options.labels else {*LABELS}
    untyped = path.suffix.lower() in UNTYPED
    frame = frame_of(path, texts | (labels if untyped else set()))
    for name in labels.intersection(frame.columns) - texts if untyped else ():
        frame[name] = typed(frame[name].to_list())
    return from_rows(f"FILE {path.name}", frame, options)
