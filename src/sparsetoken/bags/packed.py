"""Packed bags: a folder with the concatenated tokens of many files, read as a memory map.

A fit passes over the tokens about 30 times. Laid out in one array once, they are read at the
speed of the disk, or from the cache of the system, and are never in memory as a whole.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from sparsetoken.bags.container import offsets_of
from sparsetoken.bags.labelled import labels_of, some
from sparsetoken.bags.token_files import ENDINGS, TokenFile
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput

TOKENS, OFFSETS, IDS, LABEL = "tokens", "offsets", "ids", "y"
"""The arrays of a packed folder, each in an .npy file of its own; that of labels may be absent."""


def pack(
    files: str | Path | Iterable[str | Path],
    to: str | Path,
    *,
    labels: Any = None,
    dataset: str = "",
) -> Path:
    """Concatenate the tokens of many files in a folder that `read` opens as a memory map.

    Each file is a bag and its name without the ending is the id. One file is in memory at a
    time. Shapes are compared before anything is written; the folder takes its place when it is
    complete, and an error leaves nothing.

    Parameters
    ----------
    files : path or sequence of paths
        A folder, all of whose files that end in .npy, .h5, .hdf5 or .zarr are taken in the order
        of their names; or such files in the order that the bags shall have. Each holds an array of
        shape (L_i, d).
    to : path
        The folder to write, which must not be there yet. It takes as much disk as the tokens.
    labels : mapping, pandas.Series or array, optional
        From ids to labels, where a Series has ids as its index; or one for each bag, if ids are
        sorted. They are kept with the tokens.
    dataset : str, optional
        The name of the array in .h5 files and .zarr groups; the default is the only one of shape
        (L_i, d).

    Returns
    -------
    Path
        That of the folder: ``tokens.npy`` (N, d), ``offsets.npy`` (n + 1,), ``ids.npy`` (n,) and,
        with labels, ``y.npy`` (n,). Float16 becomes float32, integers float64.

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
    folder = Path(to)
    _check_place(folder)
    tokens = [TokenFile.of(path, dataset) for path in _paths(files)]
    ids, offsets = _ids(tokens), offsets_of(np.array([one.shape[0] for one in tokens]))
    shape, dtype = (int(offsets[-1]), tokens[0].shape[1]), tokens[0].dtype
    _check_alike(tokens)
    y = None if labels is None else labels_of(labels, offsets, ids, np.arange(shape[0]))
    _check_disk(folder, shape[0] * shape[1] * dtype.itemsize)
    aside = folder.resolve().parent / f".{folder.name}.{secrets.token_hex(4)}"
    try:
        aside.mkdir()
        with (aside / f"{TOKENS}.npy").open("wb") as file:
            _write_tokens(file, tokens, shape)
        arrays = {OFFSETS: offsets, IDS: ids, **({} if y is None else {LABEL: y})}
        for name, values in arrays.items():
            np.save(aside / f"{name}.npy", values, allow_pickle=False)
        aside.rename(folder)
    except OSError as error:
        raise InvalidInput("to", "a folder that can be written", str(to), str(error)) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # gone already where all went well
    return folder


def _paths(files: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return the files of a folder, or those that are listed."""
    endings = ", ".join(ENDINGS)
    if isinstance(files, str | Path) and Path(files).suffix.lower() not in ENDINGS:
        folder = Path(files)
        if not folder.is_dir():
            raise InvalidInput("files", "a folder that is there, or paths", str(files))
        inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
        paths = [path for path in inside if path.suffix.lower() in ENDINGS]
        if not paths:
            got = f"{folder} with {some([path.name for path in inside]) or 'nothing'}"
            raise InvalidInput("files", f"a folder with files that end in {endings}", got)
        return paths
    paths = [Path(files)] if isinstance(files, str | Path) else [Path(path) for path in files]
    if not paths:
        raise InvalidInput("files", "at least one path", "none")
    for path in paths:
        if path.suffix.lower() not in ENDINGS or not path.exists():
            got = f"{path}" if path.exists() else f"{path}, which is not there"
            raise InvalidInput("files", f"paths that end in {endings}", got)
    return paths


def _ids(tokens: Sequence[TokenFile]) -> np.ndarray:
    ids = np.array([one.path.stem for one in tokens])
    names, counts = np.unique(ids, return_counts=True)
    if (counts > 1).any():
        got = f"several files {names[counts.argmax()]}"
        raise InvalidInput("files", "of different names without their endings", got)
    return ids


def _check_alike(tokens: Sequence[TokenFile]) -> None:
    """Refuse files of another d or dtype than the first."""
    first = tokens[0]
    for one in tokens:
        if (one.shape[1], one.dtype) != (first.shape[1], first.dtype):
            legal = f"of d = {first.shape[1]} and {first.dtype}, as {first.path.name}"
            got = f"d = {one.shape[1]} and {one.dtype}"
            raise InvalidInput(f"FILE {one.path}", legal, got, "All bags have tokens of one kind.")


def _check_place(folder: Path) -> None:
    if folder.exists():
        raise InvalidInput("to", "a path that is not there yet", str(folder), "Name another one.")
    if not folder.resolve().parent.is_dir():
        raise InvalidInput("to", "in a folder that is there", str(folder))


def _check_disk(folder: Path, size: int) -> None:
    free = shutil.disk_usage(folder.resolve().parent).free
    if size > free:
        legal = f"on a disk with {size / 1e9:.3g} GB free, the size of the tokens"
        raise InvalidInput("to", legal, f"{free / 1e9:.3g} GB at {folder}")


def _write_tokens(file: BinaryIO, tokens: Sequence[TokenFile], shape: tuple[int, int]) -> None:
    """Write an .npy file, one bag at a time, down to the disk."""
    kind = np.lib.format.dtype_to_descr(tokens[0].dtype)
    header = {"descr": kind, "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    with progress_of("files", len(tokens)) as done:
        for one in tokens:
            one.tokens().tofile(file)
            done()
    file.flush()
    os.fsync(file.fileno())
