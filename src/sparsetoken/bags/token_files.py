"""Files that hold the tokens of one bag each: .npy, .h5 and .zarr."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.bags.labelled import some
from sparsetoken.base.files import require_regular
from sparsetoken.base.machine import needed
from sparsetoken.base.untrusted import (
    LARGEST_NUMBER,
    check_inflated,
    check_unpacked,
    padded_size,
    refused,
)
from sparsetoken.base.validation import InvalidInput

ENDINGS = (".npy", ".h5", ".hdf5", ".zarr")

_LEGAL = "of an array that can be read"
_DEFLATE, _FLETCHER = 1, 3  # numbers of filters in HDF5
_SMALL = 1 << 17  # bytes of a deflated chunk, which becomes 1032 times as large at the most


@contextlib.contextmanager
def token_array(path: Path, dataset: str = "") -> Iterator[Any]:
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
        if not (_of_tokens(array) and min(array.shape) > 0):
            legal = "with real numbers of shape (L, d), L and d at least 1"
            raise InvalidInput(f"FILE {path}", legal, f"{array.dtype} of shape {array.shape}")
        yield array


def _array(path: Path, dataset: str, stack: contextlib.ExitStack) -> Any:
    if path.suffix.lower() == ".zarr":
        needed("zarr", "to read .zarr arrays", "data")
        from sparsetoken.base.chunks import arrays_in, guarded

        stored = arrays_in(path)
        tokens = stored[""] if "" in stored else _member(path, dataset, stored)
        return guarded(path, tokens) if _of_tokens(tokens) else tokens
    require_regular("FILE", path)
    if path.suffix.lower() == ".npy":
        return np.load(path, mmap_mode="r", allow_pickle=False)
    h5py = needed("h5py", "to read .h5 files", "data")
    arrays: dict[str, Any] = {}

    def keep(name: str, one: Any) -> None:  # links to other files are not visited
        if isinstance(one, h5py.Dataset):
            arrays[name] = one

    stack.enter_context(h5py.File(path, "r")).visititems(keep)
    tokens = _member(path, dataset, arrays)
    if tokens.external or tokens.is_virtual:
        got = f"{tokens.name}, whose values are in other files"
        raise InvalidInput(f"FILE {path}", "of an array with its own values", got)
    if _of_tokens(tokens):
        check_unpacked(path, padded_size(tokens.shape, tokens.chunks or tokens.shape))
        _check_deflated(tokens)
    return tokens


def _check_deflated(array: Any) -> None:
    """Raise an error if a deflated chunk of an .h5 array unpacks to more than it declares."""
    plan = array.id.get_create_plist()
    filters = [plan.get_filter(i)[0] for i in range(plan.get_nfilters())]
    if _DEFLATE not in filters:
        return
    large: list[tuple[int, ...]] = []
    array.id.chunk_iter(lambda one: large.append(one.chunk_offset) if one.size > _SMALL else None)
    place, most = filters.index(_DEFLATE), LARGEST_NUMBER * math.prod(array.chunks)
    for offset in large:
        left_out, content = array.id.read_direct_chunk(offset)
        after = [number for i, number in enumerate(filters) if i > place and not left_out >> i & 1]
        if left_out >> place & 1:
            continue
        if after not in ([], [_FLETCHER]):
            raise InvalidInput("filters", "deflate, with a checksum alone after it", filters)
        check_inflated(content[: len(content) - 4 * len(after)], most)


def _member(path: Path, dataset: str, arrays: Mapping[str, Any]) -> Any:
    """Return the array of a name, or the only one that may be tokens."""
    if dataset:
        if dataset.strip("/") not in arrays:
            legal, got = f"with the array {dataset}", some(sorted(arrays)) or "no array"
            raise InvalidInput(f"FILE {path}", legal, got)
        return arrays[dataset.strip("/")]
    possible = [name for name, one in arrays.items() if _of_tokens(one)]
    if len(possible) != 1:
        legal, got = "of one array of shape (L, d)", some(sorted(possible)) or "none"
        remedy = "dataset= names that of the tokens." if possible else ""
        raise InvalidInput(f"FILE {path}", legal, got, remedy)
    return arrays[possible[0]]


def _of_tokens(array: Any) -> bool:
    return len(array.shape or ()) == 2 and np.dtype(array.dtype).kind in "biuf"
