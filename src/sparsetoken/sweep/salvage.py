"""What can still be read of a damaged file, by way of a copy that SQLite can open.

The first page of every store says the same but for a few counters: which kind of file it is,
and on which pages its tables begin. In the copy this page is written anew, and the file ends
where it ends; so a damaged header, or a file that was cut short, hides no other page.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import struct
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sparsetoken.sweep.integrity import find_damage, last_number
from sparsetoken.sweep.reading import StoreReader
from sparsetoken.sweep.schema import PAGE, DamagedStore, StoreError, empty_store


@contextlib.contextmanager
def opened_as_far_as_possible(path: Path) -> Iterator[tuple[StoreReader, str]]:
    """Return a store open for reading, and what is wrong with its structure or "".

    Raises
    ------
    InvalidInput
        If the file is missing, of another kind or of another version.
    StoreError
        If it cannot be read for another reason than damage, or holds nothing of a store.
    """
    with contextlib.ExitStack() as stack:
        try:
            store = stack.enter_context(contextlib.closing(StoreReader(path, write=False)))
            damage = find_damage(store)
        except DamagedStore as error:
            damage = str(error.__cause__ or "it was cut short, or its header is damaged")
        if damage:
            store = stack.enter_context(_copy(path))
            if not last_number(store):
                raise StoreError(f"{path} is no store, or nothing of it can be read.")
        yield store, damage


@contextlib.contextmanager
def _copy(path: Path) -> Iterator[StoreReader]:
    """Return a reader of a copy whose first page is whole."""
    with tempfile.TemporaryDirectory(prefix="sparsetoken-") as name:
        folder = Path(name)
        copy = folder / "copy.sqlite"
        try:
            shutil.copyfile(path, copy)
            log = path.with_name(path.name + "-wal")
            pages_elsewhere = log.exists() and log.stat().st_size > 0
            if pages_elsewhere:
                shutil.copyfile(log, folder / "copy.sqlite-wal")
            cut_at = 0 if pages_elsewhere else _cut_at(path)
            _mend_first_page(copy, empty_store(folder))
        except OSError as error:
            text = f"{path} is damaged, and no copy of it can be made in {folder.parent}: {error}."
            raise StoreError(text) from None
        with contextlib.closing(_Copy(path, copy, cut_at)) as store:
            yield store


def _cut_at(path: Path) -> int:
    """Return the size of a file that ends before its header says; else 0."""
    size = path.stat().st_size
    with path.open("rb") as file:
        header = file.read(100)
    pages = int.from_bytes(header[28:32], "big")
    believed = len(header) == 100 and header[24:28] == header[92:96]
    return size if believed and size < pages * PAGE else 0


def _mend_first_page(path: Path, empty: bytes) -> None:
    """Write the first page anew, with the number of pages that the file has.

    A page that is cut is filled up with zeros, as SQLite itself reads it, and a file that ends
    before the last of its tables begins gets empty pages for them.
    """
    size = max(-(-path.stat().st_size // PAGE) * PAGE, len(empty))
    header = bytearray(empty[:PAGE])
    struct.pack_into(">I", header, 28, size // PAGE)
    struct.pack_into(">II", header, 32, 0, 0)  # the pages that are free: none, as for a reader
    header[92:96] = header[24:28]  # so that SQLite believes the number of pages
    with path.open("r+b") as file:
        file.truncate(size)
        file.write(header)


class _Copy(StoreReader):
    """A reader of a copy that speaks of the original file."""

    def __init__(self, path: Path, copy: Path, cut_at: int) -> None:
        self.path, self.cut_at = path, cut_at
        self._texts = {}
        self._connection = sqlite3.connect(copy, isolation_level=None)
