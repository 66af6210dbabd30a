"""What an experiment is: jobs that make points, and claims that compare them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any

from sparsetoken.experiments.claims import Claim, Statement
from sparsetoken.experiments.journal import Journal
from sparsetoken.experiments.points import Point

__all__ = ["Experiment", "Job", "run_jobs"]


@dataclasses.dataclass(frozen=True)
class Job:
    """A piece of work for one process.

    Attributes
    ----------
    work : callable
        A function of a module, so that another process can find it.
    arguments : tuple
        Plain values; their text (`repr`) says all that they are.
    cost : float
        Expected seconds; only the ratios matter.
    """

    work: Callable[..., list[Point]]
    arguments: tuple[Any, ...]
    cost: float

    @property
    def name(self) -> str:
        """What the result depends on, as text."""
        return f"{self.work.__module__}.{self.work.__qualname__}{self.arguments!r}"


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One section of the report.

    Attributes
    ----------
    name, title : str
    statements : tuple of Statement
        What the claims are about.
    profiles : mapping
        Sizes under the names quick and paper.
    jobs : callable
        (profile, seed) to the jobs.
    claims : callable
        (profile, points) to the claims.
    setting : callable
        profile to sentences that state every choice: what is computed, what is measured.
    result : callable
        (points, claims) to sentences with the numbers that came out.
    left : str
        What a quick run leaves to the paper profile.
    """

    name: str
    title: str
    statements: tuple[Statement, ...]
    profiles: Mapping[str, Any]
    jobs: Callable[[Any, int], list[Job]]
    claims: Callable[[Any, Sequence[Point]], list[Claim]]
    setting: Callable[[Any], str]
    result: Callable[[Sequence[Point], Sequence[Claim]], str]
    left: str = ""

    def judged(self, profile: str, points: Sequence[Point]) -> list[Claim]:
        """Return the claims that the points support or refute."""
        claims = self.claims(self.profiles[profile], points)
        return [dataclasses.replace(claim, experiment=self.name) for claim in claims]

    def run(
        self, profile: str, executor: Executor | None = None, seed: int = 0
    ) -> tuple[list[Point], list[Claim]]:
        """Make the points and judge the claims.

        Parameters
        ----------
        profile : str
            quick or paper.
        executor : concurrent.futures.Executor, optional
            Where the jobs run; in this process by default.
        seed : int
        """
        found = run_jobs(self.jobs(self.profiles[profile], seed), executor)
        points = [point for some in found for point in some]
        return points, self.judged(profile, points)


def run_jobs(
    jobs: Sequence[Job],
    executor: Executor | None = None,
    progress: Callable[[Job], None] = lambda job: None,
    journal: Journal | None = None,
) -> list[list[Point]]:
    """Run the jobs and return their points, in the order of the jobs.

    What the journal has already is not run again; what ends is written to it at once.
    An executor gets the jobs in order of falling cost.
    """
    journal = Journal(None) if journal is None else journal
    found = {
        i: known for i, job in enumerate(jobs) if (known := journal.find(job.name)) is not None
    }

    def keep(i: int, points: list[Point]) -> None:
        found[i] = points
        journal.write(jobs[i].name, points)
        progress(jobs[i])

    for i in found:
        progress(jobs[i])
    waiting = sorted((i for i in range(len(jobs)) if i not in found), key=lambda i: -jobs[i].cost)
    if executor is None:
        for i in waiting:
            keep(i, jobs[i].work(*jobs[i].arguments))
    else:
        futures = {executor.submit(jobs[i].work, *jobs[i].arguments): i for i in waiting}
        for future in as_completed(futures):
            keep(futures[future], future.result())
    return [found[i] for i in range(len(jobs))]
