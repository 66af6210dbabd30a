"""Paths that are given, readers that fail, and files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from sparsetoken.base.validation import Failure, InvalidInput, one_line

LONGEST_REASON = 200  # characters; NumPy quotes a header of any length


def require_regular(name: str, path: Path) -> None:
    """Raise `InvalidInput` for what is there and no regular file: to read a pipe may never end."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            kind = "the folder" if stat.S_ISDIR(mode) else "the pipe, device or socket"
            raise InvalidInput(name, "a regular file", f"{kind} {path}")


@contextlib.contextmanager
def refused(name: str, legal: str, path: Path) -> Iterator[None]:
    """Turn whatever a package raises while it reads a file into one `InvalidInput`.

    The types are not listed: a damaged file takes a reader to places that its authors did not
    foresee. Only calls of such readers stand inside, so that errors of this package are not hidden.
    """
    try:
        yield
    except (InvalidInput, Failure):
        raise
    except Exception as error:
        raise unreadable(name, legal, path, error) from None


def unreadable(name: str, legal: str, path: Path, error: Exception) -> InvalidInput:
    """Return the error for a file whose reader failed."""
    reason = one_line(error).removesuffix(":")
    return InvalidInput(name, legal, str(path), reason[:LONGEST_REASON])


def path_of(name: str, given: Any) -> Path:
    """Return a path, or raise `InvalidInput` for what is none, as a variable that is not set.

    A link that leads back to itself is none.
    """
    if not isinstance(given, str | os.PathLike) or not os.fspath(given):
        raise InvalidInput(name, "a path", given)
    path = Path(given)
    try:
        path.stat()
    except ValueError:  # a null character
        raise InvalidInput(name, "a path", given) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise InvalidInput(name, "a path without a loop of links", str(path)) from None
    return path


def require_other(name: str, path: Path, *inputs: Path) -> None:
    """Raise `InvalidInput` if a path is one of the inputs, or of a folder that has one."""
    target = path_of(name, path).resolve()
    for other in inputs:
        found = path_of("path", other).resolve()
        same = path.exists() and other.exists() and path.samefile(other)
        if same or target == found:
            raise InvalidInput(name, "a file other than the input", str(path))
        if target in found.parents:
            raise InvalidInput(name, "no folder of an input", str(path))


def require_place(name: str, path: Path, *inputs: Path) -> None:
    """Raise `InvalidInput` unless a file can be written there and is not one of the inputs.

    The name is that of the option that gives the path.
    """
    if path.is_dir():
        raise InvalidInput(name, "a file", f"the folder {path}")
    require_other(name, path, *inputs)
    require_regular(name, path)
    _require_parent(name, path)


def _require_parent(name: str, path: Path) -> None:
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidInput(name, "in a writable folder", str(path))


def write_file(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write a file from its parts, which is on the disk as a whole where there is no `OSError`.

    Writers of packages are given memory to write to: some do not tell that a disk is full.
    """
    size = 0
    with path.open("wb") as file:
        for part in parts:
            size += memoryview(part).nbytes
            file.write(part)
        file.flush()
        os.fsync(file.fileno())  # where a quota may first be told
        if (found := os.fstat(file.fileno()).st_size) != size:
            raise OSError(errno.EIO, f"The disk has {found} of {size} bytes")


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write a file, which replaces that at the path when it is on the disk as a whole.

    After an error, which names the path, the old file is unchanged and nothing else remains.
    """
    target = path.resolve()  # a link stays a link
    require_regular("path", target)  # a device would be replaced by a file
    with _naming(path):
        number, name = tempfile.mkstemp(
            prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent
        )
        os.close(number)
        aside = Path(name)
        try:
            write_file(aside, [content])
            aside.chmod(0o666 & ~_mask())
            aside.replace(target)
        except BaseException:
            with contextlib.suppress(OSError):
                aside.unlink()
            raise


@contextlib.contextmanager
def _naming(path: Path) -> Iterator[None]:
    """Let errors of the system name the path, and no temporary one."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
