"""Progress with the time left: a bar on a terminal, lines in a log."""

from __future__ import annotations

import contextlib
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    Task,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.text import Text

from sparsetoken.cli.show import message


class _Rate(ProgressColumn):
    """Finished pieces of work per second."""

    def render(self, task: Task) -> Text:
        speed = task.finished_speed or task.speed
        return Text("" if speed is None else f"{speed:.2g}/s", style="progress.data.speed")


def progress_bar(*, counts: bool = True) -> Progress:
    """Return a progress bar on standard error, with rate and time left.

    Where standard error is not a terminal, such as a log file, lines take its place. Without
    `counts` there are none: the caller writes its own.
    """
    console = Console(stderr=True)
    rate: tuple[ProgressColumn, ...] = (MofNCompleteColumn(), _Rate()) if counts else ()
    if counts and not console.is_terminal:
        return _Lines(disable=True)
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        *rate,
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=console,
        disable=not console.is_terminal,
        transient=True,
    )


@contextlib.contextmanager
def counting(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar of pieces of work on a terminal; return what moves it."""
    with progress_bar() as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


class _Lines(Progress):
    """A bar that is not drawn, but told in lines."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._tell = ProgressLines()

    def update(self, task_id: TaskID, **changes: Any) -> None:
        """Change a task, and tell of it."""
        super().update(task_id, **changes)
        self._told(task_id)

    def advance(self, task_id: TaskID, advance: float = 1) -> None:
        """Count a piece of work, and tell of it."""
        super().advance(task_id, advance)
        self._told(task_id)

    def _told(self, task_id: TaskID) -> None:
        task = next(task for task in self.tasks if task.id == task_id)
        if task.total:
            self._tell(task.description, task.completed, task.total)


class ProgressLines:
    """Writes a line to standard error now and then, with the time left.

    Parameters
    ----------
    clock : callable
        Seconds.
    seconds : float
        From one line to the next.
    share : float
        Of the work, after which a line comes sooner; by default none does.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.monotonic,
        *,
        seconds: float = 30.0,
        share: float = math.inf,
    ) -> None:
        self._clock, self._seconds, self._share = clock, seconds, share
        self._last = self._start = clock()
        self._shown = 0.0
        self._begun: float | None = None

    def __call__(self, name: str, done: float, total: float) -> None:
        """Tell that so much of the total cost is done."""
        now, share = self._clock(), done / total
        if self._begun is None:  # what earlier runs did says nothing of the speed of this one
            self._start, self._begun = now, share
        if share - self._shown < self._share - 1e-9 and now - self._last < self._seconds:
            return
        self._last, self._shown = now, share
        message(f"{100 * share:.0f} % done{self._left(now, share, self._begun)} ({name})")

    def _left(self, now: float, share: float, begun: float) -> str:
        if share <= begun or share >= 1:
            return ""
        seconds = (now - self._start) * (1 - share) / (share - begun)
        return f", about {_duration(seconds)} left"


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
