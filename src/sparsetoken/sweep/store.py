"""The store of a sweep: a Zarr group (version 3) in a folder, at a URL, or in a zip file.

There are no locks. A piece of work is one chunk, written whole, with a checksum; any run computes
the same bytes. Each entry holds the key of its row, so that a misplaced chunk is detected like a
damaged one.
"""

from __future__ import annotations

import contextlib
import json
import math
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.base.files import require_place, require_regular, written_whole
from sparsetoken.base.machine import needed
from sparsetoken.base.untrusted import members_of, refused
from sparsetoken.base.validation import Failure, InvalidInput, one_line
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.layout import Layout, Place, Row, keys_of, name_of
from sparsetoken.sweep.metadata import (
    COPY,
    FACTS,
    FORMAT,
    ROOT,
    arrays_in,
    files_of,
    require_extension,
    same_work,
    specification,
)
from sparsetoken.sweep.parameters import CONVERGED, MISSING, STATUSES, canonical_text

LARGEST = 1 << 26
"""Bytes of a file of a store, and of what a chunk unpacks to.

A chunk has at most 512 results, or their messages, of a few megabytes; metadata of that size have
a million values on their axes.
"""

ZIP = ".zarr.zip"
PARTIAL = ".partial"  # the ending of what an interrupted write leaves


class StoreError(Failure):
    """A store that is damaged, or cannot be read or written.

    See Also
    --------
    Store : What raises it.

    Examples
    --------
    >>> import sparsetoken as st
    >>> issubclass(st.sweep.StoreError, Exception)
    True
    """


class Piece(NamedTuple):
    """A piece of work: what its results depend on, and what is stored of them.

    The entries are in the order of `rows` and of `results_of`, NaN where there is none. Damaged is
    the number of results that are not what was written.
    """

    quantity: str
    place: Place
    rows: list[Row]
    keys: np.ndarray
    entries: np.ndarray
    damaged: int

    @property
    def statuses(self) -> list[str]:
        """The status of each entry, missing if there is none."""
        numbers = self.entries[:, 0]
        return [MISSING if np.isnan(n) else STATUSES[int(n)] for n in numbers]


