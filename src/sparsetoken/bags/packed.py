"""Packed bags: a folder with the concatenated tokens of many files, read as a memory map.

A fit passes over the tokens about 30 times. Laid out in one array once, they are read at the
speed of the disk, or from the cache of the system, and are never in memory as a whole.
"""

from __future__ import annotations

import io
import secrets
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.files import is_rows, loaded
from sparsetoken.bags.labelled import LabelledBags
from sparsetoken.bags.labels import labels_of
from sparsetoken.bags.names import COLUMNS, COORDINATES, GROUPS, IDS, LABEL, OFFSETS, TOKENS
from sparsetoken.bags.sheets import is_sheet, sheet_of
from sparsetoken.bags.slides import Slides, files_of
from sparsetoken.bags.tables import Columns
from sparsetoken.base.files import path_of, write_file
from sparsetoken.base.validation import InvalidInput


def pack(
    files: str | Path | Iterable[str | Path],
    to: str | Path,
    *,
    labels: Any = "",
    label: str = "",
    id: str = "",
    bag: str = "bag",
    groups: Any = "",
    columns: Columns = None,
    dataset: str = "",
    coordinates: Any = "",
    partial: bool = False,
) -> Path:
    """Concatenate the tokens of many files in a folder that `read` opens as a memory map.

    Each file is a bag and its name without the ending is the id. One file is in memory at a
    time. Shapes are compared before anything is written; the folder takes its place when it is
    complete, and an error leaves nothing. A table with a row for each token is read as by `read`,
    which has it in memory. Load models and data only from people you trust.

    Parameters
    ----------
    files : path or sequence of paths
        A folder, all of whose files that end in .npy, .npz, .h5, .hdf5, .pt or .mat are
        taken in the order of their names; or such files in the order that the bags shall have. Each
        holds an array of shape (L_i, d) or (1, L_i, d). Or a table: .csv, .tsv, .parquet, .pq,
        .xlsx, .arff or .data. One .npz or .mat file, which may hold many bags, is refused; a list
        of it is one bag.
    to : path
        The folder to write, which must not be there yet. It takes as much disk as the tokens.
    labels : path, pandas.DataFrame, mapping, pandas.Series or array, optional
        A sheet with a row for each file, as in `read`; else from ids to labels, where a Series has
        ids as its index; or one for each bag, if ids are sorted. They are kept with the tokens.
        The default, "", is none, and in a table the column label or y. None keeps none.
    label, id : str, optional
        The columns of labels and of ids in the sheet, as in `read`.
    bag, columns : str, list of str or int
        Of a table, the columns of the bag ids and of the tokens, as in `read`.
    groups : str, mapping, pandas.Series or array, optional
        Of which patient, author or place each bag is: a column of the sheet, or in the forms of
        labels; also kept.
    dataset : str, optional
        The name of the array of tokens in files that hold several. The default is the one of this
        shape that is named as features, embeddings or tokens are, or else the only one, where no
        array of pictures stands beside it. It is never one of coordinates. In an .h5 file it is
        looked for in the file and in its groups.
    coordinates : str or None, optional
        The name of the array of coordinates, of shape (L_i, k) with k <= 4. The default is the one
        of this shape that is named so, if any; None keeps none. Of a table as in `read`.
    partial : bool
        Whether files without a row in the sheet, and rows without a file, are left out.

    Returns
    -------
    Path
        That of the folder: ``tokens.npy`` (N, d), ``offsets.npy`` (n + 1,), ``ids.npy`` (n,) and,
        with labels, groups, coordinates and named columns, ``y.npy`` (n,), ``groups.npy`` (n,),
        ``coordinates.npy`` (N, k) and ``columns.npy`` (d,). Float16 becomes float32,
        integers float64.

    Raises
    ------
    InvalidInput
        If there is no file, one holds no such array or one of another d or dtype, a value is NaN
        or infinite, a bag has no label, the folder is there already, the disk is too small, or a
        package that reads the files is not installed.

    See Also
    --------
    read : Bags from a file.

    Examples
    --------
    >>> import numpy as np, tempfile
    >>> from pathlib import Path
    >>> from sparsetoken.bags import pack, read
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name, size in (("tumour_1", 3), ("normal_1", 2)):
    ...         np.save(Path(folder) / f"{name}.npy", np.ones((size, 4), np.float32))
    ...     packed = pack(folder, folder + ".bags", labels={"tumour_1": 1, "normal_1": 0})
    >>> bags, y, ids = read(packed)
    >>> bags, y.tolist(), ids.tolist()
    (Bags(2 bags of 2 to 3 tokens, d = 4, float32), [0, 1], ['normal_1', 'tumour_1'])
    >>> import shutil
    >>> shutil.rmtree(packed)
    """
    folder = path_of("to", to)
    if folder.exists():
        raise InvalidInput("to", "a path that is not there yet", str(folder), "Name another one.")
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise InvalidInput("to", "in a folder that is there", str(folder))
    if isinstance(files, str | Path) and is_rows(Path(files)):
        names = {"label": label, "id": id, "bag": bag, "groups": groups}
        more = {"columns": columns, "dataset": dataset, "coordinates": coordinates}
        found = loaded(files, labels=labels, partial=partial, **names, **more)
        return _written(
            folder, found.bags.dtype, _held(found), [found.bags.tokens], found.bags.dimension
        )
    if isinstance(files, str | Path) and Path(files).suffix.lower() in (".npz", ".mat"):
        legal = "a folder or a list of files, one a bag, or a table"  # these may hold many bags
        remedy = "`read` and the commands take it as it is; a list of it is one bag."
        raise InvalidInput("files", legal, str(files), remedy)
    if columns is not None:
        raise InvalidInput("columns", "left out where each file is a bag", columns)
    paths = files_of(files)
    known: dict[str, np.ndarray] = {}
    if is_sheet(labels):
        sheet = sheet_of(labels, id=id, label=label, groups=groups, partial=partial)
        kept, known = sheet.of_bags([path.stem for path in paths])
        paths = [paths[place] for place in kept]
    else:
        for name, given in (("label", label), ("id", id), ("partial", partial)):
            if given:
                legal, remedy = "left out where no sheet has the labels", "labels is then its path."
                raise InvalidInput(name, legal, given, remedy)
    slides = Slides.of(paths, dataset, coordinates)
    ids, offsets = slides.ids, slides.offsets
    rows = np.arange(offsets[-1])
    for array, values, name in ((LABEL, labels, "labels"), (GROUPS, groups, "groups")):
        given = values is not None and not (isinstance(values, str) and values == "")
        if given and array not in known:
            known[array] = labels_of(values, offsets, ids, rows, name)
    arrays = {OFFSETS: offsets, IDS: ids, **known}
    if slides.axes:
        arrays[COORDINATES] = np.empty((len(rows), slides.axes))

    def each() -> Iterator[np.ndarray]:
        for start, (tokens, where) in zip(offsets.tolist(), slides.each(), strict=False):
            if slides.axes:
                arrays[COORDINATES][start : start + len(where)] = where
            yield tokens

    return _written(folder, slides.dtype, arrays, each(), slides.dimension)


