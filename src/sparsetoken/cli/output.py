"""The output of commands: an object or a table; on standard error messages and progress."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

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
    two. A person reads the lines, by default a table of the values with a title. Advice, and why
    the result fell short, with a remedy, go to standard error; the exit code is then 1. What
    follows is done after that.
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


def not_written(
    option: str, path: Path, error: OSError, keep: str | None = None, what: str = "file"
) -> str:
    """Return the message for a file, or a folder, of an option that could not be written."""
    reason, kept = error.strerror or error, "" if keep is None else f" {keep} has the results."
    return f"Error: {path} was not written: {reason}. Name another {what} with --{option}.{kept}"


def counted(count: int, what: str) -> str:
    """Return a count with its word, which is given in the plural."""
    return f"{count} {what.removesuffix('s') if count == 1 else what}"


def write_table(path: Path, frame: Any) -> None:
    """Write a pandas frame as .csv or .parquet."""
    from sparsetoken.base.files import write_whole
    from sparsetoken.base.machine import needed

    if path.suffix.lower() == ".csv":
        write_whole(path, frame.to_csv(index=False, lineterminator="\n").encode())
    else:
        needed("pyarrow", "to write Parquet files", "data")
        texts = {name: str for name in frame if frame[name].dtype == object}
        write_whole(path, frame.astype(texts).to_parquet(index=False))


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
        elif "low" in value:
            yield prefix + name, "{value:.3f} ({low:.3f} to {high:.3f})".format(**value)
        else:
            yield from _flat(value, f"{name} ")


def _number(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return printable(value) if isinstance(value, str) else value
