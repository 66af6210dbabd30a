"""The key of a row: a hash of its configuration as canonical text."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

__all__ = ["canonical_text", "key_of", "rounded"]


def canonical_text(configuration: Mapping[str, Any]) -> str:
    """Return the configuration as JSON with sorted keys and no spaces."""
    return json.dumps(configuration, sort_keys=True, separators=(",", ":"))


def key_of(configuration: Mapping[str, Any]) -> bytes:
    """Return 16 bytes that are the same for equal configurations, on every machine."""
    return hashlib.blake2b(canonical_text(configuration).encode(), digest_size=16).digest()


def rounded(value: float) -> float:
    """Return a computed axis value with 12 digits, so that its text is the same everywhere."""
    return float(f"{value:.12g}") + 0.0  # the sum turns -0.0 into 0.0
