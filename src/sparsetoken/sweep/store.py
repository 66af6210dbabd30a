"""The store: one SQLite file with the rows to be computed and their results.

Every change is one short transaction, so that the file is whole whenever a process ends.
Several processes may share a store: each leases the rows that it computes, and the leases of a
dead process are released.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sparsetoken.sweep import records
from sparsetoken.sweep.keys import key_of
from sparsetoken.sweep.leases import dead_holders, register_holder, send_heartbeats
from sparsetoken.sweep.reading import (
    CONVERGED,
    FAILED,
    LEASED,
    UNCONVERGED,
    WAITING,
    StoreReader,
)
from sparsetoken.sweep.records import Answer, Lease
from sparsetoken.sweep.rows import StoredResult, checksum
from sparsetoken.sweep.schema import StoreError, store_errors

__all__ = ["Store"]

CHUNK = 5000
Grouping = Callable[[Mapping[str, Any]], int | None]


class Store(StoreReader):
    """A file of rows, open in this process and thread.

    Parameters
    ----------
    path : path
    write : bool
        Whether to create the file if it is missing, and to run sweeps on it.

    Raises
    ------
    InvalidInput
        If the file is missing (for reading), of another kind, or of another version.
    StoreError
        If it is damaged or cannot be written.
    """

    def __init__(self, path: Path | str, *, write: bool = True) -> None:
        super().__init__(path, write=write)
        self._holder: int | None = None
        self._stop = threading.Event()
        self._numbers: dict[tuple[str, str], int] = {}
        self._layouts: dict[tuple[str, ...], int] = {}

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the rows that this process has leased, and close the file."""
        self._stop.set()
        with contextlib.suppress(StoreError, sqlite3.Error):
            if self._holder is not None:
                with self._change() as c:
                    _release_all(c, [self._holder])
        self._connection.close()

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        """Return a connection in a transaction, which an error rolls back."""
        with store_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._numbers.clear()
                self._layouts.clear()
                raise
            self._connection.execute("COMMIT")

    def begin(self, version: str) -> None:
        """Register this process as one that computes rows, and send heartbeats.

        Raises
        ------
        StoreError
            If a process with another version of the package computes rows of the store.
        """
        with self._change() as c:
            _release_all(c, dead_holders(c))
            others = {row[0] for row in c.execute("SELECT DISTINCT version FROM holders")}
            if others - {version}:
                found = ", ".join(sorted(others - {version}))
                raise StoreError(
                    f"Version {found} of sparsetoken is running on {self.path}, and this is "
                    f"{version}. Wait until it ends, or use another file."
                )
            self._holder = register_holder(c, version)
        threading.Thread(
            target=send_heartbeats, args=(self.path, self._holder, self._stop), daemon=True
        ).start()

    def add_sweep(
        self,
        text: str,
        rows: Iterable[Mapping[str, Any]],
        shape: Grouping = lambda _: 0,
        series: Grouping = lambda _: None,
        progress: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Return the number of a sweep; if it is new, add its rows, in order.

        Parameters
        ----------
        text : str
            The same for the same sweep.
        rows : iterable of mappings
            Configurations; those that the store has already are shared.
        shape : callable
            A number that agrees for rows which may run in one batch.
        series : callable
            A number that agrees for successive rows which one call computes, or None.
        progress : callable
            Called with the number of rows added.
        """
        with self._change() as c:
            c.execute("INSERT OR IGNORE INTO sweeps (text, complete) VALUES (?, 0)", (text,))
            found = c.execute("SELECT id, complete FROM sweeps WHERE text = ?", (text,))
            sweep, complete = found.fetchone()
        if complete:
            return int(sweep)
        remaining = iter(rows)
        while chunk := list(itertools.islice(remaining, CHUNK)):
            with self._change() as c:
                tasks = [self._task(c, row, shape(row), series(row)) for row in chunk]
                members = [(sweep, task) for task in tasks]
                c.executemany("INSERT OR IGNORE INTO members VALUES (?, ?)", members)
            progress(len(chunk))
        with self._change() as c:
            c.execute("UPDATE sweeps SET complete = 1 WHERE id = ?", (sweep,))
        return int(sweep)

    def _task(
        self, c: sqlite3.Connection, row: Mapping[str, Any], shape: int | None, series: int | None
    ) -> int:
        """Return the number of the task of a row, which is added if it is new."""
        key = key_of(row)
        cursor = c.execute(
            "INSERT OR IGNORE INTO tasks (key, state, shape, series, deaths) "
            "VALUES (?, ?, ?, ?, 0)",
            (key, WAITING, shape, series),
        )
        if not cursor.rowcount:
            return int(c.execute("SELECT id FROM tasks WHERE key = ?", (key,)).fetchone()[0])
        layout, content = self._layout(c, row)
        values = (cursor.lastrowid, layout, content)
        c.execute("INSERT INTO configurations VALUES (?, ?, ?)", values)
        return int(cursor.lastrowid or 0)

    def _layout(self, c: sqlite3.Connection, values: Mapping[str, Any]) -> tuple[int, str]:
        """Return the number of the names of some values, and the values as JSON."""
        names = tuple(values)
        if names not in self._layouts:
            self._layouts[names] = self._number(c, "layouts", "names", json.dumps(names))
        return self._layouts[names], json.dumps(list(values.values()), separators=(",", ":"))

    def _number(self, c: sqlite3.Connection, table: str, column: str, text: str) -> int:
        """Return the number of a text that many rows share."""
        known = self._numbers
        if (table, text) not in known:
            c.execute(f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)", (text,))
            found = c.execute(f"SELECT id FROM {table} WHERE {column} = ?", (text,)).fetchone()
            if len(known) > 1000:
                known.clear()
            known[table, text] = found[0]
        return known[table, text]

    def lease(self, sweep: int, after: int, limit: int, most: int = 0) -> list[Lease]:
        """Lease waiting rows of one shape.

        Parameters
        ----------
        sweep : int
        after : int
            The first row is beyond this one.
        limit : int
            The number of rows, if so many wait.
        most : int
            So many may be leased if they are of one series, or end with one; at least `limit`.
        """
        most = max(limit, most)
        sql = """SELECT t.id, t.shape, t.series, l.names, g.content FROM tasks t INDEXED BY waiting
            CROSS JOIN members m ON m.sweep = ? AND m.task = t.id
            JOIN configurations g ON g.id = t.id JOIN layouts l ON l.id = g.layout
            WHERE t.state = 0 AND t.id > ? ORDER BY t.id LIMIT ?"""
        with self._change() as c:
            rows = c.execute(sql, (sweep, after, most + 1)).fetchall()
            rows = list(itertools.takewhile(lambda row: row[1] == rows[0][1], rows))
            rows = rows[: _end_of_series([row[2] for row in rows], limit, most)]
            c.executemany(
                f"UPDATE tasks SET state = {LEASED}, holder = ? WHERE id = ?",
                [(self._holder, row[0]) for row in rows],
            )
        return [
            Lease(
                number,
                shape,
                series,
                dict(zip(json.loads(names), json.loads(content), strict=True)),
            )
            for number, shape, series, names, content in rows
        ]

    def finish(self, answers: Iterable[Answer], environment: str = "{}") -> None:
        """Write results. A row that has one already keeps it.

        Parameters
        ----------
        answers : iterable of Answer
        environment : str
            JSON of the versions and the host that they were computed with.
        """
        with self._change() as c:
            number = self._number(c, "environments", "facts", environment)
            for answer in answers:
                self._write(c, answer, number)

    def _write(self, c: sqlite3.Connection, answer: Answer, environment: int) -> None:
        result = answer.result
        known = {records.CONVERGED: CONVERGED, records.FAILED: FAILED}
        changed = c.execute(
            "UPDATE tasks SET state = ?, holder = NULL WHERE id = ? AND state IN (0, 1)",
            (known.get(result.status, UNCONVERGED), answer.id),
        )
        if not changed.rowcount:
            return
        layout, content = self._layout(c, result.values)
        seed = None if result.seed is None else result.seed.to_bytes(16, "big")
        stored = StoredResult(content, result.status, result.remedy or None, seed)
        c.execute(
            "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (answer.id, layout, *stored, answer.seconds, environment, checksum(stored)),
        )

    def count_death(self, row: int) -> int:
        """Count a worker process that died while it computed a row; return how many have."""
        with self._change() as c:
            c.execute("UPDATE tasks SET deaths = deaths + 1 WHERE id = ?", (row,))
            found = c.execute("SELECT deaths FROM tasks WHERE id = ?", (row,)).fetchone()
        return int(found[0])

    def retry_failed(self, sweep: int) -> None:
        """Let the failed rows of a sweep wait again."""
        chosen = f"id IN (SELECT task FROM members WHERE sweep = ?) AND state = {FAILED}"
        with self._change() as c:
            failed = c.execute(f"SELECT id FROM tasks WHERE {chosen}", (sweep,)).fetchall()
            c.executemany("UPDATE tasks SET state = 0, deaths = 0 WHERE id = ?", failed)
            c.executemany("DELETE FROM results WHERE id = ?", failed)

    def release_dead(self) -> None:
        """Let the rows wait again that dead processes had leased."""
        with self._change() as c:
            _release_all(c, dead_holders(c, self._holder))

    def release(self, rows: Iterable[int]) -> None:
        """Let rows wait again that this process has leased and will not compute."""
        with self._change() as c:
            c.executemany(
                "UPDATE tasks SET state = 0, holder = NULL WHERE id = ? AND holder = ?",
                [(row, self._holder) for row in rows],
            )


def _dictionary(names: str, values: str) -> dict[str, Any]:
    return dict(zip(json.loads(names), json.loads(values), strict=True))


def _release_all(c: sqlite3.Connection, holders: Sequence[int]) -> None:
    for holder in holders:
        c.execute("UPDATE tasks SET state = 0, holder = NULL WHERE holder = ?", (holder,))
        c.execute("DELETE FROM holders WHERE id = ?", (holder,))


def _end_of_series(series: Sequence[int | None], limit: int, most: int) -> int:
    """Return how many rows to take: up to `most` if they end with a series, or are of one."""
    if len(series) <= limit:
        return len(series)
    ends = [i for i in range(1, len(series)) if series[i] is None or series[i] != series[i - 1]]
    if len(series) <= most:
        ends.append(len(series))  # there are no further rows of this shape
    after = [end for end in ends if limit <= end <= most]
    before = [end for end in ends if end < limit]
    return after[0] if after else before[-1] if before else most
