"""Memory is counted before it is allocated."""

from __future__ import annotations

from collections.abc import Callable

from sparsetoken.validation import InvalidInput, integer

__all__ = ["CHUNK_BYTES", "DEFAULT_BUDGET", "chunk_rows", "require_memory"]

DEFAULT_BUDGET = 4 * 2**30
CHUNK_BYTES = 2**25
FLOAT = 8


def chunk_rows(row_bytes: int) -> int:
    """Return the rows of a chunk.

    The layout does not depend on the budget, since chunks are seeded by their number.
    """
    return max(1, CHUNK_BYTES // row_bytes)


def columns(model: str, engine: str, length: int, n: int, d: int) -> int:
    """Return the number of columns of the stage-4 design matrix."""
    full = length * d if model == "vectorized" else d
    if engine == "tensors":
        return full
    named = {"pooled": 1, "vectorized": length}.get(model, 2)
    return named + min(n, full - named)


def design_bytes(model: str, engine: str, length: int, n: int, d: int) -> int:
    """Return the peak memory of stage 4: the features, three copies, two Gram matrices."""
    m = columns(model, engine, length, n, d)
    return FLOAT * (4 * n * m + 2 * min(n, m) ** 2)


def query_bytes(engine: str, length: int, n: int, d: int) -> int:
    """Return the peak memory of stages 1-3 (or of one pass over D1), by chunks."""
    if engine == "reduced":
        return 10 * FLOAT * n
    row = FLOAT * length * d
    return 2 * row * min(n, chunk_rows(row))


def require_memory(
    need: Callable[[int], int], dimension: int, budget: int | None, remedy: str = ""
) -> None:
    """Raise `InvalidInput` if ``need(dimension)`` bytes exceed the budget.

    The message names the largest dimension that fits; `need` rises with d.
    """
    limit = DEFAULT_BUDGET if budget is None else integer("memory_budget", budget, 1)
    if need(dimension) <= limit:
        return
    low, high = 0, dimension
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if need(middle) <= limit else (low, middle)
    fits = f"dimension <= {low} would fit" if low else "No dimension would fit"
    raise InvalidInput(
        "memory_budget",
        f"at least {need(dimension):,} bytes at dimension {dimension}",
        limit,
        f"{fits}. {remedy}",
    )
