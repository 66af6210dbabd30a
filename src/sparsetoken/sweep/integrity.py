"""Damaged stores: how damage is found, and how the rows that are whole are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from sparsetoken.sweep.reading import StoreReader
from sparsetoken.sweep.rows import RawRow
from sparsetoken.sweep.schema import StoreError, damage_text

__all__ = ["find_damage", "readable_rows", "require_whole"]

AT_ONCE = 20_000
"""Rows that are read before any is yielded, so that nothing is yielded twice after an error."""


def find_damage(store: StoreReader) -> str:
    """Return what SQLite's own check finds wrong with the structure of the file, or "".

    The checksums of rows are verified as the rows are read.
    """
    try:
        found = store.query("PRAGMA quick_check(1)")
    except StoreError as error:
        return str(error)
    first = str(found[0][0]) if found else ""
    return "" if first == "ok" else " ".join(first.split())


def require_whole(store: StoreReader) -> None:
    """Raise `StoreError` if the structure of the file is damaged."""
    if find_damage(store):
        raise StoreError(damage_text(store.path))


def readable_rows(store: StoreReader) -> Iterator[list[RawRow] | None]:
    """Yield chunks of the finished rows that can be read; None for each row that is lost.

    Where a range of rows cannot be read, its halves are tried, down to single rows.
    """
    ranges = [(0, _last_number(store) + 1)]
    while ranges:
        low, high = ranges.pop()
        if high - low <= AT_ONCE:
            try:
                yield from list(store.raw_rows(None, low, high))
                continue
            except (StoreError, sqlite3.Error, ValueError):
                pass
        if high - low > 1:
            middle = (low + high) // 2
            ranges += [(middle, high), (low, middle)]
        else:
            yield None


def _last_number(store: StoreReader) -> int:
    """Return the largest number of a row, from whichever table can be read."""
    found = []
    for table in ("results", "configurations", "tasks"):
        try:
            ((last,),) = store.query(f"SELECT max(id) FROM {table}")
        except StoreError:
            continue
        found.append(last or 0)
    return max(found, default=0)
