"""What the commands print, and the exit codes of what goes wrong.

0: converged; 1: printed, but short of convergence; 2: bad input; 130: interrupted.
"""

from __future__ import annotations

import errno
import functools
import json
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ParamSpec

import typer
from rich.console import Console
from rich.table import Table

if TYPE_CHECKING:
    from sparsetoken.results import Status

P = ParamSpec("P")


def message(text: str) -> None:
    """Write one line to standard error."""
    typer.echo(printable(text), err=True)


def printable(text: str) -> str:
    """Return a text in which what cannot be printed is written as in Python source.

    Names of files and ids of bags are texts of anybody: no escape sequence of theirs reaches
    the terminal, and no line break splits a message.
    """
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def put(*lines: str | Table) -> None:
    """Print lines and tables as they are: no text in them is markup."""
    console = Console(markup=False, emoji=False)
    for line in lines:
        if isinstance(line, str):
            console.print(printable(line), soft_wrap=True)
        else:
            console.print(line)


def guarded(command: Callable[P, None]) -> Callable[P, None]:
    """Turn bad input, names of files included, into one message and exit code 2."""

    @functools.wraps(command)
    def run(*args: P.args, **kwargs: P.kwargs) -> None:
        from sparsetoken.validation import InvalidInput

        try:
            command(*args, **kwargs)
        except InvalidInput as error:
            message(f"Error: {error}")
            raise typer.Exit(2) from None
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            message(f"Error: the name of a file is too long: {str(error.filename)[:60]}...")
            raise typer.Exit(2) from None

    return run


def finish(status: Status) -> None:
    """End with exit code 1 and the remedy unless the result converged."""
    if not status.converged:
        message(f"Not converged ({status.code}). {status.remedy}".rstrip())
        raise typer.Exit(1)


def put_json(values: Mapping[str, Any]) -> None:
    """Print one JSON object; numbers that JSON lacks become null."""
    typer.echo(json.dumps(_plain(values), indent=2, allow_nan=False))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if value is None or isinstance(value, (str, bool, int)):
        return value
    number = float(value)
    return number if math.isfinite(number) else None


def put_table(title: str, values: Mapping[str, Any]) -> None:
    """Print the same values as a table; a pair (mean, standard error) takes two columns."""
    rows = list(_rows(values))
    simulated = any(isinstance(value, Mapping) for _, value in rows)
    table = Table(title=printable(title), title_justify="left", title_style="bold")
    table.add_column("quantity")
    table.add_column("mean" if simulated else "value", justify="right")
    if simulated:
        table.add_column("standard error", justify="right")
    for name, value in rows:
        pair = value if isinstance(value, Mapping) else {"mean": value}
        table.add_row(printable(name.replace("_", " ")), *(_text(v) for v in pair.values()))
    put(table)


def put_values(title: str, values: Mapping[str, Any], as_json: bool) -> None:
    """Print values as one JSON object, or as a table."""
    if as_json:
        put_json(values)
    else:
        put_table(title, values)


def _rows(values: Mapping[str, Any], prefix: str = "") -> Any:
    for name, value in values.items():
        if isinstance(value, Mapping) and "mean" not in value:
            yield from _rows(value, f"{name[:-1]} " if name.endswith("s") else f"{name} ")
        else:
            yield prefix + name, value


def _text(value: Any) -> str:
    if isinstance(value, str):
        return printable(value)
    if isinstance(value, int):
        return str(value)
    if not math.isfinite(value):
        return "-" if math.isnan(value) else str(value)
    return f"{value:.3g}" if 0 < abs(value) < 1e-3 else f"{value:.6g}"
