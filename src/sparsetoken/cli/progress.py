"""Progress in a log: lines with the remaining time."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

from sparsetoken.cli.output import message
from sparsetoken.progress import Bar, terminal_bar


class ProgressLines:
    """Writes a line to standard error at intervals, with the remaining time.

    Parameters
    ----------
    what : str
        The pieces of work.
    total : float
    clock : callable
        Seconds.
    seconds : float
        From one line to the next.
    share : float
        Of the work: a line is also written when so much more is done.
    """

    def __init__(
        self,
        what: str,
        total: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        seconds: float = 30.0,
        share: float = math.inf,
    ) -> None:
        self.total: float | None = total
        self._what, self._clock = what, clock
        self._seconds, self._share = seconds, share
        self._last = self._start = clock()
        self._done = self._told = 0.0
        self._begun: float | None = None

    @classmethod
    def unless_terminal(
        cls, what: str, total: float, *, seconds: float = 30.0, share: float = math.inf
    ) -> Bar:
        """Return a bar on a terminal, lines elsewhere."""
        if sys.stderr is not None and sys.stderr.isatty():
            return terminal_bar(what, total)
        return cls(what, total, seconds=seconds, share=share)

    def update(self, n: float = 1) -> None:
        """Count pieces of work, and report them if a line is due."""
        self._done += n
        if not self.total:
            return
        now, share = self._clock(), self._done / self.total
        if self._begun is None:  # what earlier runs did says nothing of the speed of this one
            self._start, self._begun = now, share
        if now - self._last >= self._seconds or share - self._told >= self._share - 1e-9:
            self._last, self._told = now, share
            left = self._left(now, share, self._begun)
            message(f"{100 * share:.0f} % done{left} ({self._what})")

    def _left(self, now: float, share: float, begun: float) -> str:
        if share <= begun or share >= 1:
            return ""
        seconds = (now - self._start) * (1 - share) / (share - begun)
        minutes, rest = divmod(round(seconds), 60)
        return f", about {minutes} min {rest:02d} s left" if minutes else f", about {rest} s left"

    def set_description(self, desc: str, refresh: bool = True) -> Any:
        """Name what is being worked on."""
        self._what = desc

    def close(self) -> None:
        """End silently."""
