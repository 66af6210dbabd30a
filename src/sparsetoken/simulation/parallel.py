"""Trials of all points of a grid."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from sparsetoken.base.validation import integer, require_points
from sparsetoken.model.values import Broadcast
from sparsetoken.results import CONVERGED, Record, Simulation, Status, StatusCode
from sparsetoken.results.record import stacked
from sparsetoken.results.simulation import of_trials
from sparsetoken.work import map_points

Of = TypeVar("Of", bound=Record)


@dataclasses.dataclass(frozen=True)
class Trial(Generic[Of]):
    """The outcome of one trial, and whether it can be used."""

    outcome: Of
    status: Status = CONVERGED


@runtime_checkable
class Plan(Protocol[Of]):
    """All that determines the distribution of a trial."""

    def run(self, trial: int) -> Trial[Of]:
        """Run a trial, by its number."""


def simulated(
    plans: Sequence[Plan[Of]],
    grid: Broadcast,
    trials: int,
    *,
    call: Sequence[Any],
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Simulation[Of]:
    """Run the trials of a plan for each point of a grid.

    What is kept of a trial depends on the call, its plan and its number. The rest is as of
    `simulate`.
    """
    trials = integer("trials", trials, 1)
    require_points("trials (times points)", trials * len(plans))
    points = [(plan, number) for plan in plans for number in range(trials)]

    ran = map_points(
        _run,
        points,
        call=call,
        workers=workers,
        keep=keep,
        what="trials",
        progress=progress,
    )
    rows = []
    for first in range(0, len(points), trials):
        some = ran[first : first + trials]
        status = _status([trial.status for trial in some])
        rows.append(of_trials([trial.outcome for trial in some], status))
    return stacked(rows, grid)


def _run(points: Sequence[tuple[Plan[Of], int]]) -> list[Trial[Of]]:
    return [plan.run(number) for plan, number in points]


def _status(trials: Sequence[Status]) -> Status:
    """Return the worst status of the trials, with the number of the first one that has it."""
    order = list(StatusCode)
    worst = max(trials, key=lambda status: order.index(status.code))
    if worst.converged:
        return worst
    numbers = [number for number, status in enumerate(trials) if status == worst]
    return Status(
        worst, f"{len(numbers)} of {len(trials)} trials, first {numbers[0]}: {worst.remedy}"
    )
