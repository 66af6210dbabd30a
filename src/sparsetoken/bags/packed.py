"""Packed bags: a folder with the concatenated tokens of many files, read as a memory map.

A fit passes over the tokens about 30 times. Laid out in one array once, they are read at the
speed of the disk, or from the cache of the system, and are never in memory as a whole.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.container import Bags, offsets_of
from sparsetoken.bags.convert import as_floats, check_finite
from sparsetoken.bags.labelled import labels_of, some
from sparsetoken.bags.names import is_of_tokens, is_place
from sparsetoken.base.files import refused, require_regular
from sparsetoken.base.machine import needed
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput

ENDINGS = (".npy", ".h5", ".hdf5", ".zarr")

MOST_AXES = 4  # coordinates of a corner, or of a box
_LEGAL = "of an array that can be read"

TOKENS, OFFSETS, IDS, LABEL, GROUPS = "tokens", "offsets", "ids", "y", "groups"
"""The arrays of a packed folder, each in an .npy file of its own; the last two may be absent."""


def pack(
    files: str | Path | Iterable[str | Path],
    to: str | Path,
    *,
    labels: Any = None,
    groups: Any = None,
    dataset: str = "",
) -> Path:
    """Concatenate the tokens of many files in a folder that `read` opens as a memory map.

    Each file is a bag and its name without the ending is the id. One file is in memory at a
    time. Shapes are compared before anything is written; the folder takes its place when it is
    complete, and an error leaves nothing. Load models and data only from people you trust.

    Parameters
    ----------
    files : path or sequence of paths
        A folder, all of whose files that end in .npy, .h5, .hdf5 or .zarr are taken in the order
        of their names; or such files in the order that the bags shall have. Each holds an array of
        shape (L_i, d) or (1, L_i, d).
    to : path
        The folder to write, which must not be there yet. It takes as much disk as the tokens.
    labels : mapping, pandas.Series or array, optional
        From ids to labels, where a Series has ids as its index; or one for each bag, if ids are
        sorted. They are kept with the tokens.
    groups : mapping, pandas.Series or array, optional
        Of which patient, author or place each bag is, in the forms of labels; also kept.
    dataset : str, optional
        The name of the array in .h5 files and .zarr groups. The default is the one of this shape
        that is named as features, embeddings or tokens are, or else the only one, where no array of
        pictures stands beside it. It is never one of coordinates. In an .h5 file it is looked for
        in the file and in its groups.

    Returns
    -------
    Path
        That of the folder: ``tokens.npy`` (N, d), ``offsets.npy`` (n + 1,), ``ids.npy`` (n,) and,
        with labels and groups, ``y.npy`` (n,) and ``groups.npy`` (n,). Float16
        becomes float32, integers float64.

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
    if folder.exists():
        raise InvalidInput("to", "a path that is not there yet", str(folder), "Name another one.")
    parent = folder.resolve().parent
    if not parent.is_dir():
        raise InvalidInput("to", "in a folder that is there", str(folder))
    paths = _paths(files)
    sizes, d, dtype = _layout(paths, dataset)
    ids, offsets = np.array([path.stem for path in paths]), offsets_of(np.array(sizes))
    N = int(offsets[-1])
    named = ((LABEL, labels, "labels"), (GROUPS, groups, "groups"))
    known = {
        file: labels_of(values, offsets, ids, np.arange(N), name)
        for file, values, name in named
        if values is not None
    }
    size, free = N * d * dtype.itemsize, shutil.disk_usage(parent).free
    if size > free:
        legal = f"on a disk with {size / 1e9:.3g} GB free, the size of the tokens"
        raise InvalidInput("to", legal, f"{free / 1e9:.3g} GB at {folder}")
    aside = parent / f".{folder.name}.{secrets.token_hex(4)}"
    try:
        aside.mkdir()
        with (aside / f"{TOKENS}.npy").open("wb") as file, progress_of("files", len(paths)) as done:
            kind = np.lib.format.dtype_to_descr(dtype)
            header = {"descr": kind, "fortran_order": False, "shape": (N, d)}
            np.lib.format.write_array_header_1_0(file, header)
            for path, L in zip(paths, sizes, strict=True):
                _tokens(path, dataset, (L, d), dtype).tofile(file)
                done()
            file.flush()
            os.fsync(file.fileno())
        arrays = {OFFSETS: offsets, IDS: ids, **known}
        for name, values in arrays.items():
            np.save(aside / f"{name}.npy", values, allow_pickle=False)
        aside.rename(folder)
    except OSError as error:
        raise InvalidInput("to", "a folder that can be written", str(to), str(error)) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)  # gone already where all went well
    return folder


def _paths(files: str | Path | Iterable[str | Path]) -> list[Path]:
    """Return the files of a folder, or those that are listed, of different names."""
    endings = ", ".join(ENDINGS)
    listed: Any = files
    if isinstance(files, str | Path):
        folder, listed = Path(files), [files]
        if folder.suffix.lower() not in ENDINGS:
            if not folder.is_dir():
                raise InvalidInput("files", "a folder that is there, or paths", str(files))
            inside = sorted(path for path in folder.iterdir() if not path.name.startswith("."))
            listed = [path for path in inside if path.suffix.lower() in ENDINGS]
            if not listed:
                got = f"{folder} with {some([path.name for path in inside]) or 'nothing'}"
                raise InvalidInput("files", f"a folder with files that end in {endings}", got)
    paths = [Path(path) for path in listed]
    if not paths:
        raise InvalidInput("files", "at least one path", "none")
    for path in paths:
        if path.suffix.lower() not in ENDINGS or not path.exists():
            got = f"{path}" if path.exists() else f"{path}, which is not there"
            raise InvalidInput("files", f"paths that end in {endings}", got)
    name, count = Counter(path.stem for path in paths).most_common(1)[0]
    if count > 1:
        got = f"several files {name}"
        raise InvalidInput("files", "of different names without their endings", got)
    return paths


