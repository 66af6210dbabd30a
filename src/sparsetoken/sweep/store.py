"""The folder of a sweep: its kept results, what the last run was, and its named arrays."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.work import Folder, canonical_text, digest

PIECES, SPEC, ARRAYS = "pieces", "sweep.json", "results.zarr"
LARGEST = 1 << 26
"""The largest size of the specification in bytes, which has the keys of all points."""


def opened(path: Path | str, *, write: bool = False) -> Folder:
    """Return the folder of a sweep, or raise `InvalidInput` if it is something else."""
    folder = Folder(path)
    local = "://" not in folder.path and Path(folder.path)
    if local and local.exists() and not local.is_dir():
        raise InvalidInput("store", "a folder, or a URL of fsspec", f"{local}, a file")
    names = folder.names()
    if SPEC in names or PIECES in names:
        return folder
    if not write:
        raise InvalidInput("store", "a sweep that has run", f"{folder.path}, which has none")
    if any(not name.startswith((".sweep.", ".unfinished-")) for name in names):
        legal = "a store, or a folder that is empty or not there"
        raise InvalidInput("store", legal, f"{folder.path}, a folder of other files")
    return folder


def write_specification(folder: Folder, about: Mapping[str, Any]) -> None:
    """Write what a run computes, with its own digest."""
    content = json.dumps({"digest": digest(canonical_text(about)), **about}).encode()
    if len(content) > LARGEST:
        legal = f"of at most {LARGEST} bytes with the keys of its points"
        raise InvalidInput("sweep", legal, len(content), "Sweep fewer points.")
    folder.make()
    folder.write(SPEC, content)


def specification(folder: Folder) -> dict[str, Any]:
    """Return what the last run in a folder computes, or raise an error if that is damaged."""
    content = folder.read(SPEC, LARGEST)
    if content is None:
        raise InvalidInput("store", "a sweep that has run", f"{folder.path}, which has none")
    try:
        about = dict(json.loads(content))
        if about.pop("digest") == digest(canonical_text(about)):
            return about
    except (ValueError, LookupError, TypeError, RecursionError):
        pass
    remedy = "Run the same sweep again: it rewrites it, and keeps all results."
    raise Failure(f"{SPEC} in {folder.path} is damaged. {remedy}")
