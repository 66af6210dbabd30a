"""The store: one SQLite file with what is to be done and what was found.

Every change is one short transaction, so that the file is whole whenever a process ends.
Two processes share a store: each claims the rows it runs, and rows of a dead one are freed.
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

from sparsetoken.sweep.canonical import key_of
from sparsetoken.sweep.found import Result, Row, checksum, parsed, raw_rows
from sparsetoken.sweep.owners import dead_owners, give_signs, register_owner
from sparsetoken.sweep.records import FAILED, Answer, Claim, Counts
from sparsetoken.sweep.schema import StoreError, connect, store_errors

__all__ = ["Store"]

WAITING, CLAIMED, CONVERGED, UNCONVERGED, FAILED_STATE = range(5)
CHUNK = 5000


class Store:
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
        self.path = Path(path)
        self._connection = connect(self.path, write=write)
        self._owner: int | None = None
        self._stop = threading.Event()
        self._layouts: dict[str, int] = {}
        self._facts: dict[str, int] = {}

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Free the rows that this process claimed, and close the file."""
        self._stop.set()
        with contextlib.suppress(StoreError, sqlite3.Error):
            if self._owner is not None:
                with self._change() as c:
                    self._free(c, [self._owner])
        self._connection.close()

    @contextlib.contextmanager
    def _change(self) -> Iterator[sqlite3.Connection]:
        with store_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield self._connection
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._layouts.clear()
                self._facts.clear()
                raise
            self._connection.execute("COMMIT")

    def query(self, sql: str, values: Sequence[Any] = ()) -> list[tuple]:
        """Return all rows of a question to the tables."""
        with store_errors(self.path):
            return self._connection.execute(sql, values).fetchall()

    # What is to be done.

    def begin(self, version: str) -> None:
        """Take part in running: register this process and give signs of life.

        Raises
        ------
        StoreError
            If a process of another version of the package runs on the store.
        """
        with self._change() as c:
            self._free(c, dead_owners(c))
            others = {row[0] for row in c.execute("SELECT DISTINCT version FROM owners")}
            if others - {version}:
                found = ", ".join(sorted(others - {version}))
                raise StoreError(
                    f"Version {found} of sparsetoken is running on {self.path}, and this is "
                    f"{version}. Wait until it ends, or use another file."
                )
            self._owner = register_owner(c, version)
        threading.Thread(
            target=give_signs, args=(self.path, self._owner, self._stop), daemon=True
        ).start()

    def add_sweep(
        self,
        text: str,
        rows: Iterable[Mapping[str, Any]],
        shape: Callable[[Mapping[str, Any]], int] = lambda _: 0,
        progress: Callable[[int], None] = lambda _: None,
    ) -> int:
        """Return the number of a sweep; if it is new, add its rows, in order.

        Parameters
        ----------
        text : str
            What is the same for the same sweep.
        rows : iterable of mappings
            Configurations; those that the store has already are shared.
        shape : callable
            A number that agrees for rows which may run in one batch.
        progress : callable
            Called with the number of rows added.
        """
        with self._change() as c:
            c.execute("INSERT OR IGNORE INTO sweeps (text, complete) VALUES (?, 0)", (text,))
            found = c.execute("SELECT id, complete FROM sweeps WHERE text = ?", (text,))
            sweep, complete = found.fetchone()
        if not complete:
            waiting = iter(rows)
            while chunk := list(itertools.islice(waiting, CHUNK)):
                with self._change() as c:
                    self._add_rows(c, sweep, chunk, shape)
                progress(len(chunk))
            with self._change() as c:
                c.execute("UPDATE sweeps SET complete = 1 WHERE id = ?", (sweep,))
        return int(sweep)

    def _add_rows(
        self,
        c: sqlite3.Connection,
        sweep: int,
        rows: list[Mapping[str, Any]],
        shape: Callable[[Mapping[str, Any]], int],
    ) -> None:
        members = []
        for row in rows:
            key = key_of(row)
            cursor = c.execute(
                "INSERT OR IGNORE INTO work (key, state, shape, deaths) VALUES (?, 0, ?, 0)",
                (key, shape(row)),
            )
            if cursor.rowcount:
                number = cursor.lastrowid
                content = json.dumps(list(row.values()), separators=(",", ":"))
                values = (number, self._layout(c, list(row)), content)
                c.execute("INSERT INTO configurations VALUES (?, ?, ?)", values)
            else:
                number = c.execute("SELECT id FROM work WHERE key = ?", (key,)).fetchone()[0]
            members.append((sweep, number))
        c.executemany("INSERT OR IGNORE INTO members VALUES (?, ?)", members)

    def _layout(self, c: sqlite3.Connection, names: list[str]) -> int:
        return _number(c, self._layouts, "layouts", "names", json.dumps(names))

    def claim(self, sweep: int, after: int, limit: int) -> list[Claim]:
        """Claim up to `limit` waiting rows of one shape, the first beyond row `after`."""
        sql = """SELECT w.id, w.shape, l.names, g.content FROM work w INDEXED BY waiting
            CROSS JOIN members m ON m.sweep = ? AND m.work = w.id
            JOIN configurations g ON g.id = w.id JOIN layouts l ON l.id = g.layout
            WHERE w.state = 0 AND w.id > ? ORDER BY w.id LIMIT ?"""
        with self._change() as c:
            rows = c.execute(sql, (sweep, after, limit)).fetchall()
            rows = list(itertools.takewhile(lambda row: row[1] == rows[0][1], rows))
            c.executemany(
                "UPDATE work SET state = 1, owner = ? WHERE id = ?",
                [(self._owner, row[0]) for row in rows],
            )
        return [
            Claim(number, shape, dict(zip(json.loads(names), json.loads(content), strict=True)))
            for number, shape, names, content in rows
        ]

    def finish(self, answers: Iterable[Answer], facts: str = "{}") -> None:
        """Write results. A row that has one already keeps it.

        Parameters
        ----------
        answers : iterable of Answer
        facts : str
            JSON of what they were computed with: versions, host.
        """
        with self._change() as c:
            environment = _number(c, self._facts, "environments", "facts", facts)
            for answer in answers:
                self._write(c, answer, environment)

    def _write(self, c: sqlite3.Connection, answer: Answer, environment: int) -> None:
        state = {"converged": CONVERGED, FAILED: FAILED_STATE}.get(answer.status, UNCONVERGED)
        changed = c.execute(
            "UPDATE work SET state = ?, owner = NULL WHERE id = ? AND state IN (0, 1)",
            (state, answer.id),
        )
        if not changed.rowcount:
            return
        layout = self._layout(c, list(answer.values))
        content = json.dumps(list(answer.values.values()), separators=(",", ":"))
        seed = None if answer.seed is None else answer.seed.to_bytes(16, "big")
        found = Result(content, answer.status, answer.message or None, seed)
        c.execute(
            "INSERT OR REPLACE INTO results VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (answer.id, layout, *found, answer.seconds, environment, checksum(found)),
        )

    def count_death(self, row: int) -> int:
        """Count a worker that died on a row; return how many have."""
        with self._change() as c:
            c.execute("UPDATE work SET deaths = deaths + 1 WHERE id = ?", (row,))
            found = c.execute("SELECT deaths FROM work WHERE id = ?", (row,)).fetchone()
        return int(found[0])

    def retry_failed(self, sweep: int) -> None:
        """Let the failed rows of a sweep wait again."""
        chosen = "id IN (SELECT work FROM members WHERE sweep = ?) AND state = 4"
        with self._change() as c:
            failed = c.execute(f"SELECT id FROM work WHERE {chosen}", (sweep,)).fetchall()
            c.executemany("UPDATE work SET state = 0, deaths = 0 WHERE id = ?", failed)
            c.executemany("DELETE FROM results WHERE id = ?", failed)

    def free_dead(self) -> None:
        """Let the rows wait again that dead processes had claimed."""
        with self._change() as c:
            self._free(c, dead_owners(c, self._owner))

    def give_back(self, rows: Iterable[int]) -> None:
        """Let rows wait again that this process will not run."""
        with self._change() as c:
            c.executemany(
                "UPDATE work SET state = 0, owner = NULL WHERE id = ? AND owner = ?",
                [(row, self._owner) for row in rows],
            )

    @staticmethod
    def _free(c: sqlite3.Connection, owners: list[int]) -> None:
        for owner in owners:
            c.execute("UPDATE work SET state = 0, owner = NULL WHERE owner = ?", (owner,))
            c.execute("DELETE FROM owners WHERE id = ?", (owner,))

    # What was found.

    def sweeps(self) -> dict[int, str]:
        """Return the text of each sweep by its number; the newest is last."""
        return dict(self.query("SELECT id, text FROM sweeps ORDER BY id"))

    def has_sweep(self, text: str) -> bool:
        """Return whether all rows of a sweep are written down."""
        return bool(self.query("SELECT 1 FROM sweeps WHERE text = ? AND complete = 1", (text,)))

    def counts(self, sweep: int | None = None) -> Counts:
        """Return what became of the rows of a sweep, or of all rows."""
        if sweep is None:
            found = dict(self.query("SELECT state, count(*) FROM work GROUP BY state"))
        else:
            sql = """SELECT w.state, count(*) FROM members m JOIN work w ON w.id = m.work
                WHERE m.sweep = ? GROUP BY w.state"""
            found = dict(self.query(sql, (sweep,)))
        unconverged = found.get(UNCONVERGED, 0)
        left = found.get(WAITING, 0) + found.get(CLAIMED, 0)
        return Counts(
            found.get(CONVERGED, 0) + unconverged, found.get(FAILED_STATE, 0), left, unconverged
        )

    def rows(self, sweep: int | None = None) -> Iterator[Row]:
        """Yield the finished rows of a sweep, or of all, failed ones too, by number."""
        for chunk in self.raw_rows(sweep):
            yield from map(parsed, chunk)

    def raw_rows(self, sweep: int | None = None, low: int = 0, high: int = 2**62) -> Iterator[list]:
        """Yield the results numbered low to high - 1 in chunks, as `raw_rows` does."""
        with store_errors(self.path):
            yield from raw_rows(self._connection, self.path, sweep, low, high)

    def statuses(self, keys: Iterable[bytes]) -> list[str | None]:
        """Return the status of the result under each key, None where there is none."""
        find = "SELECT status FROM results JOIN work USING (id) WHERE key = ?"
        with store_errors(self.path):
            found = [self._connection.execute(find, (key,)).fetchone() for key in keys]
        return [row and row[0] for row in found]


def _number(
    c: sqlite3.Connection, known: dict[str, int], table: str, column: str, text: str
) -> int:
    """Return the number of a text that many rows share."""
    if text not in known:
        c.execute(f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)", (text,))
        found = c.execute(f"SELECT id FROM {table} WHERE {column} = ?", (text,)).fetchone()
        if len(known) > 1000:
            known.clear()
        known[text] = found[0]
    return known[text]