def _held(found: LabelledBags) -> dict[str, np.ndarray]:
    """Return what a folder keeps of labelled bags beside the tokens."""
    bags = found.bags
    names = None if bags.feature_names is None else np.array(bags.feature_names)
    every = {
        OFFSETS: bags.offsets,
        IDS: found.ids,
        LABEL: found.y if len(found.y) else None,
        GROUPS: found.groups,
        COORDINATES: bags.coordinates,
        COLUMNS: names,
    }
    return {name: one for name, one in every.items() if one is not None}


def _written(
    folder: Path,
    dtype: np.dtype,
    arrays: dict[str, np.ndarray],
    parts: Iterable[np.ndarray],
    d: int,
) -> Path:
    """Write parts of the tokens one by one, then the other arrays; they may change until then."""
    parent, N = folder.resolve().parent, int(arrays[OFFSETS][-1])
    size, free = N * d * dtype.itemsize, shutil.disk_usage(parent).free
    if size > free:
        legal = f"on a disk with {size / 1e9:.3g} GB free, the size of the tokens"
        raise InvalidInput("to", legal, f"{free / 1e9:.3g} GB at {folder}")
    aside = parent / f".{folder.name}.{secrets.token_hex(4)}"
    try:
        aside.mkdir()
        write_file(aside / f"{TOKENS}.npy", _npy(dtype, (N, d), parts))
        for name, values in arrays.items():
            write_file(aside / f"{name}.npy", _npy(values.dtype, values.shape, [values]))
        aside.rename(folder)
    except OSError as error:
        remedy = f"{error.strerror or error}: nothing was written."
        raise InvalidInput("to", "a folder that can be written", str(folder), remedy) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # gone already where all went well
    return folder


def _npy(
    dtype: np.dtype, shape: tuple[int, ...], parts: Iterable[np.ndarray]
) -> Iterator[bytes | memoryview]:
    """Yield a .npy file of an array that is given in parts: `np.save` would not tell all errors."""
    kind, header = np.lib.format.dtype_to_descr(dtype), io.BytesIO()
    words = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(header, words)
    yield header.getvalue()
    for part in parts:
        yield np.ascontiguousarray(part).reshape(-1).view(np.uint8).data
