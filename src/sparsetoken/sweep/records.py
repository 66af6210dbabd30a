"""What passes between the store and those who run its rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = ["FAILED", "Answer", "Claim", "Counts", "RunStopped"]

FAILED = "failed"


class RunStopped(RuntimeError):
    """A run that cannot go on; what was finished is in the store."""


class Counts(NamedTuple):
    """Rows of a sweep by what became of them; done includes not_converged."""

    done: int
    failed: int
    left: int
    not_converged: int

    @property
    def total(self) -> int:
        """All rows."""
        return self.done + self.failed + self.left


class Claim(NamedTuple):
    """A row that this process is to run."""

    id: int
    shape: int
    configuration: dict[str, Any]


class Answer(NamedTuple):
    """What became of a row; `status` is failed if it raised an error."""

    id: int
    status: str
    values: Mapping[str, Any]
    message: str = ""
    seed: int | None = None
    seconds: float = 0.0