class Store:
    """The results of one sweep.

    Parameters
    ----------
    path : path or str
        A folder, a URL that fsspec knows, such as ``s3://bucket/sweep.zarr``, or a file that ends
        in ``.zarr.zip``, which can be read only.

    Raises
    ------
    InvalidInput
        If the path is a file of another kind, or zarr is missing.

    See Also
    --------
    run : Fills it.
    to_xarray : Results as a Dataset.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, Store, linear, run
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run(grid, f"{folder}/sweep.zarr")
    ...     Store(f"{folder}/sweep.zarr").grid.names
    ('strength',)
    """

    def __init__(self, path: Path | str) -> None:
        self.path = str(path).removeprefix("file://")
        if not self.path:
            raise InvalidInput("store", f"a folder, a URL or a {ZIP} file", self.path)
        self._zarr = needed("zarr", "to keep sweeps", "data")
        self._place = self._opened(write=False)
        self._grid: Grid | None = None
        self._known: bytes | None = b""
        self._arrays: dict[str, Any] = {}
        self._layouts: dict[str, Layout] = {}

    def _opened(self, *, write: bool) -> Any:
        """Return the store of Zarr, of which harmless files alone are read."""
        from sparsetoken.base.chunks import GuardedStore  # with zarr

        return GuardedStore(self._unguarded(write=write), LARGEST)

    def _unguarded(self, *, write: bool) -> Any:
        storage = needed("zarr.storage", "to keep sweeps", "data")
        if "://" in self.path:
            needed("fsspec", "to reach a URL", "data")
            try:
                return storage.FsspecStore.from_url(self.path, read_only=not write)
            except (ImportError, ValueError) as error:
                remedy = f"{error}."
                raise InvalidInput("store", "at a URL of fsspec", self.path, remedy) from None
        path = Path(self.path)
        if path.is_dir() or not path.exists():
            return storage.LocalStore(path, read_only=not write)
        require_regular("store", path)
        with path.open("rb") as file:
            head = file.read(16)
        if head.startswith(b"SQLite format 3"):
            remedy = (
                "The version that wrote it exports it: sparsetoken results FILE --export OUT.csv."
            )
            got = f"{path}, a store in SQLite of an earlier version"
            raise InvalidInput("store", "a folder, or a URL", got, remedy)
        if not zipfile.is_zipfile(path):
            raise InvalidInput("store", f"a folder, a URL or a {ZIP} file", f"{path}, a file")
        if write:
            raise InvalidInput("store", f"a folder or a URL to be written, no {ZIP}", self.path)
        legal = f"a {ZIP} file as --export writes it, of which nothing is compressed twice"
        with refused("store", legal, path), zipfile.ZipFile(path) as packed:
            for name, one in members_of(path, packed).items():
                if one.compress_type != zipfile.ZIP_STORED or one.file_size > LARGEST:
                    raise InvalidInput("store", legal, f"{path} with {name}", "Unpack it.")
        return self._sync(storage.ZipStore.open(path, mode="r"))

    def _sync(self, coroutine: Any, *, optional: bool = False) -> Any:
        from zarr.core.sync import sync

        try:
            return sync(coroutine)
        except InvalidInput:
            raise
        except Exception as error:  # of the system, or of the library that speaks to a bucket
            if optional and isinstance(error, FileNotFoundError):
                return None
            raise StoreError(
                f"{self.path} cannot be read or written: {one_line(error)}."
            ) from error

    def _get(self, name: str) -> bytes | None:
        from zarr.core.buffer import default_buffer_prototype

        found = self._sync(self._place.get(name, default_buffer_prototype()), optional=True)
        return None if found is None else found.to_bytes()

    def _set(self, name: str, content: bytes) -> None:
        from zarr.core.buffer import default_buffer_prototype

        self._sync(self._place.set(name, default_buffer_prototype().buffer.from_bytes(content)))

    def _names(self, prefix: str = "", most: float = math.inf) -> set[str]:
        """Return the names of all files, or of those in a folder such as ``theory/c/``.

        What an interrupted write leaves is none of them. With `most`, others may be left out.
        """

        async def listed() -> set[str]:
            found: set[str] = set()
            async for name in self._place.list_prefix(prefix):
                if not name.endswith(PARTIAL):
                    found.add(name)
                if len(found) >= most:
                    break
            return found

        return self._sync(listed(), optional=True) or set()

    @property
    def grid(self) -> Grid:
        """The grid of the sweep, as the store says."""
        if self._grid is None:
            self._grid = self._read_grid()
            self._open_arrays()
        return self._grid

    def _read_grid(self) -> Grid:
        content = self._get(ROOT)
        root = specification(content)
        if root is None and specification(self._get(COPY), "array"):
            remedy = "Run the same sweep again: it rewrites them, and keeps undamaged results."
            raise StoreError(f"The metadata of {self.path} are damaged or unfinished. {remedy}")
        if root is None:
            raise InvalidInput("store", "a sweep that has run", f"{self.path}, which has none")
        grid = self._grid_of(root)
        legal = "of arrays as this version writes them"
        with refused("store", legal, Path(self.path)):
            # No type or codec of others is used, not even to open an array.
            if arrays_in(content or b"") != arrays_in(files_of(grid)[ROOT]):
                remedy = "Run the same sweep again: it rewrites the metadata."
                raise InvalidInput("store", legal, self.path, remedy)
        return grid

    def _grid_of(self, attributes: dict[str, Any]) -> Grid:
        with refused("store", "a sweep that can be read", Path(self.path)):
            if attributes["format"] != FORMAT:
                got = f"{self.path} of format {attributes['format']}"
                raise InvalidInput("store", f"of format {FORMAT}", got, "Use another --store.")
            return Grid.from_text(attributes["specification"])

    def _open_arrays(self) -> None:
        from sparsetoken.base.chunks import GuardedStore

        mode = "r" if self._place.read_only else "r+"
        place = GuardedStore(self._place, LARGEST, _check_chunk)
        group = self._zarr.open_group(place, mode=mode, use_consolidated=True)
        for quantity in self.grid.quantities:
            for name in (quantity, f"{quantity}_{FACTS}"):
                self._arrays[name] = group[name]
            self._layouts[quantity] = Layout(self.grid, quantity)

    def layout(self, quantity: str) -> Layout:
        """Return how the results of a quantity lie in their array."""
        _ = self.grid
        return self._layouts[quantity]

    def exists(self) -> bool:
        """Return whether there is a store, whole or not."""
        copy = specification(self._get(COPY), "array")
        return bool(copy or specification(self._get(ROOT)))

    def prepare(self, grid: Grid) -> bool:
        """Make the store, or extend it to a larger grid; return whether metadata were damaged."""
        self._grid, content = None, self._get(ROOT)  # another run may have extended it
        root = specification(content)
        known = root or specification(self._get(COPY), "array")
        if known is not None:
            self._grid = self._grid_of(known)
            require_extension(self._grid, grid)
        elif self._names(most=1):
            legal = "a store, or a folder that is empty or not there"
            raise InvalidInput("store", legal, f"{self.path}, a folder of other files")
        damaged = content is not None and root is None
        self._place = self._opened(write=True)
        for name, file in files_of(grid).items():
            if (found := self._get(name)) != file:
                damaged |= found is not None and self._grid == grid
                self._set(name, file)
        self._grid = grid
        self._open_arrays()
        self.require_same()  # as what was opened may be the sweep of a run that began with this
        return damaged

    def require_same(self) -> None:
        """Raise `StoreError` if the store is gone or another sweep has taken its place."""
        content = self._get(ROOT)
        if content == self._known:
            return
        found = specification(content)
        if found is None or not same_work(found["specification"], self.grid.text()):
            what = "is gone" if content is None else "was replaced or extended"
            raise StoreError(f"{self.path} {what} while the sweep ran. Run it again.")
        self._known = content

    def pieces(self) -> Iterator[Piece]:
        """Yield all pieces of work, with what is there of them."""
        for quantity in self.grid.quantities:
            facts = self._names(f"{quantity}_{FACTS}/c/")  # first: a run writes them last
            known = self._names(f"{quantity}/c/"), facts
            for place in self.layout(quantity).places():
                yield self.piece(quantity, place, known)

    def piece(
        self, quantity: str, place: Place, known: tuple[set[str], set[str]] | None = None
    ) -> Piece:
        """Return a piece of work, with what is there of it.

        It is not read if its own is not among the known files of its array and of what it was
        computed with.
        """
        layout = self.layout(quantity)
        rows = layout.rows(place)
        keys = keys_of(rows)
        told = known is None or _chunk(f"{quantity}_{FACTS}", place[:-1]) in known[1]
        found = None
        if known is None or _chunk(quantity, place) in known[0]:
            found = self._read(quantity, layout.region(place))
            damaged = len(rows) if found is None else 0
        else:  # what it was computed with is written last
            damaged = len(rows) * told
        if found is None:
            found = np.full((len(rows), layout.shape[-1]), np.nan)
        given = ~np.isnan(found).all(axis=1)
        strange = given & (found[:, 1] != keys)
        fallen = given & ~strange & (found[:, 0] != STATUSES.index(CONVERGED))
        if fallen.any():  # what cannot say why it fell short is computed again
            messages = self.facts(quantity, place).get("messages", {})
            fallen &= [name_of(key) not in messages for key in keys]
        found[strange | fallen] = np.nan
        damaged += int(strange.sum() + fallen.sum() * told)
        return Piece(quantity, place, rows, keys, found, damaged)

    def _read(self, quantity: str, region: tuple[slice, ...]) -> np.ndarray | None:
        """Return the entries of a piece as lines; None if it is damaged."""
        try:
            found = np.array(self._arrays[quantity][region])
        except OSError as error:
            raise StoreError(f"{self.path} cannot be read: {error}.") from error
        except InvalidInput:
            raise
        except Exception:  # of whichever codec meets the damage
            return None
        return found.reshape(-1, found.shape[-1])

    def write(self, quantity: str, place: Place, entries: np.ndarray, facts: dict) -> None:
        """Write a piece whole, then what it was computed with."""
        self.require_same()
        layout = self.layout(quantity)
        region = layout.region(place)
        shape = tuple(part.stop - part.start for part in region)
        text = np.array(canonical_text(facts), dtype=object).reshape((1,) * (len(place) - 1))
        try:
            self._arrays[quantity][region] = entries.reshape(shape)
            part = tuple(slice(i, i + 1) for i in place[:-1])
            self._arrays[f"{quantity}_{FACTS}"][part] = text
        except InvalidInput:
            raise
        except Exception as error:
            raise StoreError(f"{self.path} cannot be written: {one_line(error)}.") from error

    def facts(self, quantity: str, place: Place) -> dict[str, Any]:
        """Return seconds, versions, machine and messages of a piece; {} if they are lost."""
        with contextlib.suppress(Exception):  # they belong to no result
            part = tuple(slice(i, i + 1) for i in place[:-1])
            return dict(json.loads(self._arrays[f"{quantity}_{FACTS}"][part].item()))
        return {}

    def copy_to_zip(self, path: Path) -> None:
        """Write all files of the store to one zip file, whose bytes depend on them alone."""
        require_place("--export", path)
        with written_whole(path) as aside, zipfile.ZipFile(aside, "w") as file:
            for name in sorted(self._names()):
                file.writestr(zipfile.ZipInfo(name), self._get(name) or b"")


def _check_chunk(name: str, content: bytes) -> None:
    """Raise an error if a chunk would fill the memory."""
    from sparsetoken.base.chunks import CHECKSUM, unpacked

    if name.endswith(ROOT):
        return
    found = unpacked(content[:-CHECKSUM], "zstd", LARGEST)
    if f"_{FACTS}/" in name and int.from_bytes(found[:4], "little") != 1:  # the number of texts
        raise ValueError("more than one text")


def _chunk(name: str, place: Place) -> str:
    """Return the name of the file of a chunk."""
    return "/".join([name, "c", *map(str, place)])
