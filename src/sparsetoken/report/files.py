"""The folder of a report, checked before any work and written atomically."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from sparsetoken.validation import InvalidInput

WORK = "work"
"""The folder of the kept pieces of work."""

REMEDY = "Choose another with --out."


def writable_folder(out: str | os.PathLike[str], files: Iterable[str]) -> Path:
    """Return the folder, made if need be.

    Parameters
    ----------
    out : path
    files : iterable of str
        Names of the files that it must take.

    Raises
    ------
    InvalidInput
        If it or work/ in it cannot be made or written, or a folder has the name of a file.
    """
    if not os.fspath(out):
        raise InvalidInput("out", "the name of a folder", "", "Give one with --out; . is this one.")
    folder = Path(out)
    with explained(out):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    for name in files:
        if (folder / name).is_dir():
            raise InvalidInput("out", f"a folder where {name} is no folder", str(out), REMEDY)
    if (folder / WORK).exists() and not (folder / WORK).is_dir():
        raise InvalidInput("out", f"a folder where {WORK} is a folder", str(out), REMEDY)
    with explained(folder / WORK):
        (folder / WORK).mkdir(exist_ok=True)
        with tempfile.TemporaryFile(dir=folder / WORK):
            pass
    return folder


def write_files(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write temporary files, then move them: a full disk leaves the old report intact."""
    with (
        explained(folder),
        tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as aside,
    ):
        for name, content in files.items():
            (Path(aside) / name).parent.mkdir(exist_ok=True)
            (Path(aside) / name).write_bytes(content)
        for name in files:
            (folder / name).parent.mkdir(exist_ok=True)
            os.replace(Path(aside) / name, folder / name)


@contextlib.contextmanager
def explained(out: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the refusal of the system to write into `InvalidInput`."""
    try:
        yield
    except OSError as error:
        remedy = f"({error.strerror}). {REMEDY}" if error.strerror else REMEDY
        raise InvalidInput("out", "a folder that can be written", str(out), remedy) from None
