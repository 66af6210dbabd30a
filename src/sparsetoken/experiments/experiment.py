"""What an experiment is: jobs that make rows, and claims that are judged by them."""

from __future__ import annotations

import dataclasses
import importlib.util
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from sparsetoken.experiments.claims import Claim, Comparison

Work = TypeVar("Work", bound=Callable[..., list[Any]])

ROWS = 2
"""Raised when the rows of all work change, such as by a column of `Measured`."""


def version(number: int) -> Callable[[Work], Work]:
    """Declare the version of a piece of work, raised when its rows would change.

    Rows of another version that a store has are computed anew. Work without a declared
    version has version 1.

    Parameters
    ----------
    number : int
    """

    def declare(work: Work) -> Work:
        work.version = number  # type: ignore[attr-defined]
        return work

    return declare


@dataclasses.dataclass(frozen=True)
class Job:
    """A piece of work for one process.

    Attributes
    ----------
    work : callable
        A function of a module, so that another process can find it, that returns rows.
    arguments : tuple
        All that the rows depend on, as plain declared values: their text (`repr`) says all
        that they are. No computed number is among them.
    cost : float
        Expected seconds, as stores of earlier runs have them; only the ratios matter.
    """

    work: Callable[..., list[Any]]
    arguments: tuple[Any, ...]
    cost: float

    @property
    def name(self) -> str:
        """The work and its arguments, as text."""
        module = self.work.__module__.removeprefix("sparsetoken.experiments.")
        return f"{module}.{self.work.__qualname__}{self.arguments!r}"

    @property
    def version(self) -> int:
        """The version of all rows, and in its last two digits the declared one of the work."""
        return 100 * ROWS + getattr(self.work, "version", 1)

    def run(self) -> list[Any]:
        """Do the work in this process."""
        return self.work(*self.arguments)


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One section of the report.

    Its folder has the name of the experiment, with _ for -, and holds also `figure.py`,
    whose `PICTURES` are functions of rows by name, and `words.html`.

    Attributes
    ----------
    name, title : str
    claims : tuple of Claim
        What is asserted, or asked.
    profiles : mapping
        Sizes under the names quick and paper.
    rows : tuple of classes
        The frozen dataclasses of its rows.
    jobs : callable
        (profile, seed) to the jobs. Planning computes nothing.
    compare : callable
        (profile, rows) to the comparisons.
    summary : callable
        (profile, rows, comparisons) to the numbers that the words need, by name.
    extra : str
        What of the optional packages it needs, by the name of the extra.
    modules : tuple of str
        The modules that the extra brings.
    set_jobs : callable, optional
        (profile, seed, sets) to the jobs of sets of bags that a person gives.
    """

    name: str
    title: str
    claims: tuple[Claim, ...]
    profiles: Mapping[str, Any]
    rows: tuple[type, ...]
    jobs: Callable[[Any, int], list[Job]]
    compare: Callable[[Any, Sequence[Any]], list[Comparison]]
    summary: Callable[[Any, Sequence[Any], Sequence[Comparison]], Mapping[str, Any]]
    extra: str = ""
    modules: tuple[str, ...] = ()
    set_jobs: Callable[[Any, int, Sequence[Any]], list[Job]] | None = None

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.name.replace("-", "_")

    @property
    def open(self) -> bool:
        """Whether all it asks is beyond the theorems."""
        return all(claim.open for claim in self.claims)

    @property
    def available(self) -> bool:
        """Whether the optional packages that it needs are installed."""
        return all(importlib.util.find_spec(module) is not None for module in self.modules)

    def plan(self, profile: str, seed: int = 0, sets: Sequence[Any] = ()) -> list[Job]:
        """Return the jobs of a profile, quick or paper, and of given sets if it takes them."""
        sizes = self.profiles[profile]
        given = self.set_jobs(sizes, seed, sets) if sets and self.set_jobs else []
        return [*self.jobs(sizes, seed), *given]

    def judged(self, profile: str, rows: Sequence[Any]) -> list[Comparison]:
        """Return the comparisons that the rows allow."""
        found = self.compare(self.profiles[profile], rows)
        return [dataclasses.replace(comparison, experiment=self.name) for comparison in found]