def _layout(paths: Sequence[Path], dataset: str) -> tuple[list[int], int, np.dtype]:
    """Return how many tokens each file has, and their d and dtype, in which all are alike."""
    sizes, kinds = [], []
    for path in paths:
        with _token_array(path, dataset) as array:
            L, d = array.shape[-2:]
            kinds.append((d, as_floats(np.empty(0, array.dtype)).dtype))
        if kinds[-1] != kinds[0]:
            legal = "of d = {} and {}".format(*kinds[0]) + f", as {paths[0].name}"
            got = "d = {} and {}".format(*kinds[-1])
            raise InvalidInput(f"FILE {path}", legal, got, "All bags have tokens of one kind.")
        sizes.append(L)
    return sizes, *kinds[0]


def _tokens(path: Path, dataset: str, shape: tuple[int, int], dtype: np.dtype) -> np.ndarray:
    """Read the tokens of one file, which are finite and of the shape that it had before."""
    with _token_array(path, dataset) as array:
        tokens = as_floats(array[...]).reshape(array.shape[-2:])
    if (tokens.shape, tokens.dtype) != (shape, dtype):
        got = f"{tokens.dtype} of shape {tokens.shape}"
        raise InvalidInput(f"FILE {path}", f"as it was before: {dtype} of shape {shape}", got)
    check_finite(Bags(tokens, np.array([0, len(tokens)])), file=path)
    return tokens


@contextlib.contextmanager
def _token_array(path: Path, dataset: str = "") -> Iterator[Any]:
    """Open the array of tokens of a file, which is read where it is sliced.

    Parameters
    ----------
    path : Path
    dataset : str
        The array in an .h5 file or a .zarr group; "" for the only one.

    Raises
    ------
    InvalidInput
        If the file holds no array of real numbers of shape (L, d), or several, or cannot be read.
    """
    # A damaged part is met where it is read, so that the reading stands inside, too.
    with contextlib.ExitStack() as stack, refused("FILE", _LEGAL, path):
        array = _array(path, dataset, stack)
        if not _of_tokens(array):
            legal = "with real numbers of shape (L, d) or (1, L, d)"
            raise InvalidInput(f"FILE {path}", legal, f"{array.dtype} of shape {array.shape}")
        if not min(array.shape):
            legal, got = "of at least one token of d >= 1", f"shape {array.shape}"
            raise InvalidInput(f"FILE {path}", legal, got, "Leave slides without a token out.")
        yield array


def _array(path: Path, dataset: str, stack: contextlib.ExitStack) -> Any:
    if path.suffix.lower() == ".zarr":
        zarr = needed("zarr", "to read .zarr arrays", "data")
        root = zarr.open(path, mode="r")
        if isinstance(root, zarr.Array):
            return root
        members = root.members(max_depth=None)
        arrays = {name: one for name, one in members if isinstance(one, zarr.Array)}
        return _member(path, dataset, arrays)
    require_regular("FILE", path)
    if path.suffix.lower() == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    h5py = needed("h5py", "to read .h5 files", "data")
    file = stack.enter_context(h5py.File(path, "r"))
    return _member(path, dataset, dict(_stored(file, dataset.strip("/"))))


def _stored(group: Any, wanted: str, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the arrays of an .h5 file and of its groups by name, and those beside a deeper one.

    Links are not followed: they are other names of an array, or lead to other files.
    """
    h5py = needed("h5py", "to read .h5 files", "data")
    for name in group:
        if not isinstance(group.get(name, getlink=True), h5py.HardLink):
            continue
        one, place = group[name], f"{path}{name}"
        if isinstance(one, h5py.Dataset):
            yield place, one
        elif isinstance(one, h5py.Group) and (not path or f"{wanted}/".startswith(f"{place}/")):
            yield from _stored(one, wanted, f"{place}/")


def _member(path: Path, dataset: str, arrays: Mapping[str, Any]) -> Any:
    """Return the array of a name, or the one that names say is the tokens.

    Where none is named so, it is the only array that may be, unless pictures stand beside it, or it
    has whole numbers in so few columns that they may be coordinates of any name.
    """
    if dataset:
        if dataset.strip("/") not in arrays:
            legal, got = f"with the array {dataset}", some(sorted(arrays)) or "no array"
            raise InvalidInput(f"FILE {path}", legal, got)
        return arrays[dataset.strip("/")]
    possible = [name for name, one in arrays.items() if _of_tokens(one) and not is_place(name)]
    named = [name for name in possible if is_of_tokens(name)]
    if len(named or possible) == 1:
        one = arrays[(named or possible)[0]]
        few = np.dtype(one.dtype).kind in "iu" and one.shape[-1] <= MOST_AXES
        pictures = any(len(each.shape or ()) > 2 for each in arrays.values() if each is not one)
        if named or not (few or pictures):
            return one
    shown = [f"{name} {tuple(arrays[name].shape or ())}" for name in sorted(arrays)]
    legal = "of one array of tokens, of shape (L, d), that is named so or the only one"
    remedy = "Coordinates are no tokens." if any(map(is_place, arrays)) else ""
    remedy = "dataset= names that of the tokens." if possible else remedy
    raise InvalidInput(f"FILE {path}", legal, some(shown) or "no array", remedy)


def _of_tokens(array: Any) -> bool:
    shape: tuple[int, ...] = array.shape or ()
    layout = len(shape) == 2 or (len(shape) == 3 and shape[0] == 1)
    return layout and np.dtype(array.dtype).kind in "biuf"
