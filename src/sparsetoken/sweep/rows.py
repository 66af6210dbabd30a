"""Finished rows as they are read from a store, each verified by its checksum."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken.sweep.schema import StoreError

__all__ = ["RawRow", "Row", "StoredResult", "checksum", "parse", "read_rows"]

CHUNK = 5000

SELECT = """SELECT r.id, a.names, g.content, b.names, r.content, r.status, r.message, r.seed,
    r.seconds, e.facts, r.checksum FROM results r JOIN configurations g ON g.id = r.id
    JOIN layouts a ON a.id = g.layout JOIN layouts b ON b.id = r.layout
    JOIN environments e ON e.id = r.environment
    WHERE r.id >= ? AND r.id < ? {member} ORDER BY r.id"""


class Row(NamedTuple):
    """A finished row."""

    id: int
    configuration: dict[str, Any]
    status: str
    values: dict[str, Any]
    message: str
    seed: int | None
    seconds: float
    environment: dict[str, Any]


class StoredResult(NamedTuple):
    """The part of a result that the checksum covers, as it is stored."""

    values: str
    status: str
    message: str | None
    seed: bytes | None


class RawRow(NamedTuple):
    """A finished row whose names and values are still JSON texts."""

    id: int
    names: str
    configuration: str
    value_names: str
    result: StoredResult
    seconds: float
    environment: str


def checksum(result: StoredResult) -> int:
    """Return the CRC-32 of a result."""
    text = f"{result.values}|{result.status}|{result.message or ''}|{(result.seed or b'').hex()}"
    return zlib.crc32(text.encode())


def read_rows(
    connection: sqlite3.Connection, path: Path, sweep: int | None, low: int, high: int
) -> Iterator[list[RawRow]]:
    """Yield the results numbered low to high - 1, of a sweep or of all, in chunks.

    Raises
    ------
    StoreError
        If a row does not agree with its checksum.
    """
    member = "" if sweep is None else "AND r.id IN (SELECT task FROM members WHERE sweep = ?)"
    chosen = () if sweep is None else (sweep,)
    cursor = connection.execute(SELECT.format(member=member), (low, high, *chosen))
    while chunk := cursor.fetchmany(CHUNK):
        yield [_verified(path, row) for row in chunk]


def _verified(path: Path, row: tuple) -> RawRow:
    number, names, configuration, value_names, *stored, seconds, environment, known = row
    result = StoredResult(*stored)
    if checksum(result) != known:
        raise StoreError(f"Row {number} of {path} is damaged.")
    return RawRow(number, names, configuration, value_names, result, seconds, environment)


def parse(raw: RawRow) -> Row:
    """Return the row with its JSON texts read."""
    values, status, message, seed = raw.result
    return Row(
        raw.id,
        dict(zip(json.loads(raw.names), json.loads(raw.configuration), strict=True)),
        status,
        dict(zip(json.loads(raw.value_names), json.loads(values), strict=True)),
        message or "",
        None if seed is None else int.from_bytes(seed, "big"),
        raw.seconds,
        json.loads(raw.environment),
    )
