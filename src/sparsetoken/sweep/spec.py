"""Sweeps in TOML files; errors name the line and the key."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.base.validation import InvalidInput, choice, integer, one_line, real
from sparsetoken.sweep.grid import Grid

KEYS = ("experiment", "quantities", "trials", "seed", "fixed", "axes", "tied", "plot")
SCALES: dict[str, Callable[..., np.ndarray]] = {"linear": np.linspace, "logarithmic": np.geomspace}
LARGEST_AXIS = 100_000


def read_spec(path: Path | str) -> Grid:
    r"""Read a grid from a TOML file.

    Parameters
    ----------
    path : path

    Raises
    ------
    InvalidInput
        With file, line and key.

    See Also
    --------
    Grid : What a sweep computes.
    run : Computes what is missing, and checks every point before.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sparsetoken.sweep import read_spec
    >>> spec = 'experiment = "alignment"\n[axes]\nstrength = [1.0, 2.0]\n'
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "spec.toml"
    ...     _ = path.write_text(spec)
    ...     read_spec(path).names
    ('strength',)
    """
    path = Path(path)
    with placed(path):
        try:
            return grid_of(tomllib.loads(_text(path)))
        except InvalidInput:
            raise
        except (ValueError, RecursionError) as error:  # also of Python, for integers of 4300 digits
            raise InvalidInput(str(path), "a TOML file", one_line(error)) from None


@contextlib.contextmanager
def placed(path: Path) -> Iterator[None]:
    """Name the file and the line in what is wrong with a key of a specification."""
    try:
        yield
    except InvalidInput as error:
        name, *rest = error.args
        line = line_of(_text(path), name)
        if not line and name.partition(".")[0] not in KEYS:
            raise
        place = f"{path}, line {line}, {name}" if line else f"{path}, {name}"
        raise InvalidInput(place, *rest) from None


def _text(path: Path) -> str:
    if not path.is_file():
        raise InvalidInput("SPEC", "a TOML file that is there", str(path))
    try:
        return path.read_text(encoding="utf-8-sig")  # some editors write a mark first
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("SPEC", "a TOML file that can be read", f"{path}: {error}") from None


def line_of(text: str, name: str) -> int | None:
    """Return the line, from 1, of a key such as axes.alpha1.points or of the table that has it."""
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        plain = re.sub(r"[\s\"']", "", line)
        if header := re.match(r"\[+([^\]]+)\]", plain):
            table = f"{header[1]}."
        given = re.match(r"[\w.+-]+(?==)", plain)
        if name in ((header and header[1]), (given and table + given[0])):
            return number
    parent = name.rpartition(".")[0]
    return line_of(text, parent) if parent else None


def grid_of(table: Mapping[str, Any]) -> Grid:
    """Return the grid that a table describes; errors name the key."""
    for key in table:
        if key not in KEYS:
            raise InvalidInput(key, f"one of the keys {', '.join(KEYS)}", key)
    if "experiment" not in table:
        raise InvalidInput("experiment", "given", "no such key")
    given = {key: table[key] for key in ("quantities", "trials", "seed") if key in table}
    fixed, axes, plot = (_table(table, key) for key in ("fixed", "axes", "plot"))
    steps = {name: _steps(name, values) for name, values in axes.items()}
    tied = table.get("tied", [])
    if not isinstance(tied, list) or not all(isinstance(lists, dict) and lists for lists in tied):
        raise InvalidInput("tied", "tables: [[tied]]", tied)
    for lists in tied:
        place = f"tied.{next(iter(lists))}"
        for name, values in _table({"tied": lists}, "tied").items():
            if not isinstance(values, list) or not values:
                raise InvalidInput(f"tied.{name}", "a list of one value or more", values)
        if len(lists) < 2 or len(set(map(len, lists.values()))) != 1:
            got = ", ".join(f"{name}: {len(values)}" for name, values in lists.items())
            raise InvalidInput(place, "one of two lists or more, of equal length", got)
        steps["+".join(lists)] = list(zip(*lists.values(), strict=True))
    return Grid(table["experiment"], steps, fixed, plot=plot, **given)


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    entries = table.get(key, {})
    if not isinstance(entries, dict):
        raise InvalidInput(key, f"a table: [{key}]", entries)
    for name in entries:
        if "+" in name:  # which joins the names of tied parameters
            raise InvalidInput(f"{key}.{name}", "the name of a parameter", name)
    return entries


def _steps(name: str, values: Any) -> Any:
    """Return a list, or the values of ``{from, to, points, scale}`` with 12 digits."""
    if not isinstance(values, Mapping):
        return values
    where = f"axes.{name}"
    if {*values, "scale"} != {"from", "to", "points", "scale"}:
        got = ", ".join(values) or "no keys"
        raise InvalidInput(where, "a list, or a table of from, to, points and scale", got)
    scale = choice(f"{where}.scale", values.get("scale", "linear"), SCALES)
    points = integer(f"{where}.points", values["points"], 2, LARGEST_AXIS)
    ends = [real(f"{where}.{end}", values[end]) for end in ("from", "to")]
    if scale == "logarithmic" and min(ends) <= 0:
        raise InvalidInput(where, "above 0 at both ends of a logarithmic axis", tuple(ends))
    with np.errstate(over="ignore", invalid="ignore"):  # no parameter may be that large
        return [float(f"{value:.12g}") for value in SCALES[scale](*ends, points)]
