"""A folder of files that are read and written whole, local or at a URL of fsspec."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sparsetoken.base.files import folder_written_whole, require_regular, written_whole
from sparsetoken.base.machine import needed
from sparsetoken.base.validation import Failure, InvalidInput, one_line


class Folder:
    """The files of a folder, by name; each is bounded in size, and read and written whole.

    Parameters
    ----------
    path : path or str
        A folder of this machine, or a URL that fsspec knows, such as ``s3://bucket/folder``.

    Raises
    ------
    InvalidInput
        If the path is empty, or fsspec does not know the URL.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = re.sub(r"^(file|local)://", "", str(path))
        self._remote: Any = None
        if not self.path:
            raise InvalidInput("store", "a folder, or a URL of fsspec", "")
        if "://" in self.path:
            core = needed("fsspec.core", "to reach a URL", "data")
            try:
                self._remote, self._root = core.url_to_fs(self.path)
            except (ImportError, ValueError) as error:
                legal, remedy = "at a URL of fsspec", f"{error}."
                raise InvalidInput("store", legal, self.path, remedy) from None

    def __str__(self) -> str:
        return self.path

    def __truediv__(self, name: str) -> Folder:
        """Return a folder within this one."""
        return Folder(f"{self.path.rstrip('/')}/{name}")

    def names(self) -> list[str]:
        """Return the names of all that is in the folder, sorted; none if it is not there."""
        with self.explained(), contextlib.suppress(FileNotFoundError):
            if self._remote is None:
                return sorted(os.listdir(self.path))
            self._remote.invalidate_cache()
            paths = self._remote.ls(self._root, detail=False)
            return sorted(path.rstrip("/").rpartition("/")[2] for path in paths)
        return []

    def make(self) -> None:
        """Make the folder if it is not there; in a bucket there are none."""
        if self._remote is None:
            with self.explained():
                Path(self.path).mkdir(parents=True, exist_ok=True)

    def read(self, name: str, largest: int) -> bytes | None:
        """Return a file, of which no more than a byte above the largest size; None if it is gone.

        Raises
        ------
        InvalidInput
            If it is a folder or a pipe.
        Failure
            If it cannot be read.
        """
        with self.explained(), contextlib.suppress(FileNotFoundError):
            if self._remote is not None:
                return self._remote.cat_file(f"{self._root}/{name}", start=0, end=largest + 1)
            path = Path(self.path, name)
            require_regular("file of a store", path, "Remove it.")
            with path.open("rb") as file:
                return file.read(largest + 1)
        return None

    def write(self, name: str, content: bytes) -> None:
        """Write a file whole; the folder must be there, so that a removed one is noticed."""
        with self.explained():
            if self._remote is not None:
                self._remote.pipe_file(f"{self._root}/{name}", content)
                return
            with written_whole(Path(self.path, name)) as path:
                path.write_bytes(content)

    def replace(self, name: str, files: Mapping[str, bytes], last: str) -> None:
        """Replace what is in a folder within this one; in a bucket the last file makes it valid."""
        if self._remote is None:
            with self.explained():
                folder_written_whole(Path(self.path, name), files)
            return
        inner = self / name
        inner.remove(last)
        for file in sorted(files, key=last.__eq__):
            inner.write(file, files[file])

    def remove(self, name: str) -> None:
        """Remove a file, unless another run has done so."""
        with self.explained(), contextlib.suppress(FileNotFoundError):
            if self._remote is None:
                Path(self.path, name).unlink()
            else:
                self._remote.rm_file(f"{self._root}/{name}")

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """Turn what the system, or the library of a bucket, raises into one message."""
        try:
            yield
        except InvalidInput:
            raise
        except Exception as error:
            raise Failure(f"{self.path} cannot be read or written: {one_line(error)}.") from None
