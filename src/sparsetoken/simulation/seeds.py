"""Random streams from declared coordinates."""

from __future__ import annotations

import enum
import hashlib
import json
from typing import Any

import numpy as np

__all__ = ["Stream", "seed_of", "stream"]


class Stream(enum.IntEnum):
    """The independent sources of randomness of one trial."""

    SIGNAL = 0
    D0 = 1
    D1 = 2
    QUERY = 3
    TEST = 4
    FRESH = 5


def seed_of(**coordinates: Any) -> int:
    """Return a 128-bit seed, a hash of the coordinates of a trial as canonical JSON.

    Equal coordinates give equal seeds, whatever else runs; others give unrelated ones.
    """
    text = json.dumps(coordinates, sort_keys=True, separators=(",", ":"))
    digest = hashlib.blake2b(text.encode(), digest_size=16).digest()
    return int.from_bytes(digest, "big")


def stream(seed: int, *path: int) -> np.random.Generator:
    """Return the generator of one source, or of one chunk of it: (source, chunk)."""
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=path))
