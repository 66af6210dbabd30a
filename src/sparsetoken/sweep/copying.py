"""A new store with the rows of another that are whole."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sparsetoken.sweep.integrity import Losses, read_whole_rows
from sparsetoken.sweep.reading import StoreReader
from sparsetoken.sweep.store import Store

__all__ = ["copy_rows"]


def copy_rows(source: StoreReader, path: Path) -> Losses:
    """Write the finished rows that are whole to a new store; return what is lost.

    It takes its place when it is on the disk, so that an error leaves nothing of it.
    """
    with tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix=".unfinished-") as folder:
        aside = Path(folder) / "new.sqlite"
        with Store(aside) as store:
            losses = read_whole_rows(source, store.add_finished)
            store.query("PRAGMA journal_mode = DELETE")  # a log would have the name of this file
        aside.replace(path)
    return losses
