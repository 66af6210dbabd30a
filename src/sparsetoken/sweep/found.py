"""Finished rows as they are read from a store, each with its check sum."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken.sweep.schema import StoreError

__all__ = ["RawRow", "Result", "Row", "checksum", "parsed", "raw_rows"]

CHUNK = 5000


class Row(NamedTuple):
    """A finished row."""

    id: int
    configuration: dict[str, Any]
    status: str
    values: dict[str, Any]
    message: str
    seed: int | None
    seconds: float
    facts: dict[str, Any]


class Result(NamedTuple):
    """What was found, as it is stored."""

    values: str
    status: str
    message: str | None
    seed: bytes | None


class RawRow(NamedTuple):
    """A finished row as texts: names and values of the configuration, names of the result."""

    id: int
    names: str
    configuration: str
    found: str
    result: Result
    seconds: float
    facts: str


def checksum(result: Result) -> int:
    """Return a check sum of what was found."""
    text = f"{result.values}|{result.status}|{result.message or ''}|{(result.seed or b'').hex()}"
    return zlib.crc32(text.encode())


def raw_rows(
    connection: sqlite3.Connection, path: Path, sweep: int | None, low: int, high: int
) -> Iterator[list[RawRow]]:
    """Yield the results numbered low to high - 1, of a sweep or of all, in chunks.

    Raises
    ------
    StoreError
        If a row does not agree with its check sum.
    """
    member = "" if sweep is None else "AND r.id IN (SELECT work FROM members WHERE sweep = ?)"
    sql = f"""SELECT r.id, a.names, g.content, b.names, r.content, r.status, r.message, r.seed,
        r.seconds, e.facts, r.checksum FROM results r JOIN configurations g ON g.id = r.id
        JOIN layouts a ON a.id = g.layout JOIN layouts b ON b.id = r.layout
        JOIN environments e ON e.id = r.environment
        WHERE r.id >= ? AND r.id < ? {member} ORDER BY r.id"""
    cursor = connection.execute(sql, (low, high, *(() if sweep is None else (sweep,))))
    while chunk := cursor.fetchmany(CHUNK):
        yield [_verified(path, row) for row in chunk]


def _verified(path: Path, row: tuple) -> RawRow:
    number, names, configuration, found, *result, seconds, facts, known = row
    kept = Result(*result)
    if checksum(kept) != known:
        raise StoreError(f"Row {number} of {path} is damaged.")
    return RawRow(number, names, configuration, found, kept, seconds, facts)


def parsed(raw: RawRow) -> Row:
    """Return the row with its texts read."""
    values, status, message, seed = raw.result
    return Row(
        raw.id,
        dict(zip(json.loads(raw.names), json.loads(raw.configuration), strict=True)),
        status,
        dict(zip(json.loads(raw.found), json.loads(values), strict=True)),
        message or "",
        None if seed is None else int.from_bytes(seed, "big"),
        raw.seconds,
        json.loads(raw.facts),
    )
