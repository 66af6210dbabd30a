"""Finished rows as they are read from a store, each part of them verified."""

from __future__ import annotations

import json
import sqlite3
import zlib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from sparsetoken.sweep.keys import key_of_texts

CHUNK = 5000
Lookup = Callable[[Any], str | None]
"""Gives the text that has a number in a store; None if it is not there or damaged."""

SELECT = """SELECT r.id, g.layout, g.content, r.layout, r.content, r.status, r.message, r.seed,
    r.seconds, r.environment, r.checksum
    FROM results r LEFT JOIN configurations g ON g.id = r.id
    WHERE r.id >= ?1 AND r.id < ?2 {member} ORDER BY r.id LIMIT ?2 - ?1"""
"""The limit says that no row follows, so that the last one does not hang on the page behind it."""


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
    """A result as it is stored; layout and environment are numbers of texts."""

    layout: int
    values: str
    status: str
    message: str | None
    seed: bytes | None
    seconds: float
    environment: int


class RawRow(NamedTuple):
    """A finished row whose names and values are still JSON texts."""

    id: int
    key: bytes
    names: str
    configuration: str
    value_names: str
    result: StoredResult
    environment: str


def checksum(number: int, key: bytes, result: StoredResult) -> int:
    """Return the CRC-32 of a result, of the number of its row and of its configuration's key.

    The numbers of layout and environment are hashes of these texts.
    """
    return zlib.crc32(ascii((number, key, *result)).encode())


def read_rows(
    connection: sqlite3.Connection, lookup: Lookup, sweep: int | None, low: int, high: int
) -> Iterator[list[RawRow | int]]:
    """Yield the results numbered low to high - 1, of a sweep or of all, in chunks.

    In place of a row that is damaged stands its number.
    """
    member = "" if sweep is None else "AND r.id IN (SELECT task FROM members WHERE sweep = ?3)"
    chosen = () if sweep is None else (sweep,)
    cursor = connection.execute(SELECT.format(member=member), (low, high, *chosen))
    while chunk := cursor.fetchmany(CHUNK):
        yield [verified(lookup, row) or row[0] for row in chunk]


def verified(lookup: Lookup, row: tuple) -> RawRow | None:
    """Return a row that `SELECT` gave, or None if a part of it is not what was written."""
    number, layout, content, *stored, known = row
    names = lookup(layout)
    if names is None or type(content) is not str:
        return None
    key, result = key_of_texts(names, content), StoredResult(*stored)
    if checksum(number, key, result) != known:
        return None
    value_names = lookup(result.layout)
    if value_names is None:
        return None
    # What a row was computed with belongs to no result: its loss is no loss of the row.
    facts = lookup(result.environment) or "{}"
    return RawRow(number, key, names, content, value_names, result, facts)


def parse(raw: RawRow) -> Row:
    """Return the row with its JSON texts read."""
    result = raw.result
    return Row(
        raw.id,
        dict(zip(json.loads(raw.names), json.loads(raw.configuration), strict=True)),
        result.status,
        dict(zip(json.loads(raw.value_names), json.loads(result.values), strict=True)),
        result.message or "",
        None if result.seed is None else int.from_bytes(result.seed, "big"),
        result.seconds,
        json.loads(raw.environment),
    )
