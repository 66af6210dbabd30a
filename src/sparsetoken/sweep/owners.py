"""The processes that run sweeps on a store, and whether they live."""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
from pathlib import Path

from sparsetoken.sweep.schema import StoreError, connect
from sparsetoken.validation import InvalidInput

__all__ = [
    "BEAT_SECONDS",
    "LEASE_SECONDS",
    "dead_owners",
    "give_signs",
    "register_owner",
    "started_at",
]

BEAT_SECONDS = 10.0
LEASE_SECONDS = 60.0
"""After so long without a sign, a process that cannot be looked up counts as dead."""


def started_at(pid: int) -> str:
    """Return when a process of this machine began, "" if there is none, "?" if unknown."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
        fields = text.rpartition(")")[2].split()
        return "" if fields[0] in "ZX" else fields[19]
    except OSError:
        pass
    if Path("/proc/self/stat").exists():
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        pass
    return "?"


def _place() -> str:
    """Return the name of the space in which process ids mean something."""
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = ""
    return f"{socket.gethostname()} {space}".strip()


def register_owner(connection: sqlite3.Connection, version: str) -> int:
    """Add this process, and return its number in the store."""
    pid = os.getpid()
    row = (_place(), pid, started_at(pid), version, time.time())
    cursor = connection.execute(
        "INSERT INTO owners (host, pid, started, version, beat) VALUES (?, ?, ?, ?, ?)", row
    )
    return int(cursor.lastrowid or 0)


def dead_owners(connection: sqlite3.Connection, me: int | None = None) -> list[int]:
    """Return the owners that no longer run; `me` lives."""
    rows = connection.execute("SELECT id, host, pid, started, beat FROM owners").fetchall()
    return [row[0] for row in rows if row[0] != me and not _alive(*row[1:])]


def _alive(host: str, pid: int, started: str, last_beat: float) -> bool:
    if host == _place():
        return started_at(pid) == started
    return time.time() - last_beat < LEASE_SECONDS


def give_signs(path: Path, owner: int, stop: threading.Event) -> None:
    """Give a sign of life every ten seconds, until told to stop."""
    while not stop.wait(BEAT_SECONDS):
        with contextlib.suppress(StoreError, InvalidInput, sqlite3.Error):
            connection = connect(path, write=True)
            try:
                sql = "UPDATE owners SET beat = ? WHERE id = ?"
                connection.execute(sql, (time.time(), owner))
            finally:
                connection.close()
