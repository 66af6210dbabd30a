"""Memory is checked before it is allocated."""

from __future__ import annotations

from collections.abc import Iterator

DEFAULT_BUDGET = 4 * 2**30
CHUNK_BYTES = 2**25  # of tokens
SCALAR_BYTES = 2**19  # of one scalar per token
FLOAT = 8
TOKEN_SCALARS = 8  # arrays of one scalar per token that are alive at once
SAMPLE_SCALARS = 20  # arrays of one scalar per sample that are alive at once


def chunk_rows(row_bytes: int) -> int:
    """Return the rows of a chunk of tokens.

    The layout does not depend on the budget, since chunks are seeded by their number.
    """
    return max(1, CHUNK_BYTES // row_bytes)


def scalar_rows(length: int) -> int:
    """Return the rows of a chunk with one scalar per token, whatever the budget."""
    return max(1, SCALAR_BYTES // (FLOAT * length))


def chunk_sizes(n: int, rows: int) -> Iterator[int]:
    """Yield the sizes of the chunks of n rows."""
    return (min(rows, n - first) for first in range(0, n, rows))


def design_bytes(columns: int, n: int) -> int:
    """Return the most that stage 4 takes: features, three copies, two Gram matrices.

    That is a fit by factors of many columns; one by conjugate gradients takes 1.5 to 2.5 times
    the features.
    """
    return FLOAT * (4 * n * columns + 2 * min(n, columns) ** 2 + SAMPLE_SCALARS * n)


def scalar_bytes(length: int) -> int:
    """Return the peak memory of a chunk of scalars per token: one row at least."""
    return TOKEN_SCALARS * max(SCALAR_BYTES, FLOAT * length)


def pass_bytes(engine: str, length: int, n: int, d: int) -> int:
    """Return the peak memory of a pass over n samples, by chunks."""
    if engine == "reduced":
        return SAMPLE_SCALARS * FLOAT * n
    row = FLOAT * length * d
    return 2 * min(n * row, max(CHUNK_BYTES, row)) + TOKEN_SCALARS * min(
        n * FLOAT * length, max(CHUNK_BYTES, FLOAT * length)
    )
