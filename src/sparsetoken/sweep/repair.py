"""Repair before a run: what does not match its key or its checksum is dropped.

The plan of a run says what all of its rows are, so what is dropped is computed anew.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Collection

from sparsetoken.sweep.integrity import last_number, pieces
from sparsetoken.sweep.keys import key_of_texts
from sparsetoken.sweep.reading import LEASED, WAITING, seal, state_of
from sparsetoken.sweep.rows import verified
from sparsetoken.sweep.schema import DamagedStore, StoreError, damage_text
from sparsetoken.sweep.store import Store, members_of

DROP, REDO = "drop", "redo"
"""A row whose configuration is damaged, and one whose result is."""

SELECT = """SELECT t.id, t.key, t.state, t.holder, r.id, g.layout, g.content, r.layout, r.content,
    r.status, r.message, r.seed, r.seconds, r.environment, r.checksum
    FROM tasks t LEFT JOIN configurations g ON g.id = t.id LEFT JOIN results r ON r.id = t.id
    WHERE t.id >= ? AND t.id < ?"""


def repair(store: Store) -> int:
    """Check every part of a store; return how many rows were damaged.

    A row whose configuration is damaged is dropped, and each sweep that had it is no longer
    complete, so that it is added again. A row whose result is damaged waits again.

    Raises
    ------
    StoreError
        If the structure of the file is damaged: then no part of it can be relied on.
    """
    _mend_structure(store)
    damaged = _check_rows(store)
    _drop_strays(store)
    _check_sweeps(store)
    return damaged


def _mend_structure(store: Store) -> None:
    """Rebuild the indexes if they do not match their tables."""
    check = "PRAGMA integrity_check(1)"
    if store.query(check) == [("ok",)]:
        return
    try:
        store.query("REINDEX")
        whole = store.query(check) == [("ok",)]
    except StoreError:
        whole = False
    if not whole:
        raise DamagedStore(damage_text(store.path))


def _check_rows(store: Store) -> int:
    holders = _holders(store)
    suspects: list[int] = []

    def doubtful(low: int, high: int) -> list[int]:
        found = store.query(SELECT, (low, high))
        return [row[0] for row in found if _verdict(store, row, holders) is not None]

    for number, some in pieces(doubtful, last_number(store)):
        suspects += [number] if some is None else some
    if not suspects:
        return 0
    with store.change() as c:
        holders = _holders(store)  # another process may have begun in the meantime
        return sum(_mend(store, c, number, holders) for number in suspects)


def _holders(store: Store) -> set[int]:
    return {number for (number,) in store.query("SELECT id FROM holders")}


def _verdict(store: Store, row: tuple, holders: Collection[int]) -> str | int | None:
    """Return None for a row that is whole, else what becomes of it: a word or its state."""
    number, key, state, holder, has_result, layout, content, *stored = row
    names = store.text(layout)
    if names is None or type(content) is not str or key_of_texts(names, content) != key:
        return DROP
    if has_result is None:
        whole = state == WAITING or (state == LEASED and holder in holders)
        return None if whole else REDO
    raw = verified(store.text, (number, layout, content, *stored))
    if raw is None:
        return REDO
    known = state_of(raw.result.status)
    return None if known == state else known


def _mend(store: Store, c: sqlite3.Connection, number: int, holders: Collection[int]) -> int:
    """Drop or reset a row if it is damaged still; return whether it was."""
    try:
        rows = c.execute(SELECT, (number, number + 1)).fetchall()
        verdicts = [_verdict(store, row, holders) for row in rows]
    except sqlite3.Error:  # such as a text that is none
        verdicts = [DROP]
    if not verdicts or verdicts[0] is None:
        return 0
    if verdicts[0] == DROP:
        for table in ("tasks", "configurations", "results"):
            c.execute(f"DELETE FROM {table} WHERE id = ?", (number,))
        c.execute("DELETE FROM members WHERE task = ?", (number,))
        return 1
    if verdicts[0] == REDO:
        c.execute("DELETE FROM results WHERE id = ?", (number,))
    state = WAITING if verdicts[0] == REDO else verdicts[0]
    c.execute("UPDATE tasks SET state = ?, holder = NULL WHERE id = ?", (state, number))
    return 1


def _drop_strays(store: Store) -> None:
    """Drop configurations and results without a task, whose number was damaged."""
    for table in ("configurations", "results"):
        stray = f"SELECT id FROM {table} WHERE id NOT IN (SELECT id FROM tasks)"
        if store.query(f"{stray} LIMIT 1"):
            with store.change() as c:
                c.execute(f"DELETE FROM {table} WHERE id IN ({stray})")


def _check_sweeps(store: Store) -> None:
    """Drop sweeps whose text is damaged; those that have lost rows are no longer complete."""
    for (number,) in store.query("SELECT id FROM sweeps"):
        with store.change() as c:
            sql = "SELECT text, complete, members, total, checksum FROM sweeps WHERE id = ?"
            try:
                text, complete, *known, checksum = c.execute(sql, (number,)).fetchone()
            except sqlite3.OperationalError:  # a text that is none
                text, complete, known, checksum = "", 0, [0, 0], None
            sound = seal(text, complete, *known) == checksum
            if sound and (not complete or list(members_of(c, number)) == known):
                continue
            c.execute("DELETE FROM members WHERE sweep = ?", (number,))
            if sound:
                c.execute(
                    "UPDATE sweeps SET complete = 0, members = 0, total = 0, checksum = ? "
                    "WHERE id = ?",
                    (seal(text, 0, 0, 0), number),
                )
            else:
                c.execute("DELETE FROM sweeps WHERE id = ?", (number,))
