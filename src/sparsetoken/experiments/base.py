"""What an experiment is: jobs that make points, and claims that compare them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, as_completed
from typing import Any

from sparsetoken.experiments.claims import Claim
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
        Plain values.
    cost : float
        Expected seconds; only the ratios matter.
    """

    work: Callable[..., list[Point]]
    arguments: tuple[Any, ...]
    cost: float


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One section of the report.

    Attributes
    ----------
    name, title : str
    profiles : mapping
        Sizes under the names quick and paper.
    jobs : callable
        (profile, seed) to the jobs.
    claims : callable
        (profile, points) to the claims.
    setting : callable
        profile to a sentence that states every choice.
    """

    name: str
    title: str
    profiles: Mapping[str, Any]
    jobs: Callable[[Any, int], list[Job]]
    claims: Callable[[Any, Sequence[Point]], list[Claim]]
    setting: Callable[[Any], str]

    def run(
        self,
        profile: str,
        executor: Executor | None = None,
        progress: Callable[[float], None] = lambda cost: None,
        seed: int = 0,
    ) -> tuple[list[Point], list[Claim]]:
        """Make the points and judge the claims.

        Parameters
        ----------
        profile : str
            quick or paper.
        executor : concurrent.futures.Executor, optional
            Where the jobs run; in this process by default.
        progress : callable
            Called with the cost of each finished job.
        seed : int
        """
        sizes = self.profiles[profile]
        points = run_jobs(self.jobs(sizes, seed), executor, progress)
        return points, self.claims(sizes, points)


def run_jobs(
    jobs: Sequence[Job], executor: Executor | None, progress: Callable[[float], None]
) -> list[Point]:
    """Run the jobs, the longest first; their points come in the order of the jobs."""
    found: dict[int, list[Point]] = {}
    longest_first = sorted(range(len(jobs)), key=lambda i: -jobs[i].cost)
    if executor is None:
        for i in longest_first:
            found[i] = jobs[i].work(*jobs[i].arguments)
            progress(jobs[i].cost)
    else:
        futures = {executor.submit(jobs[i].work, *jobs[i].arguments): i for i in longest_first}
        for future in as_completed(futures):
            found[futures[future]] = future.result()
            progress(jobs[futures[future]].cost)
    return [point for i in range(len(jobs)) for point in found[i]]
