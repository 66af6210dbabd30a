"""What an experiment is: jobs that make points, and claims that compare them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from sparsetoken.experiments.claims import Claim, Statement
from sparsetoken.experiments.points import Point

__all__ = ["Experiment", "Job"]


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

    def run(self) -> list[Point]:
        """Do the work in this process."""
        return self.work(*self.arguments)


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

    def run(self, profile: str, seed: int = 0) -> tuple[list[Point], list[Claim]]:
        """Make the points in this process, and judge the claims.

        Parameters
        ----------
        profile : str
            quick or paper.
        seed : int
        """
        jobs = self.jobs(self.profiles[profile], seed)
        points = [point for job in jobs for point in job.run()]
        return points, self.judged(profile, points)
