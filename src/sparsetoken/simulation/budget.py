"""Memory is checked before it is allocated."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from sparsetoken.validation import InvalidInput, integer

DEFAULT_BUDGET = 4 * 2**30
CHUNK_BYTES = 2**25  # of tokens
SCALAR_BYTES = 2**19  # of one scalar per token
FLOAT = 8
TOKEN_SCALARS = 8  # arrays of one scalar per token that are alive at once
SAMPLE_SCALARS = 20  # arrays of one scalar per sample that are alive at once


class Columns(NamedTuple):
    """Numbers of columns of a design matrix: those the score depends on, and the rest."""

    named: int
    rest: int


class Size(NamedTuple):
    """The sizes that determine the memory."""

    dimension: int
    length: int


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


def design_bytes(columns: Columns, engine: str, n: int) -> int:
    """Return the most that stage 4 takes: features, three copies, two Gram matrices.

    That is a fit by factors of many columns; one by conjugate gradients takes 1.5 to 2.5 times
    the features.
    """
    rest = columns.rest if engine == "tensors" else min(n, columns.rest)
    m = columns.named + rest
    return FLOAT * (4 * n * m + 2 * min(n, m) ** 2 + SAMPLE_SCALARS * n)


def scalar_bytes(length: int) -> int:
    """Return the peak memory of a chunk of scalars per token: one row at least."""
    return TOKEN_SCALARS * max(SCALAR_BYTES, FLOAT * length)


def query_bytes(engine: str, length: int, n: int, d: int) -> int:
    """Return the peak memory of stages 1-3 (or of one pass over D1), by chunks."""
    if engine == "reduced":
        return SAMPLE_SCALARS * FLOAT * n
    row = FLOAT * length * d
    return 2 * min(n * row, max(CHUNK_BYTES, row)) + TOKEN_SCALARS * min(
        n * FLOAT * length, max(CHUNK_BYTES, FLOAT * length)
    )


def require_memory(
    need: Callable[[Size], int], size: Size, least: Size, budget: int | None, remedy: str
) -> None:
    """Raise `InvalidInput` if ``need(size)`` bytes exceed the budget.

    The message names the largest dimension and the largest length, from `least` on,
    that would fit with the other unchanged; `need` rises with both.
    """
    limit = DEFAULT_BUDGET if budget is None else integer("memory_budget", budget, 1)
    if need(size) <= limit:
        return
    fits = []
    for name, low, high in zip(Size._fields, least, size, strict=True):

        def fit(value: int, name: str = name) -> bool:
            return need(size._replace(**{name: value})) <= limit

        if fit(low):
            fits.append(f"{name} <= {_last(fit, low, high)}")
    would = " or ".join(fits) if fits else "No change of dimension or length alone"
    raise InvalidInput(
        "memory_budget",
        f"at least {need(size):,} bytes at dimension {size.dimension}, length {size.length}",
        limit,
        f"{would} would fit. {remedy}",
    )


def _last(fit: Callable[[int], bool], low: int, high: int) -> int:
    """Return the last value that fits, between one that does and one that does not."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fit(middle) else (low, middle)
    return low
