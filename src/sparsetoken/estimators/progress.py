"""How far a fit has come, and about how long the rest will take."""

from __future__ import annotations

import sys
import time


class Progress:
    """Lines on standard error with the time since the start and the time left.

    Parameters
    ----------
    name : str
        Of what is fitted.
    fits : int
        How many fits there are: of each class, on tokens and on each of their features.
    """

    def __init__(self, name: str, fits: int) -> None:
        self.name, self.fits = name, fits
        self.done, self.start = 0, time.monotonic()

    def told(self, share: float, what: str) -> None:
        """Write a line; `share`, in (0, 1], is that of the present fit which is done."""
        spent, part = time.monotonic() - self.start, (self.done + share) / self.fits
        left = spent * (1 - part) / part
        number = f"fit {self.done + 1} of {self.fits}"
        text = f"{self.name}: {number}, {what}; {spent:.0f} s, about {left:.0f} s left"
        sys.stderr.write(f"{text}\n")
        sys.stderr.flush()
        self.done += share == 1

    def ended(self, why: str) -> None:
        """Write that the fits that are left are not done."""
        sys.stderr.write(f"{self.name}: done after {self.done} of {self.fits} fits, {why}\n")
        sys.stderr.flush()
