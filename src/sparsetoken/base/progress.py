"""Progress and remaining time of work that takes longer than two seconds."""

from __future__ import annotations

import contextlib
import contextvars
import math
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

_DELAY = 2.0  # seconds


class Bar(Protocol):
    """An object that shows progress, such as a tqdm bar."""

    total: float | None

    def update(self, n: float = 1) -> Any:
        """Count finished pieces of work."""

    def set_description(self, desc: str, refresh: bool = True) -> Any:
        """Name what is being worked on."""

    def close(self) -> Any:
        """End."""


class Progress:
    """Counts pieces of work, of which so many are known to be needed; a bar may show the count."""

    def __init__(self, bar: Bar | None, total: float = 0) -> None:
        self._bar, self._total, self.done = bar, total, 0.0

    def __call__(self, count: float = 1) -> None:
        """Count pieces that are done."""
        self.done += count
        if self._bar is not None:
            self._bar.update(count)

    def reach(self, share: float) -> None:
        """Count the finished fraction, in (0, 1], of the present piece."""
        whole = math.floor(self.done + 1e-9)  # shares add up to 1 but for rounding
        self(whole + share - self.done)

    def show(self, what: str, done: float, total: float) -> None:
        """Show the finished and total amounts, and what is being worked on."""
        if self._bar is not None:
            self._bar.set_description(what, refresh=False)
        self.expect(total - self._total)
        self(done - self.done)

    def expect(self, more: float) -> None:
        """Count further pieces that will be needed."""
        self._total += more
        if self._bar is not None:
            self._bar.total = self._total


SILENT = Progress(None)
"""Shows nothing."""

_maker: contextvars.ContextVar[Callable[[str, float], Bar | None] | None]
_maker = contextvars.ContextVar("how progress is shown", default=None)
_shown = contextvars.ContextVar("whether an outer call decides on progress", default=False)


@contextlib.contextmanager
def progress_of(what: str, total: float, shown: bool = True) -> Iterator[Progress]:
    """Show the progress of a block, on a terminal or in a notebook only.

    Nested blocks, and blocks in threads or worker processes, show nothing.

    Parameters
    ----------
    what : str
        The pieces of work, such as trials.
    total : int
        How many there are; `Progress.expect` adds to them.
    shown : bool
        Whether it may be shown at all.
    """
    main = threading.current_thread() is threading.main_thread()
    silent = not shown or _shown.get() or not main or multiprocessing.parent_process() is not None
    bar = None if silent else (_maker.get() or _usual_bar)(what, total)
    token = _shown.set(True)
    try:
        yield Progress(bar, total)
    finally:
        _shown.reset(token)
        if bar is not None:
            bar.close()


@contextlib.contextmanager
def showing(make: Callable[[str, float], Bar | None]) -> Iterator[None]:
    """Show progress with the given bars, made of the pieces of work and their number."""
    token = _maker.set(make)
    try:
        yield
    finally:
        _maker.reset(token)


def _usual_bar(what: str, total: float) -> Bar | None:
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return terminal_bar(what, total) if terminal or "ipykernel" in sys.modules else None


def terminal_bar(what: str, total: float) -> Any:
    """Return a bar of tqdm, which is shown after two seconds."""
    from tqdm.auto import tqdm

    return tqdm(desc=what, total=total, delay=_DELAY, leave=False, disable=False)
