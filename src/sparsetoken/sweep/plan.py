"""What a run computes: rows by name, and the call that makes each."""

from __future__ import annotations

import dataclasses
import functools
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from sparsetoken.sweep.canonical import canonical_text, key_of
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.parameters import SHAPES
from sparsetoken.sweep.records import RunStopped
from sparsetoken.sweep.store import Store
from sparsetoken.sweep.work import CONVERGED, Found, compute

__all__ = ["Call", "GridPlan", "JobLike", "JobPlan", "Plan"]

Call = tuple[Callable[..., Found], tuple[Any, ...]]


class Plan(Protocol):
    """Rows, each a configuration that says all that its result depends on."""

    @property
    def text(self) -> str:
        """What is the same for the same plan."""
        ...

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield the configurations, in the order in which they should run."""
        ...

    def shape(self, row: Mapping[str, Any]) -> int:
        """Return a number that agrees for rows which may share a batch."""
        ...

    def call(self, row: Mapping[str, Any]) -> Call:
        """Return a function of a module and its arguments; together they make the row."""
        ...


@dataclasses.dataclass(frozen=True)
class GridPlan:
    """The rows of a grid.

    Parameters
    ----------
    grid : Grid
    memory_budget : int, optional
        Bytes that one trial may take, by count. It changes no result.
    """

    grid: Grid
    memory_budget: int | None = None

    @property
    def text(self) -> str:
        """The grid as canonical text."""
        return self.grid.text()

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield the rows of the grid."""
        return self.grid.rows()

    def shape(self, row: Mapping[str, Any]) -> int:
        """Return the hash of what compiled code depends on."""
        return zlib.crc32(repr([row.get(name) for name in SHAPES]).encode())

    def call(self, row: Mapping[str, Any]) -> Call:
        """Return the work of a row."""
        return compute, (row, self.memory_budget)


class JobLike(Protocol):
    """A call with its expected seconds; the result depends on its name and version alone."""

    @property
    def work(self) -> Callable[..., Any]:
        """A function of a module."""
        ...

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Plain values."""
        ...

    @property
    def cost(self) -> float:
        """Expected seconds; only ratios matter."""
        ...

    @property
    def name(self) -> str:
        """The work and its arguments, as text."""
        ...

    @property
    def version(self) -> int:
        """The version of the work, raised when it means another result."""
        ...


@dataclasses.dataclass(frozen=True)
class JobPlan:
    """A list of any jobs, those of high cost first.

    Parameters
    ----------
    jobs : sequence of jobs
    encode : callable
        A function of a module: what a job returns to what JSON can hold.
    """

    jobs: Sequence[JobLike]
    encode: Callable[[Any], Any]

    @property
    def text(self) -> str:
        """The names and versions of the jobs as canonical text."""
        return canonical_text({"jobs": sorted([job.name, job.version] for job in self.jobs)})

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield a row for each job, in order of falling cost."""
        return (self.row(job) for job in sorted(self.jobs, key=lambda job: -job.cost))

    def row(self, job: JobLike) -> dict[str, Any]:
        """Return the configuration of a job."""
        return {"job": job.name, "version": job.version}

    def shape(self, row: Mapping[str, Any]) -> int:
        """Return a number of its function: jobs of one may share a batch."""
        work = self._found[row["job"]].work
        return zlib.crc32(f"{work.__module__}.{work.__qualname__}".encode())

    def call(self, row: Mapping[str, Any]) -> Call:
        """Return the job, and what makes its result a row."""
        job = self._found[row["job"]]
        return _run_job, (self.encode, job.work, job.arguments)

    def known(self, store: Store) -> set[str]:
        """Return the names of the jobs whose results a store has already."""
        names = [job.name for job in self.jobs]
        statuses = store.statuses(key_of(self.row(job)) for job in self.jobs)
        return {n for n, status in zip(names, statuses, strict=True) if status == CONVERGED}

    def results(self, store: Store) -> list[Any]:
        """Return what `encode` gave of each job, in the order of the jobs.

        Raises
        ------
        RunStopped
            If a job has no result, with the message of one that failed.
        """
        wanted = [number for number, text in store.sweeps().items() if text == self.text]
        rows = {row.configuration["job"]: row for row in store.rows(wanted[0])} if wanted else {}
        for job in self.jobs:
            if job.name not in rows or "result" not in rows[job.name].values:
                why = rows[job.name].message if job.name in rows else "It has not run."
                raise RunStopped(f"{job.name} has no result. {why}")
        return [rows[job.name].values["result"] for job in self.jobs]

    @functools.cached_property
    def _found(self) -> dict[str, JobLike]:
        return {job.name: job for job in self.jobs}


def _run_job(
    encode: Callable[[Any], Any], work: Callable[..., Any], arguments: tuple[Any, ...]
) -> Found:
    return Found({"result": encode(work(*arguments))})
