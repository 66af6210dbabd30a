"""Progress of commands: a bar on a terminal, lines with the time left in a log."""

from __future__ import annotations

import io
import sys
from collections.abc import Callable
from typing import Any

from tqdm import tqdm

from sparsetoken.base.progress import Bar, terminal_bar
from sparsetoken.cli.output import message


class Lines(tqdm):
    """Writes a line to standard error after so many seconds."""

    def __init__(self, what: str, total: float, seconds: float = 30.0) -> None:
        super().__init__(
            desc=what,
            total=total,
            mininterval=seconds,
            delay=seconds,
            miniters=0,
            leave=False,
            file=io.StringIO(),  # takes the ends of lines of a terminal
            bar_format="{percentage:.0f} % done, {remaining} left ({desc})",
        )

    @staticmethod
    def status_printer(_: Any) -> Callable[[str], None]:
        """Return what writes a line."""
        return lambda text: message(text.strip()) if text else None

    def update(self, n: float | None = 1) -> bool | None:
        """Count pieces of work, and report them if a line is due and their number is known."""
        return super().update(n) if self.total else None


def bar_or_lines(what: str, total: float) -> Bar:
    """Return a bar on a terminal, lines elsewhere."""
    terminal = sys.stderr is not None and sys.stderr.isatty()
    return terminal_bar(what, total) if terminal else Lines(what, total)
