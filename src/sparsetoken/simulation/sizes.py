"""Sizes of arrays: chunks that stay small, and one check of the largest array."""

from __future__ import annotations

from collections.abc import Iterator

from sparsetoken.base.validation import InvalidInput

LARGEST_BYTES = 2 * 2**30  # of one array of a trial, which takes a few times that at its peak
CHUNK_BYTES = 2**25  # of tokens
SCALAR_BYTES = 2**19  # of one scalar per token
FLOAT = 8


def chunk_rows(row_bytes: int) -> int:
    """Return the rows of a chunk of tokens; chunks are seeded by their number."""
    return max(1, CHUNK_BYTES // row_bytes)


def scalar_rows(length: int) -> int:
    """Return the rows of a chunk with one scalar per token."""
    return max(1, SCALAR_BYTES // (FLOAT * length))


def chunk_sizes(n: int, rows: int) -> Iterator[int]:
    """Yield the sizes of the chunks of n rows."""
    return (min(rows, n - first) for first in range(0, n, rows))


def require_size(numbers: int, dimension: int, length: int, load: str) -> None:
    """Raise `InvalidInput` if the largest array has too many numbers; a lower load needs fewer."""
    if FLOAT * numbers > LARGEST_BYTES:
        legal = f"so small that no array of a trial exceeds {LARGEST_BYTES / 2**30:g} GiB"
        got = f"{dimension}, with one of {FLOAT * numbers / 2**30:.3g} GiB at length {length}"
        raise InvalidInput("dimension", legal, got, f"Lower dimension, length or {load}.")
