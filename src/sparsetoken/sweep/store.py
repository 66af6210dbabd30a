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
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sparsetoken.sweep.keys import canonical_texts, key_of_texts, number_of
from sparsetoken.sweep.leases import (
    Watch,
    dead_holders,
    living,
    register_holder,
    send_heartbeats,
)
from sparsetoken.sweep.reading import (
    FAILED,
    LEASED,
    WAITING,
    StoreReader,
    damaged_rows_text,
    seal,
    state_of,
)
from sparsetoken.sweep.records import Answer, Lease
from sparsetoken.sweep.rows import RawRow, StoredResult, checksum
from sparsetoken.sweep.schema import StoreError, store_errors

CHUNK = 5000
POLL_SECONDS = 0.5
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

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, GridPlan, Store, linear, run
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder + "/s.sqlite") as store:
    ...     run(store, GridPlan(grid)).done
    3
    """

    def __init__(self, path: Path | str, *, write: bool = True) -> None:
        super().__init__(path, write=write)
        self._holder: int | None = None
        self._stop = threading.Event()
        self._watch = Watch()
        self._numbers: dict[str, int] = {}
        self._keys: dict[int, bytes] = {}  # of the rows that this process computes

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Release the rows that this process has leased, and close the file."""
        self._stop.set()
        with contextlib.suppress(StoreError, sqlite3.Error):
            if self._holder is not None:
                with self.change() as c:
                    _release_all(c, [self._holder])
        self._connection.close()

    @contextlib.contextmanager
    def change(self) -> Iterator[sqlite3.Connection]:
        """Return a connection in a transaction, which an error rolls back."""
        with store_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._numbers.clear()
                raise
            self._connection.execute("COMMIT")

    def begin(self, version: str) -> None:
        """Register this process as one that computes rows, and send heartbeats.

        If a process with another version of the package was at work on another machine, this
        waits until it is clear whether it still runs, a minute at most.

        Raises
        ------
        StoreError
            If a process with another version of the package computes rows of the store.
        """
        while self._holder is None:
            with self.change() as c:
                _release_all(c, dead_holders(c, self._watch))
                others, surely = living(c, self._watch, version)
                if not others:
                    self._holder = register_holder(c, version)
            if surely:
                raise StoreError(
                    f"Version {', '.join(sorted(others))} of sparsetoken is running on "
                    f"{self.path}, and this is {version}. Wait until it ends, or use another file."
                )
            if others:  # on another machine: whether it runs is seen in a minute at most
                time.sleep(POLL_SECONDS)
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
        with self.change() as c:
            c.execute(
                "INSERT OR IGNORE INTO sweeps (text, complete, members, total, checksum) "
                "VALUES (?, 0, 0, 0, ?)",
                (text, seal(text, 0, 0, 0)),
            )
            found = c.execute("SELECT id, complete FROM sweeps WHERE text = ?", (text,))
            sweep, complete = found.fetchone()
        if complete:
            return int(sweep)
        remaining = iter(rows)
        while chunk := list(itertools.islice(remaining, CHUNK)):
            with self.change() as c:
                tasks = [self._task(c, row, shape(row), series(row)) for row in chunk]
                pairs = [(sweep, task) for task in tasks]
                c.executemany("INSERT OR IGNORE INTO members VALUES (?, ?)", pairs)
            progress(len(chunk))
        with self.change() as c:
            members, total = members_of(c, sweep)
            c.execute(
                "UPDATE sweeps SET complete = 1, members = ?, total = ?, checksum = ? WHERE id = ?",
                (members, total, seal(text, 1, members, total), sweep),
            )
        return int(sweep)

    def _task(
        self, c: sqlite3.Connection, row: Mapping[str, Any], shape: int | None, series: int | None
    ) -> int:
        """Return the number of the task of a row, which is added if it is new."""
        names, content = canonical_texts(row)
        key = key_of_texts(names, content)
        cursor = c.execute(
            "INSERT OR IGNORE INTO tasks (key, state, shape, series, deaths) "
            "VALUES (?, ?, ?, ?, 0)",
            (key, WAITING, shape, series),
        )
        if not cursor.rowcount:
            return int(c.execute("SELECT id FROM tasks WHERE key = ?", (key,)).fetchone()[0])
        values = (cursor.lastrowid, self._number(c, names), content)
        c.execute("INSERT INTO configurations VALUES (?, ?, ?)", values)
        return int(cursor.lastrowid or 0)

    def _number(self, c: sqlite3.Connection, text: str) -> int:
        """Return the number of a text that many rows share, which is added if it is new."""
        known = self._numbers
        if text not in known:
            number = number_of(text)
            for table in ("texts", "copies"):
                c.execute(f"INSERT OR IGNORE INTO {table} VALUES (?, ?)", (number, text))
            if len(known) > 1000:
                known.clear()
            known[text] = number
        return known[text]

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
        sql = """SELECT t.id, t.shape, t.series, t.key, g.layout, g.content
            FROM tasks t INDEXED BY waiting
            CROSS JOIN members m ON m.sweep = ? AND m.task = t.id
            LEFT JOIN configurations g ON g.id = t.id
            WHERE t.state = 0 AND t.id > ? ORDER BY t.id LIMIT ?"""
        with self.change() as c:
            rows = c.execute(sql, (sweep, after, most + 1)).fetchall()
            rows = list(itertools.takewhile(lambda row: row[1] == rows[0][1], rows))
            rows = rows[: _end_of_series([row[2] for row in rows], limit, most)]
            leases = [self._leased(row) for row in rows]
            c.executemany(
                f"UPDATE tasks SET state = {LEASED}, holder = ? WHERE id = ?",
                [(self._holder, row[0]) for row in rows],
            )
        self._keys.update((row[0], row[3]) for row in rows)
        return leases

    def _leased(self, row: tuple) -> Lease:
        """Return the lease of a row whose configuration is what its key says."""
        number, shape, series, key, layout, content = row
        names = self.text(layout)
        if names is None or type(content) is not str or key_of_texts(names, content) != key:
            raise StoreError(damaged_rows_text(self.path, f"Row {number}"))
        values = dict(zip(json.loads(names), json.loads(content), strict=True))
        return Lease(number, shape, series, values)

    def finish(self, answers: Iterable[Answer], environment: str = "{}") -> None:
        """Write results. A row that has one already keeps it.

        Parameters
        ----------
        answers : iterable of Answer
        environment : str
            JSON of the versions and the host that they were computed with.
        """
        with self.change() as c:
            number = self._number(c, environment)
            for answer in answers:
                self._write(c, answer, number)

    def _write(self, c: sqlite3.Connection, answer: Answer, environment: int) -> None:
        result = answer.result
        changed = c.execute(
            "UPDATE tasks SET state = ?, holder = NULL WHERE id = ? AND state IN (0, 1)",
            (state_of(result.status), answer.id),
        )
        if not changed.rowcount:
            return
        layout = self._number(c, json.dumps(tuple(result.values)))
        content = json.dumps(list(result.values.values()), separators=(",", ":"))
        seed = None if result.seed is None else result.seed.to_bytes(16, "big")
        stored = StoredResult(
            layout,
            content,
            result.status,
            result.remedy or None,
            seed,
            float(answer.seconds),
            environment,
        )
        known_sum = checksum(answer.id, self._key(c, answer.id), stored)
        c.execute(
            "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (answer.id, *stored, known_sum),
        )

    def _key(self, c: sqlite3.Connection, number: int) -> bytes:
        """Return the key of a row: that of its lease, whatever has become of the file."""
        if number in self._keys:
            return self._keys.pop(number)
        found = c.execute("SELECT key FROM tasks WHERE id = ?", (number,)).fetchone()
        return bytes(found[0])

    def add_finished(self, rows: Iterable[RawRow]) -> None:
        """Add finished rows of another store, under their numbers there."""
        with self.change() as c:
            for row in rows:
                result = row.result
                for text in (row.value_names, row.environment):
                    self._number(c, text)
                c.execute(
                    "INSERT INTO tasks (id, key, state, shape, deaths) VALUES (?, ?, ?, 0, 0)",
                    (row.id, row.key, state_of(result.status)),
                )
                values = (row.id, self._number(c, row.names), row.configuration)
                c.execute("INSERT INTO configurations VALUES (?, ?, ?)", values)
                c.execute(
                    "INSERT INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (row.id, *result, checksum(row.id, row.key, result)),
                )

    def count_death(self, row: int) -> int:
        """Count a worker process that died while it computed a row; return how many have."""
        with self.change() as c:
            c.execute("UPDATE tasks SET deaths = deaths + 1 WHERE id = ?", (row,))
            found = c.execute("SELECT deaths FROM tasks WHERE id = ?", (row,)).fetchone()
        return int(found[0])

    def retry_failed(self, sweep: int) -> None:
        """Let the failed rows of a sweep wait again."""
        chosen = f"id IN (SELECT task FROM members WHERE sweep = ?) AND state = {FAILED}"
        with self.change() as c:
            failed = c.execute(f"SELECT id FROM tasks WHERE {chosen}", (sweep,)).fetchall()
            c.executemany("UPDATE tasks SET state = 0, deaths = 0 WHERE id = ?", failed)
            c.executemany("DELETE FROM results WHERE id = ?", failed)

    def release_dead(self) -> None:
        """Let the rows wait again that dead processes had leased."""
        with self.change() as c:
            _release_all(c, dead_holders(c, self._watch, self._holder))

    def release(self, rows: Iterable[int]) -> None:
        """Let rows wait again that this process has leased and will not compute."""
        with self.change() as c:
            c.executemany(
                "UPDATE tasks SET state = 0, holder = NULL WHERE id = ? AND holder = ?",
                [(row, self._holder) for row in rows],
            )


def members_of(c: sqlite3.Connection, sweep: int) -> tuple[int, int]:
    """Return the number of the rows of a sweep, and the sum of their numbers."""
    sql = """SELECT count(*), coalesce(sum(m.task), 0) FROM members m
        JOIN tasks t ON t.id = m.task WHERE m.sweep = ?"""
    members, total = c.execute(sql, (sweep,)).fetchone()
    return int(members), int(total)


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
