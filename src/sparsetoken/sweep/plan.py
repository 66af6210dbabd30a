"""The rows of a run, and the calls that compute them."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import pickle
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from sparsetoken.sweep.definitions import Definitions, outside_models
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.keys import canonical_text, key_of
from sparsetoken.sweep.parameters import series_of, shape_names
from sparsetoken.sweep.reading import StoreReader, require_store
from sparsetoken.sweep.records import CONVERGED, Call, Lease, Result, RunStopped
from sparsetoken.sweep.rows import Row


class Plan(Protocol):
    """Rows, each a configuration that says all that its result depends on."""

    @property
    def text(self) -> str:
        """The same for the same plan."""

    def rows(self) -> Iterator[Mapping[str, Any]]:
        """Yield the configurations, in the order in which they should run."""

    def shape(self, row: Mapping[str, Any]) -> int:
        """Return a number that agrees for rows which may share a batch."""

    def series(self, row: Mapping[str, Any]) -> int | None:
        """Return a number that agrees for successive rows which one call computes, or None."""

    def calls(self, leases: Sequence[Lease]) -> list[Call]:
        """Return the calls that compute these rows."""

    def require_picklable(self) -> None:
        """Raise `InvalidInput` if the calls cannot be sent to other processes."""


@dataclasses.dataclass(frozen=True)
class GridPlan:
    """The rows of a grid.

    Parameters
    ----------
    grid : Grid
    memory_budget : int, optional
        The largest number of bytes that one trial may take, as counted beforehand. It changes
        no result.

    Examples
    --------
    >>> from sparsetoken.sweep import Grid, GridPlan, linear
    >>> plan = GridPlan(Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4}))
    >>> len(list(plan.rows()))
    3
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
        """Return a hash of the parameters that compiled code depends on."""
        return _hash([row.get(name) for name in shape_names()])

    def series(self, row: Mapping[str, Any]) -> int | None:
        """Return a hash of what rows of one series have in common."""
        text = series_of(row)
        return _hash([text]) if text else None

    def calls(self, leases: Sequence[Lease]) -> list[Call]:
        """Return one call for each series."""
        groups = itertools.groupby(leases, lambda lease: series_of(lease.configuration) or lease.id)
        return [self._call(tuple(group)) for _, group in groups]

    def _call(self, leases: Sequence[Lease]) -> Call:
        from sparsetoken.sweep.compute import compute

        rows = tuple(lease.configuration for lease in leases)
        labels, models = {row.get("loss") for row in rows}, {row.get("model") for row in rows}
        losses = {label: loss for label, loss in self.grid.losses.items() if label in labels}
        definitions = Definitions(losses, outside_models(models))
        numbers = tuple(lease.id for lease in leases)
        return Call(numbers, compute, rows, (definitions, self.memory_budget))

    def require_picklable(self) -> None:
        """Raise `InvalidInput` if a loss or a model of the grid cannot be sent to others."""
        pickle.dumps(Definitions(self.grid.losses, outside_models(self.grid.models)))


class JobLike(Protocol):
    """A call of any function, with its expected seconds."""

    @property
    def work(self) -> Callable[..., Any]:
        """A function of a module."""

    @property
    def arguments(self) -> tuple[Any, ...]:
        """Plain values."""

    @property
    def cost(self) -> float:
        """Expected seconds; only ratios matter."""

    @property
    def name(self) -> str:
        """A text that says all that the result depends on but for the code."""

    @property
    def version(self) -> int:
        """The version of the function: raised when the same name means another result."""


@dataclasses.dataclass(frozen=True)
class JobPlan:
    """A list of any jobs with distinct names, those of high cost first.

    Parameters
    ----------
    jobs : sequence of jobs
    encode : callable
        A function of a module, from what a job returns to what JSON can hold.
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
        """Return a hash of the job's function."""
        work = self._by_name[row["job"]].work
        return _hash([work.__module__, work.__qualname__])

    def series(self, row: Mapping[str, Any]) -> int | None:
        """Return None: each job is a call of its own."""
        return None

    def calls(self, leases: Sequence[Lease]) -> list[Call]:
        """Return one call for each job."""
        jobs = [self._by_name[lease.configuration["job"]] for lease in leases]
        return [
            Call((lease.id,), _run_jobs, ((job.work, job.arguments),), (self.encode,))
            for lease, job in zip(leases, jobs, strict=True)
        ]

    def require_picklable(self) -> None:
        """Do nothing: functions of modules and plain values can be sent."""

    def known(self, store: StoreReader) -> set[str]:
        """Return the names of the jobs whose results are in a store."""
        require_store(store)
        names = [job.name for job in self.jobs]
        statuses = store.statuses(key_of(self.row(job)) for job in self.jobs)
        return {n for n, status in zip(names, statuses, strict=True) if status == CONVERGED}

    def results(self, store: StoreReader) -> list[Any]:
        """Return what `encode` gave for each job, in their order; raises as `finished` does."""
        return [row.values["result"] for row in self.finished(store)]

    def finished(self, store: StoreReader) -> list[Row]:
        """Return the row of each job, in the order of the jobs.

        Raises
        ------
        RunStopped
            If a job has no result, with the message of one that failed.
        """
        require_store(store)
        wanted = [number for number, text in store.sweeps().items() if text == self.text]
        rows = {row.configuration["job"]: row for row in store.rows(wanted[0])} if wanted else {}
        for job in self.jobs:
            if job.name not in rows or "result" not in rows[job.name].values:
                why = rows[job.name].message if job.name in rows else "It has not run."
                raise RunStopped(f"{job.name} has no result. {why}")
        return [rows[job.name] for job in self.jobs]

    @functools.cached_property
    def _by_name(self) -> dict[str, JobLike]:
        return {job.name: job for job in self.jobs}


def _run_jobs(
    jobs: Sequence[tuple[Callable[..., Any], tuple[Any, ...]]], encode: Callable[[Any], Any]
) -> list[Result]:
    return [Result({"result": encode(work(*arguments))}) for work, arguments in jobs]


def _hash(values: list[Any]) -> int:
    return zlib.crc32(repr(values).encode())
