"""Zarr arrays from others: regular files, known codecs, and chunks of bounded size."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import zarr
from numcodecs import registry
from zarr import Array, AsyncArray
from zarr.abc.store import Store
from zarr.core.buffer import Buffer
from zarr.storage import LocalStore, StorePath, WrapperStore

from sparsetoken.base.files import require_regular
from sparsetoken.base.untrusted import LARGEST_NUMBER, check_inflated, check_unpacked, padded_size
from sparsetoken.base.validation import InvalidInput

CHECKSUM = 4  # bytes of crc32c, after the chunk

_METADATA = 1 << 26  # bytes
_CODECS = re.compile(
    r"(?:(?:bytes|shuffle|transpose) )*(?:(blosc|gzip|lz4|zlib|zstd) )?((?:crc32c )*)"
)


class GuardedStore(WrapperStore[Store]):
    """A store of which regular files of a largest size alone are read, if they pass a check.

    Parameters
    ----------
    store : zarr Store
    largest : int
        Bytes of a file.
    check : callable, optional
        Raises an error for a name and the content of its file.
    """

    def __init__(
        self, store: Store, largest: int, check: Callable[[str, bytes], Any] | None = None
    ) -> None:
        super().__init__(store)
        self._largest, self._check = largest, check

    def _with_store(self, store: Store) -> GuardedStore:
        return GuardedStore(store, self._largest, self._check)

    async def get(self, key: str, prototype: Any, byte_range: Any = None) -> Buffer | None:
        """Return the content of a file.

        Raises
        ------
        InvalidInput
            If it is a folder, a pipe or a device.
        ValueError
            If it is too large.
        """
        if isinstance(self._store, LocalStore):
            path = self._store.root / key
            require_regular("file of a store", path, "Remove it.")
            if path.exists() and path.stat().st_size > self._largest:
                raise ValueError(f"{path} has more than {self._largest} bytes")
        buffer = await self._store.get(key, prototype, byte_range)
        if buffer is not None and self._check is not None:
            self._check(key, buffer.to_bytes())
        return buffer


def unpacked(content: bytes, compressor: str, most: int) -> np.ndarray:
    """Return what a chunk unpacks to in a buffer of so many bytes, or raise an error.

    The codecs blosc, lz4 and zstd refuse to exceed the buffer.
    """
    return registry.get_codec({"id": compressor}).decode(content, out=np.empty(most, np.uint8))


def arrays_in(folder: Path) -> dict[str, Array]:
    """Return the arrays of a .zarr folder by name, that of the root alone as "", unread."""
    root = zarr.open(GuardedStore(LocalStore(folder, read_only=True), _METADATA), mode="r")
    if isinstance(root, Array):
        return {"": root}
    members = root.members(max_depth=None)
    return {name: one for name, one in members if isinstance(one, Array)}


def guarded(folder: Path, array: Array) -> Array:
    """Return an array of numbers, no chunk of which can unpack to more than it declares.

    Raises
    ------
    InvalidInput
        If a codec is not known, or the array would fill the memory.
    """
    metadata: dict[str, Any] = {**array.metadata.to_dict()}
    if metadata["zarr_format"] == 2:
        given = [one["id"] for one in (*(metadata["filters"] or ()), metadata["compressor"]) if one]
    else:
        given = [one["name"] for one in metadata["codecs"]]
    known = _CODECS.fullmatch("".join(f"{name} " for name in given))
    if known is None or (known[2] and metadata["zarr_format"] == 2):
        legal = "one of blosc, gzip, lz4, zlib and zstd, without shards and filters of numbers"
        raise InvalidInput("codecs", legal, ", ".join(given), "Write it again with one of these.")
    check_unpacked(folder, padded_size(array.shape, array.chunks))
    checksums, most = known[2].count(" "), LARGEST_NUMBER * math.prod(array.chunks)

    def check(_: str, content: bytes) -> None:
        content = content[: len(content) - CHECKSUM * checksums]
        if known[1] in ("gzip", "zlib"):
            check_inflated(content, most)
        elif known[1]:
            unpacked(content, known[1], most)

    largest = most + most // 64 + 4096  # what cannot be compressed gets longer
    store = GuardedStore(LocalStore(folder, read_only=True), largest, check)
    return Array(AsyncArray(array.metadata, StorePath(store, array.path)))
