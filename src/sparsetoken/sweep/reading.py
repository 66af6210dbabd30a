"""Reading a store: its sweeps, the states of their rows, and the finished rows."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sparsetoken.sweep import records
from sparsetoken.sweep.keys import number_of
from sparsetoken.sweep.records import Counts
from sparsetoken.sweep.rows import RawRow, Row, parse, read_rows
from sparsetoken.sweep.schema import StoreError, connect, store_errors
from sparsetoken.validation import InvalidInput

WAITING, LEASED, CONVERGED, UNCONVERGED, FAILED = range(5)
"""States of a task."""


def state_of(status: str) -> int:
    """Return the state of a task whose result has this status."""
    return {records.CONVERGED: CONVERGED, records.FAILED: FAILED}.get(status, UNCONVERGED)


def seal(text: str, complete: int, members: int, total: int) -> int:
    """Return the CRC-32 of a sweep: its text, whether it is complete, and its rows.

    Parameters
    ----------
    text : str
    complete : int
        1 if all of its rows have been added.
    members, total : int
        The number of its rows, and the sum of their numbers.
    """
    return zlib.crc32(ascii((text, complete, members, total)).encode())


def damaged_rows_text(path: Path, what: str) -> str:
    """Return what to do about a part that is damaged, such as row 3, in a whole file."""
    return (
        f"{what} of {path} is damaged. Run the same sweep again to compute anew what is lost; "
        f"`sparsetoken results {path} --export OUT.csv` writes the rows that are whole."
    )


class StoreReader:
    """A store that is open in this process and thread.

    Parameters
    ----------
    path : path
    write : bool
        Whether it may be written, and is created if it is missing.
    """

    cut_at = 0
    """Where a file ends that was cut short; 0 if it was not."""

    def __init__(self, path: Path | str, *, write: bool) -> None:
        self.path = Path(path)
        self._texts: dict[int, str] = {}
        self._connection = connect(self.path, write=write)

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple]:
        """Return all rows that an SQL statement gives."""
        with store_errors(self.path):
            return self._connection.execute(sql, values).fetchall()

    def sweeps(self) -> dict[int, str]:
        """Return the text of each sweep by its number; the newest is last.

        Raises
        ------
        StoreError
            If one is damaged.
        """
        sql = "SELECT id, text, complete, members, total, checksum FROM sweeps ORDER BY id"
        found = {}
        for number, *parts, known in self.query(sql):
            if seal(*parts) != known:
                raise StoreError(damaged_rows_text(self.path, f"Sweep {number}"))
            found[number] = str(parts[0])
        return found

    def has_sweep(self, text: str) -> bool:
        """Return whether all rows of a sweep have been added."""
        return bool(self.query("SELECT 1 FROM sweeps WHERE text = ? AND complete = 1", (text,)))

    def counts(self, sweep: int | None = None) -> Counts:
        """Return the numbers of rows of a sweep by state, or of all rows."""
        if sweep is None:
            found = dict(self.query("SELECT state, count(*) FROM tasks GROUP BY state"))
        else:
            sql = """SELECT t.state, count(*) FROM members m JOIN tasks t ON t.id = m.task
                WHERE m.sweep = ? GROUP BY t.state"""
            found = dict(self.query(sql, (sweep,)))
        unconverged = found.get(UNCONVERGED, 0)
        left = found.get(WAITING, 0) + found.get(LEASED, 0)
        return Counts(
            found.get(CONVERGED, 0) + unconverged, found.get(FAILED, 0), left, unconverged
        )

    def rows(self, sweep: int | None = None) -> Iterator[Row]:
        """Yield the finished rows of a sweep, or of all, failed ones included, by number.

        Raises
        ------
        StoreError
            If a row is damaged.
        """
        for chunk in self.raw_rows(sweep):
            for row in chunk:
                if isinstance(row, int):
                    raise StoreError(damaged_rows_text(self.path, f"Row {row}"))
                yield parse(row)

    def raw_rows(
        self, sweep: int | None = None, low: int = 0, high: int = 2**62
    ) -> Iterator[list[RawRow | int]]:
        """Yield the results numbered low to high - 1 in chunks, as `read_rows` does."""
        with store_errors(self.path):
            yield from read_rows(self._connection, self.text, sweep, low, high)

    def text(self, number: Any) -> str | None:
        """Return the text that has a number, from whichever table has it whole; else None."""
        if type(number) is not int:
            return None
        if number not in self._texts:
            found = next((text for text in self._copies(number)), None)
            if found is None:
                return None
            self._texts[number] = found
        return self._texts[number]

    def _copies(self, number: int) -> Iterator[str]:
        for table in ("texts", "copies"):
            try:
                sql = f"SELECT text FROM {table} WHERE id = ?"
                rows = self._connection.execute(sql, (number,)).fetchall()
            except sqlite3.Error:
                continue  # the other table may be whole
            yield from (row[0] for row in rows if _has_number(row[0], number))

    def statuses(self, keys: Iterable[bytes]) -> list[str | None]:
        """Return the status of the result under each key, None where there is none."""
        find = "SELECT status FROM results JOIN tasks USING (id) WHERE key = ?"
        with store_errors(self.path):
            found = [self._connection.execute(find, (key,)).fetchone() for key in keys]
        return [row and row[0] for row in found]


def require_store(store: Any) -> None:
    """Raise `InvalidInput` unless this is an open store; its path is none."""
    if not isinstance(store, StoreReader):
        remedy = "Open its file first: with Store(path) as store."
        raise InvalidInput("store", "an open Store", store, remedy)


def _has_number(text: Any, number: int) -> bool:
    return type(text) is str and number_of(text) == number
