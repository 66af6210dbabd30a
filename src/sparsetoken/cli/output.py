"""The output of commands: an object or a table; on standard error messages and progress."""

from __future__ import annotations

import math
import re
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from sparsetoken.base.progress import Bar, terminal_bar
from sparsetoken.base.tables import json_text
from sparsetoken.base.validation import LONGEST_SHOWN

_LONG_WORD = re.compile(rf"(\S{{{LONGEST_SHOWN}}})\S{{{LONGEST_SHOWN},}}")


def message(text: str) -> None:
    """Write one line to standard error, if it is open: `print` would take standard output.

    A word that would fill the screen is cut.
    """
    if sys.stderr is None:
        return
    print(printable(_LONG_WORD.sub(r"\1...", text)), file=sys.stderr)  # noqa: T201


def put(*lines: str) -> None:
    """Print lines."""
    for line in lines:
        print(printable(line))  # noqa: T201


def printable(text: str) -> str:
    """Return a text with unprintable characters escaped as in Python source.

    Names of files and ids of bags are untrusted: none of their escape sequences reaches the
    terminal, and no line break splits a message.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


class Answer(NamedTuple):
    """What a command found.

    ``--json`` prints the values, in which a pair of mean and standard error is a mapping of these
    two. A person reads the lines, by default a table of the columns with a title; by default these
    are the values. Advice, and why the result fell short, with a remedy, go to standard error; the
    exit code is then 1. What follows is done after that.
    """

    title: str
    values: Mapping[str, Any]
    lines: Sequence[str] = ()
    advice: Sequence[str] = ()
    shortfall: str = ""
    code: int = 0
    then: Callable[[], object] = lambda: None
    columns: Mapping[str, Any] = {}

    @property
    def shown(self) -> Sequence[str]:
        """The lines that a person reads."""
        return self.lines or table(self.title, self.columns or self.values)

    def show(self, as_json: bool) -> int:
        """Print the answer, and return the exit code."""
        if as_json:
            put(*json_text(self.values, indent=2).split("\n"))
        else:
            put(*self.shown)
        for text in self.advice:
            message(text)
        if self.shortfall:
            message(self.shortfall)
        if sys.stdout is not None:
            sys.stdout.flush()
        self.then()
        return self.code or (1 if self.shortfall else 0)


def not_written(option: str, path: Path, error: OSError, keep: Path | None = None) -> str:
    """Return the message for a file that an option names and that could not be written."""
    reason, kept = error.strerror or error, "" if keep is None else f" {keep} has the results."
    return f"Error: {path} was not written: {reason}. Name another file with --{option}.{kept}"


def together(settings: Sequence[Mapping[str, Any]], answers: Sequence[Answer]) -> Answer:
    """Return the answers at several settings as one, with the options that vary in each point.

    JSON has no infinity: in a point it is the word that the option takes.
    """
    pairs = list(zip(settings, answers, strict=True))
    places = [", ".join(f"{name} = {value}" for name, value in at.items()) for at in settings]
    states = [str(one.values.get("status", "converged")) for one in answers]
    typed = [{n: x if x != math.inf else "inf" for n, x in at.items()} for at in settings]
    values = {
        "points": [{**at, **one.values} for at, one in zip(typed, answers, strict=True)],
        "status": next((state for state in states if state != "converged"), "converged"),
    }
    lines: list[str] = []
    for place, one in zip(places, answers, strict=True):
        lines += [place, *one.lines] if one.lines else []
    lines = lines or narrow([{**at, **one.columns} for at, one in pairs])
    told: dict[str, list[str]] = {}
    for place, one in zip(places, answers, strict=True):
        for text in filter(None, (*one.advice, one.shortfall)):
            told.setdefault(text, []).append(place)
    advice = []
    for text, (first, *more) in told.items():
        where = f"{1 + len(more)} settings, first {first}" if more else first
        everywhere = 1 + len(more) == len(answers)
        advice.append(text if everywhere else f"At {where}: {text}")
    code = max(one.code or (1 if one.shortfall else 0) for one in answers)
    return Answer("", values, lines, advice=advice, code=code)


def narrow(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return rows as the lines of a table that has them as lines or columns, as is narrower."""
    from sparsetoken.base.tables import columns_of

    columns = columns_of(rows)
    upright = [
        dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)
    ]
    widths = [max(map(len, cells)) for cells in zip(*columns.values(), strict=True)]
    first = max(map(len, columns))
    turned = [
        "  ".join([name.replace("_", " ").ljust(first), *map(str.rjust, cells, widths)]).rstrip()
        for name, cells in columns.items()
    ]
    return min(table("", upright), turned, key=lambda lines: max(map(len, lines)))


def shortfall(status: Any) -> str:
    """Return the reason why a result did not converge, "" if it did."""
    if status.converged:
        return ""
    return f"Not converged ({status.code}). {status.remedy}".rstrip()


def table(title: str, values: Mapping[str, Any] | Sequence[Mapping[str, Any]]) -> list[str]:
    """Return values, or rows of them, as the lines of a table.

    Of values a mean and its standard error share a line.
    """
    from sparsetoken.base.tables import text

    rows = [dict(_flat(values))] if isinstance(values, Mapping) else values
    return text(rows, title=title).split("\n")


def pairs(means: Mapping[str, Any], errors: Mapping[str, Any]) -> dict[str, Any]:
    """Return mean and standard error of each quantity, under the keys of the contract."""
    return {
        name: pairs(mean, errors[name])
        if isinstance(mean, Mapping)
        else {"mean": mean, "standard_error": errors[name]}
        for name, mean in means.items()
    }


def _flat(values: Mapping[str, Any], prefix: str = "") -> Any:
    for name, value in values.items():
        if not isinstance(value, Mapping):
            yield printable(prefix + name), _number(value)
        elif "mean" in value:
            yield prefix + name, _number(value["mean"])
            yield f"{prefix}{name}_se", _number(value["standard_error"])
        else:
            yield from _flat(value, f"{name} ")


def _number(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return printable(value) if isinstance(value, str) else value


class ProgressLines:
    """Writes a line to standard error after so many seconds, with the remaining time."""

    def __init__(
        self,
        what: str,
        total: float,
        *,
        clock: Callable[[], float] = time.monotonic,
        seconds: float = 30.0,
    ) -> None:
        self.total: float | None = total
        self._what, self._clock, self._seconds = what, clock, seconds
        self._last = self._start = clock()
        self._done = 0.0
        self._begun: float | None = None

    @classmethod
    def unless_terminal(cls, what: str, total: float) -> Bar:
        """Return a bar on a terminal, lines elsewhere."""
        if sys.stderr is not None and sys.stderr.isatty():
            return terminal_bar(what, total)
        return cls(what, total)

    def update(self, n: float = 1) -> None:
        """Count pieces of work, and report them if a line is due."""
        self._done += n
        if not self.total:
            return
        now, share = self._clock(), self._done / self.total
        if self._begun is None:  # what earlier runs did says nothing of the speed of this one
            self._start, self._begun = now, share
        if now - self._last >= self._seconds:
            self._last = now
            left = self._left(now, share, self._begun)
            message(f"{100 * share:.0f} % done{left} ({self._what})")

    def _left(self, now: float, share: float, begun: float) -> str:
        if share <= begun or share >= 1:
            return ""
        seconds = (now - self._start) * (1 - share) / (share - begun)
        minutes, rest = divmod(round(seconds), 60)
        return f", about {minutes} min {rest:02d} s left" if minutes else f", about {rest} s left"

    def close(self) -> None:
        """End silently."""
