"""Damaged stores: how damage is found, and how the rows that are whole are read."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from sparsetoken.sweep.reading import CONVERGED, FAILED, StoreReader, seal
from sparsetoken.sweep.rows import RawRow
from sparsetoken.sweep.schema import PAGE, StoreError

T = TypeVar("T")
AT_ONCE = 20_000
"""Rows that are read before any is passed on, so that none is passed on twice after an error."""

SMALLEST_ROW = 32
"""Bytes of a file that a row needs at the very least."""


class Losses(NamedTuple):
    """What is lost of a damaged store.

    Attributes
    ----------
    finished : int
        Rows that were finished and cannot be read.
    unknown : int
        Numbers of rows of which the file says nothing any more; some may have been finished.
    """

    finished: int
    unknown: int


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


def read_whole_rows(store: StoreReader, take: Callable[[list[RawRow]], None]) -> Losses:
    """Pass on all finished rows that are whole, each once; return what is lost.

    Parameters
    ----------
    store : StoreReader
    take : callable
        Called with some rows at a time.
    """
    last, seen = last_number(store), set[int]()
    spoilt, unread = set[int](), set[int]()

    def pass_on(rows: list[RawRow | int]) -> None:
        spoilt.update(row for row in rows if isinstance(row, int))
        whole = [row for row in rows if isinstance(row, RawRow) and row.id not in seen]
        seen.update(row.id for row in whole)
        take(whole)

    def read(low: int, high: int) -> list[RawRow | int]:
        return [row for chunk in store.raw_rows(None, low, high) for row in chunk]

    for low, rows in pieces(read, last):
        if rows is None:
            unread.add(low)
        else:
            pass_on(rows)
    if not spoilt and not unread and _finished_count(store) == len(seen):
        return Losses(0, 0)
    finished, known = _finished(store, last)
    for number in sorted(finished - seen - unread):  # a broken scan may have passed them by
        for _, rows in pieces(lambda low, _: read(low, low + 1), number, first=number):
            pass_on(rows or [])
    # A page that is lost may look like one without rows: then no number can be left out.
    hidden = set(range(1, last + 1)) - known if find_damage(store) else set[int]()
    open_rows = _open_rows_of_cut(store, last) if store.cut_at else None
    if open_rows is not None:
        finished, hidden = set(range(1, last + 1)) - open_rows, set[int]()
    lost = (finished | (spoilt & hidden)) - seen
    return Losses(len(lost), len(hidden - lost - seen))


def pieces(
    read: Callable[[int, int], list[T]], last: int, first: int = 0
) -> Iterator[tuple[int, list[T] | None]]:
    """Yield what `read(low, high)` gives for numbers first to last; None where it fails.

    Where a range cannot be read, its halves are tried, down to single numbers.
    """
    ranges = [(first, last + 1)]
    while ranges:
        low, high = ranges.pop()
        if high - low <= AT_ONCE:
            try:
                yield low, read(low, high)
                continue
            except (StoreError, sqlite3.Error, ValueError, OverflowError):
                pass
        if high - low > 1:
            middle = (low + high) // 2
            ranges += [(middle, high), (low, middle)]
        else:
            yield low, None


def last_number(store: StoreReader) -> int:
    """Return the largest number that a row may have, from whichever tables can be read."""
    if store.cut_at and (whole := _rows_of_only_sweep(store)):
        return whole
    found = []
    for table in ("tasks", "configurations", "results"):
        try:
            ((last,),) = store.query(f"SELECT max(id) FROM {table}")
        except StoreError:
            continue
        found.append(last or 0)
    # A damaged number may be any; no file holds more rows than it has room for.
    room = store.query("PRAGMA page_count")[0][0] * PAGE // SMALLEST_ROW
    return max(min(max(found, default=room), room), _rows_of_sweeps(store))


def _rows_of_sweeps(store: StoreReader) -> int:
    """Return the rows of the largest sweep, which a file that was cut short still knows of."""
    return max((members for _, members, _ in _sound_sweeps(store)), default=0)


def _sound_sweeps(store: StoreReader) -> list[tuple[int, int, int]]:
    """Return of each sweep that is whole: is it complete, its rows, the sum of their numbers."""
    sql = "SELECT text, complete, members, total, checksum FROM sweeps"
    try:
        found = store.query(sql)
    except StoreError:
        return []
    return [row[1:4] for row in found if seal(*row[:4]) == row[4]]


def _rows_of_only_sweep(store: StoreReader) -> int | None:
    """Return the number of rows if the store has one sweep, and they are numbered 1, 2, ...

    They are if the sum of their numbers is the least that so many numbers can have.
    """
    sweeps = _sound_sweeps(store)
    if len(sweeps) != 1:
        return None
    complete, members, total = sweeps[0]
    return members if complete and 2 * total == members * (members + 1) else None


def _open_rows_of_cut(store: StoreReader, last: int) -> set[int] | None:
    """Return all rows that are not finished, None if a file that was cut does not tell them.

    The indexes of these rows are small and stand near the beginning of the file.
    """
    if _rows_of_only_sweep(store) is None:
        return None
    found = set[int]()
    for index, condition in (("waiting", "state = 0"), ("leased", "holder IS NOT NULL")):
        try:
            roots = "SELECT rootpage FROM sqlite_master WHERE name = ?"
            ((root,),) = store.query(roots, (index,))
            rows = store.query(f"SELECT id FROM tasks INDEXED BY {index} WHERE {condition}")
        except (StoreError, ValueError):
            return None
        numbers = [number for (number,) in rows]
        # Of the page in which the file ends SQLite may make up something.
        made_up = any(type(n) is not int or not 1 <= n <= last for n in numbers)
        if root * PAGE > store.cut_at or made_up or len(set(numbers)) < len(numbers):
            return None
        found.update(numbers)
    return found


def _finished_count(store: StoreReader) -> int | None:
    try:
        sql = f"SELECT count(*) FROM tasks WHERE state BETWEEN {CONVERGED} AND {FAILED}"
        return int(store.query(sql)[0][0])
    except StoreError:
        return None


def _finished(store: StoreReader, last: int) -> tuple[set[int], set[int]]:
    """Return the rows that were finished, and all rows whose state can be read."""
    finished, known = set[int](), set[int]()
    sql = "SELECT id, state FROM tasks WHERE id >= ?1 AND id < ?2 LIMIT ?2 - ?1"
    for _, rows in pieces(lambda *ends: store.query(sql, ends), last):
        known.update(number for number, _ in rows or [])
        finished.update(number for number, state in rows or [] if state in (2, 3, 4))
    return finished, known
