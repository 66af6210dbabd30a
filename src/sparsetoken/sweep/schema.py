"""The tables of a store, and how its file is opened and checked."""

from __future__ import annotations

import contextlib
import functools
import sqlite3
import time
from collections.abc import Iterator
from pathlib import Path

from sparsetoken.validation import Failure, InvalidInput

SCHEMA_VERSION = 3
APPLICATION = 0x53744B6E  # in the header of the file, which tells that it is a store of sweeps
BUSY_SECONDS = 60.0

TABLES = f"""
CREATE TABLE sweeps ( -- format {SCHEMA_VERSION}
    id INTEGER PRIMARY KEY, text TEXT UNIQUE NOT NULL, complete INTEGER NOT NULL,
    members INTEGER NOT NULL, total INTEGER NOT NULL, checksum INTEGER NOT NULL);
CREATE TABLE tasks (
    id INTEGER PRIMARY KEY, key BLOB UNIQUE NOT NULL, state INTEGER NOT NULL,
    shape INTEGER NOT NULL, series INTEGER, holder INTEGER, deaths INTEGER NOT NULL);
CREATE INDEX leased ON tasks (holder) WHERE holder IS NOT NULL;
CREATE INDEX waiting ON tasks (id) WHERE state = 0;
CREATE TABLE members (
    sweep INTEGER NOT NULL, task INTEGER NOT NULL, PRIMARY KEY (sweep, task)) WITHOUT ROWID;
CREATE TABLE texts (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE copies (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
CREATE TABLE configurations (
    id INTEGER PRIMARY KEY, layout INTEGER NOT NULL, content TEXT NOT NULL);
CREATE TABLE results (
    id INTEGER PRIMARY KEY, layout INTEGER NOT NULL, content TEXT NOT NULL,
    status TEXT NOT NULL, message TEXT, seed BLOB, seconds REAL, environment INTEGER,
    checksum INTEGER NOT NULL);
CREATE TABLE holders (
    id INTEGER PRIMARY KEY, host TEXT NOT NULL, pid INTEGER NOT NULL, started TEXT NOT NULL,
    version TEXT NOT NULL, heartbeat REAL NOT NULL);
"""
"""A task is a row that is to be computed; tasks, configurations and results share their ids.

A text is what many rows have in common: a list of names (the layout of a configuration or a
result) or the environment of a computation. Its id is a hash of it. Since many rows depend on
it, there is a copy on another page of the file. The number of the format stands in the tables
too, so that a damaged header is not taken for another format.
"""

PAGE = 4096
FIXED = f"PRAGMA page_size = {PAGE}; PRAGMA auto_vacuum = NONE; PRAGMA encoding = 'UTF-8'"
"""Said before a file is made, so that the first page of all stores is the same but for counters.

Salvage relies on it.
"""


class StoreError(Failure):
    """A store that cannot be used or written; the message says why and what to do."""


class DamagedStore(StoreError):
    """A store whose structure is damaged."""


class EmptyStore(InvalidInput):
    """A file without tables, such as one whose creation was interrupted."""


@contextlib.contextmanager
def store_errors(path: Path) -> Iterator[None]:
    """Turn an error of SQLite into one sentence about the file or its disk."""
    try:
        yield
    except sqlite3.Error as error:
        text = str(error)
        if any(part in text for part in DAMAGE):
            raise DamagedStore(damage_text(path)) from error
        raise StoreError(_explained(path, text)) from error


DAMAGE = ("malformed", "not a database", "no such table", "no such column", "Could not decode")


def _explained(path: Path, error: str) -> str:
    kept = "What was finished before is in it; run the same command again to go on."
    causes = {
        "disk is full": f"The disk of {path} is full. {kept}",
        "disk I/O error": f"The disk of {path} failed or is full. {kept}",
        "readonly": f"{path} cannot be written. Use another file.",
        "unable to open": f"{path} cannot be opened or created: is its folder there, and writable?",
        "locked": f"{path} is locked by another program. {kept}",
    }
    for part, text in causes.items():
        if part in error:
            return text
    return f"{path}: {error}."


