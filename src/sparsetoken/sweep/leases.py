"""Leases: which processes hold rows of a store, and whether these processes still run.

A process that runs sweeps on a store is a holder. It writes a heartbeat into the store, so that
other machines can see that it runs; processes of its own machine look it up. Clocks of two
machines are never compared: a heartbeat that does not change for a minute, by the clock of the
process that watches it, is that of a dead process.
"""

from __future__ import annotations

import contextlib
import os
import socket
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from sparsetoken.sweep.schema import StoreError, connect
from sparsetoken.validation import InvalidInput

HEARTBEAT_SECONDS = 10.0
LEASE_SECONDS = 60.0
"""A holder on another machine counts as dead if its heartbeat is the same for so long."""


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


def _host() -> str:
    """Return the name of the machine, and of the namespace in which process ids mean something."""
    try:
        namespace = os.readlink("/proc/self/ns/pid")
    except OSError:
        namespace = ""
    return f"{socket.gethostname()} {namespace}".strip()


def register_holder(connection: sqlite3.Connection, version: str) -> int:
    """Add this process to the holders, and return its number in the store."""
    pid = os.getpid()
    row = (_host(), pid, started_at(pid), version, time.time())
    cursor = connection.execute(
        "INSERT INTO holders (host, pid, started, version, heartbeat) VALUES (?, ?, ?, ?, ?)", row
    )
    return int(cursor.lastrowid or 0)


class Watch:
    """What this process has seen of the holders of other machines, by its own clock."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[Any, float]] = {}
        self.moving: set[int] = set()  # holders whose heartbeat has changed while we looked

    def is_silent(self, holder: int, heartbeat: Any) -> bool:
        """Return whether a heartbeat has not changed for so long that its process is dead."""
        now = time.monotonic()
        if holder not in self._seen or self._seen[holder][0] != heartbeat:
            if holder in self._seen:
                self.moving.add(holder)
            self._seen[holder] = heartbeat, now
        return now - self._seen[holder][1] >= LEASE_SECONDS


def dead_holders(connection: sqlite3.Connection, watch: Watch, me: int | None = None) -> list[int]:
    """Return the holders that no longer run; `me` is this process, which does."""
    rows = connection.execute("SELECT id, host, pid, started, heartbeat FROM holders").fetchall()
    return [
        number
        for number, host, pid, started, heartbeat in rows
        if number != me
        and (started_at(pid) != started if host == _host() else watch.is_silent(number, heartbeat))
    ]


def living(connection: sqlite3.Connection, watch: Watch, version: str) -> tuple[set[str], bool]:
    """Return the other versions of the holders, and whether one of these surely runs."""
    rows = connection.execute("SELECT id, host, version FROM holders").fetchall()
    others = [row for row in rows if row[2] != version]
    surely = any(host == _host() or number in watch.moving for number, host, _ in others)
    return {str(row[2]) for row in others}, surely


def send_heartbeats(path: Path, holder: int, stop: threading.Event) -> None:
    """Write the time into the store every ten seconds, until told to stop."""
    while not stop.wait(HEARTBEAT_SECONDS):
        with contextlib.suppress(StoreError, InvalidInput, sqlite3.Error):
            connection = connect(path, write=True)
            try:
                sql = "UPDATE holders SET heartbeat = ? WHERE id = ?"
                connection.execute(sql, (time.time(), holder))
            finally:
                connection.close()
