"""A new store with the rows of another that are whole."""

from __future__ import annotations

from pathlib import Path

from sparsetoken.files import written_whole
from sparsetoken.sweep.integrity import Losses, read_whole_rows
from sparsetoken.sweep.reading import StoreReader
from sparsetoken.sweep.store import Store

__all__ = ["copy_rows"]


def copy_rows(source: StoreReader, path: Path) -> Losses:
    """Write the finished rows that are whole to a new store; return what is lost."""
    with written_whole(path) as aside, Store(aside) as store:
        losses = read_whole_rows(source, store.add_finished)
        store.query("PRAGMA wal_checkpoint(TRUNCATE)")
        store.query("PRAGMA journal_mode = DELETE")  # the log has the name of this file
    return losses
