"""The output of commands: an object or a table on standard output, messages on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from sparsetoken.json_text import json_text


def message(text: str) -> None:
    """Write one line to standard error."""
    print(printable(text), file=sys.stderr)  # noqa: T201


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

    Attributes
    ----------
    title : str
        Of the table.
    values : mapping
        What ``--json`` prints. A pair of mean and standard error is a mapping of these two.
    lines : sequence of str
        What a person reads in place of the values; by default they are a table.
    advice : sequence of str
        What to know, written to standard error.
    shortfall : str
        Why the result did not converge or failed, with a remedy; the exit code is then 1.
    code : int
        The exit code.
    then : callable
        What is done after that.
    """

    title: str
    values: Mapping[str, Any]
    lines: Sequence[str] = ()
    advice: Sequence[str] = ()
    shortfall: str = ""
    code: int = 0
    then: Callable[[], object] = lambda: None

    def show(self, as_json: bool) -> int:
        """Print the answer, and return the exit code."""
        if as_json:
            put(*json_text(self.values, indent=2).split("\n"))
        else:
            put(*(self.lines or table(self.title, self.values)))
        for text in self.advice:
            message(text)
        if self.shortfall:
            message(self.shortfall)
        if sys.stdout is not None:
            sys.stdout.flush()
        self.then()
        return self.code or (1 if self.shortfall else 0)


def shortfall(status: Any) -> str:
    """Return the reason why a result did not converge, "" if it did."""
    if status.converged:
        return ""
    return f"Not converged ({status.code}). {status.remedy}".rstrip()


def table(title: str, values: Mapping[str, Any]) -> list[str]:
    """Return values as the lines of a table; a mean and its standard error share a line."""
    from sparsetoken.tables import text

    return text([dict(_flat(values))], title=title).split("\n")


def _flat(values: Mapping[str, Any], prefix: str = "") -> Any:
    for name, value in values.items():
        if not isinstance(value, Mapping):
            yield printable(prefix + name), _number(value)
        elif "mean" in value:
            yield prefix + name, _number(value["mean"])
            yield f"{prefix}{name}_error", _number(value["standard_error"])
        else:
            yield from _flat(value, f"{name.removesuffix('s')} ")


def _number(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return printable(value) if isinstance(value, str) else value
