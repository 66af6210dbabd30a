"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from sparsetoken.validation import InvalidInput


def require_place(name: str, path: Path, *inputs: Path) -> None:
    """Raise `InvalidInput` unless a file can be written there, and it is none of the inputs.

    Parameters
    ----------
    name : str
        The option that gives the path.
    path : Path
    *inputs : Path
        Files that are read.
    """
    for other in inputs:
        if path.exists() and other.exists() and path.samefile(other):
            raise InvalidInput(name, "another file than the input", str(path))
    if path.is_dir():
        raise InvalidInput(name, "a file", f"{path}, a folder")
    folder = path.resolve().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidInput(name, "in a folder that can be written", str(path))


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Return a path to write to, whose file takes its place at the end.

    An error leaves what was there, and nothing beside it. The file is on the disk before it
    takes its place, so that neither a full disk nor a crash leaves a part of it.
    """
    target = path.resolve()  # a link stays a link
    number, name = tempfile.mkstemp(
        prefix=f".{target.stem}.", suffix=target.suffix, dir=target.parent
    )
    os.close(number)
    aside = Path(name)
    try:
        yield aside
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        aside.chmod(0o666 & ~_mask())
        aside.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise


def _mask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask
