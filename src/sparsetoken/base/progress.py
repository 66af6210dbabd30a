"""Progress and remaining time of work that takes longer than two seconds."""

from __future__ import annotations

import contextlib
import contextvars
import multiprocessing
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any, Protocol

_DELAY = 2.0  # seconds
_BAR = "{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total_fmt} [{elapsed}<{remaining}]"
"""With whole counts, since shares of the present piece add up to fractions."""


class Bar(Protocol):
    """An object that shows progress, such as a tqdm bar."""

    total: float | None

    def update(self, n: float = 1) -> Any:
        """Count finished pieces of work."""

    def close(self) -> Any:
        """End."""


class Progress:
    """Counts pieces of work, of which so many are known to be needed; a bar may show the count."""

    def __init__(self, bar: Bar | None, total: float = 0, outer: Progress | None = None) -> None:
        self._bar, self._total, self._outer = bar, total, outer
        self.done = self._share = 0.0

    def __call__(self, count: float = 1) -> None:
        """Count pieces that are done, the present one among them."""
        self.done += count
        self._show(count - self._share)
        self._share = 0.0

    def _show(self, more: float) -> None:
        if self._bar is not None:
            self._bar.update(more)
        if self._outer is not None and self._total > 0:
            self._outer._reach(self.done / self._total)

    def _reach(self, share: float) -> None:
        """Show a finished share of the present piece, as a block within it counts."""
        share = min(share, 1.0)
        if share > self._share:  # more pieces within may have turned out to be needed
            more, self._share = share - self._share, share
            self._show(more)

    def expect(self, more: float) -> None:
        """Count further pieces that will be needed."""
        self._total += more
        if self._bar is not None:
            self._bar.total = self._total


_maker: contextvars.ContextVar[Callable[[str, float], Bar | None] | None]
_maker = contextvars.ContextVar("how progress is shown", default=None)
_outer: contextvars.ContextVar[Progress | None]
_outer = contextvars.ContextVar("the block that this one is within", default=None)


@contextlib.contextmanager
def progress_of(what: str, total: float, shown: bool = True) -> Iterator[Progress]:
    """Show the progress of a block, on a terminal or in a notebook only.

    Nested blocks show how far the present piece of the outer one is. Blocks in worker processes,
    and in threads in which `showing` has said nothing, show nothing.

    Parameters
    ----------
    what : str
        The pieces of work, such as trials.
    total : int
        How many there are; `Progress.expect` adds to them.
    shown : bool
        Whether it may be shown at all.
    """
    outer, make = _outer.get(), _maker.get()
    main = threading.current_thread() is threading.main_thread()
    watched = make is not None or (main and multiprocessing.parent_process() is None)
    bar = None
    if shown and outer is None and watched:
        bar = (make or _usual_bar)(what, total)
    progress = Progress(bar, total, outer)
    token = _outer.set(progress)
    try:
        yield progress
    finally:
        _outer.reset(token)
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

    look = {"bar_format": _BAR, "delay": _DELAY, "leave": False, "disable": False}
    return tqdm(desc=what, total=total, **look)
