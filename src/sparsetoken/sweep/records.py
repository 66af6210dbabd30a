"""What passes between the store and the processes that compute its rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sparsetoken.validation import Failure

CONVERGED = "converged"
FAILED = "failed"
"""The status of a row whose computation raised an error."""


class RunStopped(Failure):
    """A run that cannot go on. Rows that were finished are in the store."""

    def __str__(self) -> str:
        return f"{super().__str__()} The next run goes on from here."


class Counts(NamedTuple):
    """The rows of a sweep by state; `done` includes `not_converged`.

    Examples
    --------
    >>> from sparsetoken.sweep import Counts
    >>> counts = Counts(done=8, failed=1, left=3, not_converged=2)
    >>> counts.total
    12
    """

    done: int
    failed: int
    left: int
    not_converged: int

    @property
    def total(self) -> int:
        """All rows."""
        return self.done + self.failed + self.left


class Lease(NamedTuple):
    """A row that this process is to compute; no other process may do so while this one lives.

    Rows of one shape may share a batch, and rows of one series are computed by one call.
    """

    id: int
    shape: int
    series: int | None
    configuration: dict[str, Any]


class Result(NamedTuple):
    """The result of one row.

    Attributes
    ----------
    values : mapping
        Numbers by name, or anything else that JSON can hold.
    status : str
        converged, or the code of what stopped the computation.
    remedy : str
        What to try if it did not converge.
    seed : int or None
        The seed of the random streams of a simulation.
    """

    values: Mapping[str, Any]
    status: str = CONVERGED
    remedy: str = ""
    seed: int | None = None


class Call(NamedTuple):
    """A function that computes one row, or several together.

    ``function(items, *shared)`` returns a `Result` for each item. The function belongs to a
    module, so that worker processes can find it.
    """

    rows: tuple[int, ...]
    function: Callable[..., Sequence[Result]]
    items: tuple[Any, ...]
    shared: tuple[Any, ...] = ()

    def split(self) -> list[Call]:
        """Return one call for each row."""
        pairs = zip(self.rows, self.items, strict=True)
        return [self._replace(rows=(row,), items=(item,)) for row, item in pairs]


class Answer(NamedTuple):
    """The numbered row, its result, and the seconds that it took."""

    id: int
    result: Result
    seconds: float = 0.0
