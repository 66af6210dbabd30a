"""Damaged stores: found, and read as far as they go."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from sparsetoken.sweep.found import RawRow
from sparsetoken.sweep.schema import StoreError, damage_text
from sparsetoken.sweep.store import Store

__all__ = ["Health", "check_store", "readable_rows", "require_whole"]

WHOLE = 20_000
"""Rows that are read in one piece, so that a piece with damage is not yielded in part."""


class Health(NamedTuple):
    """What SQLite's own check says: "" if the file is whole."""

    trouble: str

    @property
    def whole(self) -> bool:
        """Whether nothing was found wrong."""
        return not self.trouble


def check_store(store: Store) -> Health:
    """Check the structure of the file; check sums of rows are verified as they are read."""
    try:
        found = store.query("PRAGMA quick_check(1)")
    except StoreError as error:
        return Health(str(error))
    first = str(found[0][0]) if found else ""
    return Health("" if first == "ok" else " ".join(first.split()))


def require_whole(store: Store) -> None:
    """Raise `StoreError` if the structure of the file is damaged."""
    health = check_store(store)
    if not health.whole:
        raise StoreError(damage_text(store.path))


def readable_rows(store: Store) -> Iterator[list[RawRow] | None]:
    """Yield chunks of the finished rows that can be read; None for each row that is lost.

    Where a stretch of rows cannot be read, its halves are tried, down to single rows.
    """
    last = _last_number(store)
    stack = [(0, last + 1)]
    while stack:
        low, high = stack.pop()
        try:
            yield from list(store.raw_rows(None, low, high)) if high - low <= WHOLE else ()
            if high - low > WHOLE:
                raise StoreError
        except (StoreError, sqlite3.Error, ValueError, UnicodeDecodeError):
            if high - low > 1:
                middle = (low + high) // 2
                stack += [(middle, high), (low, middle)]
            else:
                yield None


def _last_number(store: Store) -> int:
    """Return the largest number of a row, from whichever table can still be asked."""
    found = []
    for table in ("results", "configurations", "work"):
        try:
            ((last,),) = store.query(f"SELECT max(id) FROM {table}")
        except StoreError:
            continue
        found.append(last or 0)
    return max(found, default=0)
