"""Random streams from names and integers."""

from __future__ import annotations

import enum
import hashlib
import json

import numpy as np

from sparsetoken.base.validation import InvalidInput


class Stream(enum.IntEnum):
    """The independent sources of randomness of one trial."""

    SIGNAL = 0
    D0 = 1
    D1 = 2
    QUERY = 3
    TEST = 4
    FRESH = 5


def seed_of(*coordinates: str | int) -> int:
    """Return a 63-bit seed, a hash of names and whole numbers.

    Equal coordinates give equal seeds on every machine; others give unrelated ones. A computed
    number is no coordinate: its last digits differ from machine to machine. Places that are
    compared with one another take the same seed: they then share their random numbers, and
    their difference varies less than either.

    Raises
    ------
    InvalidInput
        If a coordinate is neither a text nor a whole number.
    """
    for coordinate in coordinates:
        if isinstance(coordinate, bool) or not isinstance(coordinate, (str, int)):
            raise InvalidInput("coordinate of a seed", "a text or a whole number", coordinate)
    text = json.dumps(coordinates, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1


def stream(seed: int, *path: int) -> np.random.Generator:
    """Return the generator of one source, or of one chunk of it: (source, chunk)."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))