def damage_text(path: Path) -> str:
    """Return what to do about a damaged file."""
    return (
        f"{path} is damaged, or not a store. `sparsetoken results {path} --export NEW.sqlite` "
        "writes a store of all rows that are whole; go on with that one."
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
        with _closed_on_error(connection):
            connection.execute("BEGIN")  # another process may be creating the file
            _check_kind(connection, path, write)
            _check_size(connection, path)
            connection.execute("COMMIT")
            if write:
                _create(connection)
        return connection


def _opened(path: Path, write: bool) -> sqlite3.Connection:
    if write:
        # The whole path: SQLite takes some names, such as :memory:, for no file.
        whole = path.absolute()
        connection = sqlite3.connect(whole, timeout=BUSY_SECONDS, isolation_level=None)
    else:
        connection = _read_only(path)
    with _closed_on_error(connection):
        if write and (not path.exists() or not path.stat().st_size):
            connection.executescript(FIXED)
        connection.execute("PRAGMA cache_size = -65536")
    return connection


@contextlib.contextmanager
def _closed_on_error(connection: sqlite3.Connection) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _read_only(path: Path) -> sqlite3.Connection:
    """Open for reading, also where the folder cannot be written."""
    uri = path.resolve().as_uri()
    if _beside(path, "-journal"):
        _roll_back(uri)
    connection = sqlite3.connect(
        f"{uri}?mode=ro", uri=True, timeout=BUSY_SECONDS, isolation_level=None
    )
    try:
        with _closed_on_error(connection):
            connection.execute("PRAGMA schema_version").fetchone()
    except sqlite3.OperationalError:
        if _beside(path, "-wal"):
            raise  # an immutable connection would not see what the log holds
        connection = sqlite3.connect(f"{uri}?immutable=1", uri=True, isolation_level=None)
    return connection


def _beside(path: Path, ending: str) -> bool:
    """Return whether SQLite has left something in a file beside the store."""
    other = path.with_name(path.name + ending)
    return other.exists() and other.stat().st_size > 0


def _roll_back(uri: str) -> None:
    """Undo what a process had half written when it was killed, which a reader may not do."""
    connection = sqlite3.connect(f"{uri}?mode=rw", uri=True, timeout=BUSY_SECONDS)
    try:
        connection.execute("PRAGMA schema_version").fetchone()
    finally:
        connection.close()


def _check_kind(connection: sqlite3.Connection, path: Path, write: bool) -> None:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    found = {sql for (sql,) in connection.execute("SELECT sql FROM sqlite_master")}
    if application == 0 and version == 0 and not found:
        if not write:
            remedy = "If the making of a store was interrupted, its sweep can be run on this file."
            raise EmptyStore("FILE", "a store of sweeps", f"{path}, an empty file", remedy)
        return
    whole = set(_definitions()) <= found
    signs = (application == APPLICATION) + (version == SCHEMA_VERSION) + whole
    if signs == 3:
        return
    if signs == 2:
        raise DamagedStore(damage_text(path))
    if application != APPLICATION:
        remedy = "Use another file."
        raise InvalidInput("FILE", "a store of sweeps", f"{path}, another SQLite file", remedy)
    side = "a newer" if version > SCHEMA_VERSION else "an older"
    remedy = f"It was made by {side} version of sparsetoken; use that one, or another file."
    got = f"{path} of format {version}"
    raise InvalidInput("FILE", f"a store of format {SCHEMA_VERSION}", got, remedy)


def _check_size(connection: sqlite3.Connection, path: Path) -> None:
    """Refuse a file that was cut short. While a log is there, pages may be in it alone."""
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    if _beside(path, "-wal"):
        return
    if path.stat().st_size < pages * connection.execute("PRAGMA page_size").fetchone()[0]:
        raise DamagedStore(damage_text(path))


def _create(connection: sqlite3.Connection) -> None:
    """Make the tables if need be, then switch to a write-ahead log.

    The tables are one transaction of a rollback journal: a process that is killed leaves an
    empty file or all of them, and the next one goes on from either.
    """
    if connection.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] != SCHEMA_VERSION:
            _make_tables(connection)
        connection.execute("COMMIT")
    _write_ahead(connection)
    connection.execute("PRAGMA synchronous = NORMAL")


def _make_tables(connection: sqlite3.Connection) -> None:
    for statement in TABLES.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION}")
    connection.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")


@functools.cache
def _definitions() -> tuple[str | None, ...]:
    """Return what SQLite says of the tables of a store."""
    connection = sqlite3.connect(":memory:")
    _make_tables(connection)
    found = connection.execute("SELECT sql FROM sqlite_master").fetchall()
    connection.close()
    return tuple(sql for (sql,) in found)


def empty_store(folder: Path) -> bytes:
    """Return the content of an empty store, which is made in a folder."""
    path = folder / "empty.sqlite"
    connect(path, write=True).close()
    return path.read_bytes()


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
