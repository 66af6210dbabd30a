"""Reading a store: its sweeps, the states of their rows, and the finished rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sparsetoken.sweep.records import Counts
from sparsetoken.sweep.rows import RawRow, Row, parse, read_rows
from sparsetoken.sweep.schema import connect, store_errors

__all__ = ["CONVERGED", "FAILED", "LEASED", "UNCONVERGED", "WAITING", "StoreReader"]

WAITING, LEASED, CONVERGED, UNCONVERGED, FAILED = range(5)
"""States of a task."""


class StoreReader:
    """A store that is open in this process and thread.

    Parameters
    ----------
    path : path
    write : bool
        Whether it may be written, and is created if it is missing.
    """

    def __init__(self, path: Path | str, *, write: bool) -> None:
        self.path = Path(path)
        self._connection = connect(self.path, write=write)

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple]:
        """Return all rows that an SQL statement gives."""
        with store_errors(self.path):
            return self._connection.execute(sql, values).fetchall()

    def sweeps(self) -> dict[int, str]:
        """Return the text of each sweep by its number; the newest is last."""
        return dict(self.query("SELECT id, text FROM sweeps ORDER BY id"))

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
        """Yield the finished rows of a sweep, or of all, failed ones included, by number."""
        for chunk in self.raw_rows(sweep):
            yield from map(parse, chunk)

    def raw_rows(
        self, sweep: int | None = None, low: int = 0, high: int = 2**62
    ) -> Iterator[list[RawRow]]:
        """Yield the results numbered low to high - 1 in chunks, as `read_rows` does."""
        with store_errors(self.path):
            yield from read_rows(self._connection, self.path, sweep, low, high)

    def statuses(self, keys: Iterable[bytes]) -> list[str | None]:
        """Return the status of the result under each key, None where there is none."""
        find = "SELECT status FROM results JOIN tasks USING (id) WHERE key = ?"
        with store_errors(self.path):
            found = [self._connection.execute(find, (key,)).fetchone() for key in keys]
        return [row and row[0] for row in found]
