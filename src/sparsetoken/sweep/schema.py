"""The tables of a store, and how its file is opened and checked."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from sparsetoken.validation import InvalidInput

__all__ = ["SCHEMA_VERSION", "StoreError", "connect", "damage_text", "store_errors"]

SCHEMA_VERSION = 2
APPLICATION = 0x53744B6E  # in the header of the file, which tells that it is a store of sweeps
BUSY_SECONDS = 60.0

TABLES = """
CREATE TABLE sweeps (id INTEGER PRIMARY KEY, text TEXT UNIQUE NOT NULL, complete INTEGER NOT NULL);
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, state INTEGER NOT NULL,
    shape INTEGER NOT NULL, series INTEGER, holder INTEGER, deaths INTEGER NOT NULL);
CREATE INDEX leased ON tasks (holder) WHERE holder IS NOT NULL;
CREATE INDEX waiting ON tasks (id) WHERE state = 0;
CREATE TABLE members (
    sweep INTEGER NOT NULL, task INTEGER NOT NULL, PRIMARY KEY (sweep, task)) WITHOUT ROWID;
CREATE TABLE layouts (id INTEGER PRIMARY KEY, names TEXT UNIQUE NOT NULL);
CREATE TABLE configurations (
    id INTEGER PRIMARY KEY, layout INTEGER NOT NULL, content TEXT NOT NULL);
CREATE TABLE results (
    id INTEGER PRIMARY KEY, layout INTEGER NOT NULL, content TEXT NOT NULL,
    status TEXT NOT NULL, message TEXT, seed BLOB, seconds REAL, environment INTEGER,
    checksum INTEGER NOT NULL);
CREATE TABLE environments (id INTEGER PRIMARY KEY, facts TEXT UNIQUE NOT NULL);
CREATE TABLE holders (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
    version TEXT NOT NULL, heartbeat REAL NOT NULL);
"""
"""A task is a row that is to be computed; tasks, configurations and results share their ids.

A layout is the list of names that many configurations or results have in common.
"""


class StoreError(Exception):
    """A store that cannot be used or written; the message says why and what to do."""


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one sentence about the file or its disk."""
    try:
        yield
    except sqlite3.Error as error:
        raise StoreError(_explained(path, str(error))) from error


def _explained(path: Path, error: str) -> str:
    kept = "What was finished before is in it; run the same command again to go on."
    causes = {
        "disk is full": f"The disk of {path} is full. {kept}",
        "disk I/O error": f"The disk of {path} failed or is full. {kept}",
        "readonly": f"{path} cannot be written. Use another file.",
        "unable to open": f"{path} cannot be opened or created: is its folder there, and writable?",
        "locked": f"{path} is locked by another program. {kept}",
        "malformed": damage_text(path),
        "not a database": damage_text(path),
        "no such table": damage_text(path),
    }
    for part, text in causes.items():
        if part in error:
            return text
    return f"{path}: {error}."


def damage_text(path: Path) -> str:
    """Return what to do about a damaged file."""
    return (
        f"{path} is damaged, or not a store. `sparsetoken results {path} --export OUT.csv` "
        "saves what can be read; then start a new file."
    )


def connect(path: Path, *, write: bool) -> sqlite3.Connection:
    """Open a store; with `write`, create it if it is not there.

    Raises
    ------
    InvalidInput
        If there is no such file, or it is another kind of file or of another version.
    StoreError
        If it is damaged or cannot be written.
    """
    if not write and not path.is_file():
        raise InvalidInput("FILE", "a store that is there", str(path))
    with store_errors(path):
        connection = _opened(path, write)
        try:
            connection.execute("BEGIN")  # another process may be creating the file
            _check_kind(connection, path, write)
            _check_size(connection, path)
            connection.execute("COMMIT")
            if write:
                _create(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def _opened(path: Path, write: bool) -> sqlite3.Connection:
    if write:
        connection = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    else:
        connection = _read_only(path)
    connection.execute("PRAGMA cache_size = -65536")
    return connection


def _read_only(path: Path) -> sqlite3.Connection:
    """Open for reading, also where the folder cannot be written."""
    uri = path.resolve().as_uri()
    connection = sqlite3.connect(
        f"{uri}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError:
        connection.close()
        pending = path.with_name(path.name + "-wal")
        if pending.exists() and pending.stat().st_size > 0:
            raise  # an immutable connection would not see what the log holds
        connection = sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None)
    return connection


def _check_kind(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    if application == 0 and version == 0 and tables == 0:
        if not write:
            raise InvalidInput("FILE", "a store of sweeps", f"{path}, an empty file")
        return
    if application != APPLICATION:
        remedy = "Use another file."
        raise InvalidInput("FILE", "a store of sweeps", f"{path}, another SQLite file", remedy)
    if version != SCHEMA_VERSION:
        side = "a newer" if version > SCHEMA_VERSION else "an older"
        remedy = f"It was made by {side} version of sparsetoken; use that one, or another file."
        raise InvalidInput("FILE", f"a store of format {SCHEMA_VERSION}", version, remedy)


def _check_size(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that was cut short. While a log is there, pages may be in it alone."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    log = path.with_name(path.name + "-wal")
    if log.exists() and log.stat().st_size > 0:
        return
    if path.stat().st_size < pages * connection.execute("PRAGMA page_size").fetchone()[0]:
        raise StoreError(damage_text(path))


def _create(connection: sqlite3.Connection) -> None:
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = NORMAL")
    if connection.execute("PRAGMA user_version").fetchone()[0] == SCHEMA_VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")
    if connection.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
        for statement in TABLES.split(";"):
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    connection.execute("COMMIT")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to a write-ahead log; SQLite itself does not wait while another process does so."""
    deadline = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
