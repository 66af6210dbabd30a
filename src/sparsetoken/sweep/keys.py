"""Keys of results: hashes of the configurations that they depend on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def canonical_text(configuration: Mapping[str, Any]) -> str:
    """Return the configuration as JSON with sorted keys and no spaces."""
    return _ENCODER.encode(configuration)


def number_of(text: str) -> float:
    """Return a whole number in [0, 2^53), which a float holds, that is a hash of a text."""
    return float(int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest()) >> 11)


def rounded(value: float) -> float:
    """Return a computed axis value with 12 digits, so that its text is the same everywhere."""
    return float(f"{value:.12g}") + 0.0  # the sum turns -0.0 into 0.0
