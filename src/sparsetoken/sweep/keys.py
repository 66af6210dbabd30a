"""The key of a row: a hash of its configuration as canonical text."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping
from typing import Any

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def canonical_text(configuration: Mapping[str, Any]) -> str:
    """Return the configuration as JSON with sorted keys and no spaces."""
    return _ENCODER.encode(configuration)


def canonical_texts(configuration: Mapping[str, Any]) -> tuple[str, str]:
    """Return the sorted names of a configuration as a JSON list, and its values as another.

    A store keeps a configuration as these two texts, so that its key can be verified without
    reading them.
    """
    names, text = _sorted(tuple(configuration))
    return text, _ENCODER.encode([configuration[name] for name in names])


@functools.lru_cache(maxsize=1000)
def _sorted(names: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    ordered = tuple(sorted(names))
    return ordered, _ENCODER.encode(ordered)


def key_of(configuration: Mapping[str, Any]) -> bytes:
    """Return 16 bytes that are the same for equal configurations, on every machine."""
    return key_of_texts(*canonical_texts(configuration))


def key_of_texts(names: str, values: str) -> bytes:
    """Return the key of the configuration with these canonical texts."""
    return hashlib.blake2b(f"{names}{values}".encode(), digest_size=16).digest()


def number_of(text: str) -> int:
    """Return a number in [0, 2^63) that is a hash of a text."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big") >> 1


def rounded(value: float) -> float:
    """Return a computed axis value with 12 digits, so that its text is the same everywhere."""
    return float(f"{value:.12g}") + 0.0  # the sum turns -0.0 into 0.0
