"""Sweeps in TOML files; errors name the line and the key."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.base.validation import InvalidInput, choice, integer, real
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
        except tomllib.TOMLDecodeError as error:
            raise InvalidInput(str(path), "a TOML file", str(error)) from None
        except InvalidInput:
            raise
        except ValueError:  # of Python, for integers of more than 4300 digits
            legal = "of integers of at most 128 bits"
            raise InvalidInput(str(path), legal, "a longer one") from None
        except RecursionError:
            raise InvalidInput(str(path), "a TOML file of few levels", "lists in lists") from None


@contextlib.contextmanager
def placed(path: Path) -> Iterator[None]:
    """Name the file and the line in what is wrong with a key of a specification."""
    try:
        yield
    except InvalidInput as error:
        name, legal, got, remedy = error.args
        line = line_of(_text(path), name)
        if not line and name.partition(".")[0] not in KEYS:
            raise
        place = f"{path}, line {line}, {name}" if line else f"{path}, {name}"
        raise InvalidInput(place, legal, got, remedy) from None


def _text(path: Path) -> str:
    if not path.is_file():
        raise InvalidInput("SPEC", "a TOML file that is there", str(path))
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput("SPEC", "a TOML file that can be read", f"{path}: {error}") from None


def grid_of(table: Mapping[str, Any]) -> Grid:
    """Return the grid that a table describes; errors name the key."""
    for key in table:
        if key not in KEYS:
            raise InvalidInput(key, f"one of the keys {', '.join(KEYS)}", key)
    if "experiment" not in table:
        raise InvalidInput("experiment", "given", "no such key")
    given = {key: table[key] for key in ("quantities", "trials", "seed") if key in table}
    fixed, plot = _table(table, "fixed"), _table(table, "plot")
    axes = {name: _steps(name, values) for name, values in _table(table, "axes").items()}
    axes |= _tied(table)
    return Grid(table["experiment"], axes, fixed, plot=plot, **given)


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    entries = table.get(key, {})
    if not isinstance(entries, dict):
        raise InvalidInput(key, f"a table: [{key}]", entries)
    for name in entries:
        if "+" in name:  # which joins the names of tied parameters
            raise InvalidInput(f"{key}.{name}", "the name of a parameter", name)
    return entries


def _tied(table: Mapping[str, Any]) -> dict[str, Any]:
    tables = table.get("tied", [])
    if not isinstance(tables, list) or not all(isinstance(item, dict) for item in tables):
        raise InvalidInput("tied", "tables: [[tied]]", tables)
    axes: dict[str, Any] = {}
    for lists in tables:
        if len(lists) < 2:
            raise InvalidInput("tied", "two parameters or more that move together", list(lists))
        for name, values in _table({"tied": lists}, "tied").items():
            if not isinstance(values, list) or not values:
                raise InvalidInput(f"tied.{name}", "a list of one value or more", values)
        if len(set(map(len, lists.values()))) != 1:
            got = ", ".join(f"{name}: {len(values)}" for name, values in lists.items())
            raise InvalidInput(f"tied.{next(iter(lists))}", "lists of equal length", got)
        label = "+".join(lists)
        if label in axes:
            raise InvalidInput(f"tied.{next(iter(lists))}", "on one axis only", "a second axis")
        axes[label] = list(zip(*lists.values(), strict=True))
    return axes


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


def line_of(text: str, name: str) -> int | None:
    """Return the line, from 1, where a key such as ``axes.alpha1`` stands, or None."""
    *tables, key = name.split(".")
    line = _find(text, tables, key)
    while line is None and tables:  # a key of an inline table is on the line of the table
        *tables, key = tables
        line = _find(text, tables, key)
    return line


def _find(text: str, tables: list[str], key: str) -> int | None:
    here: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        header = re.match(r"\s*\[\[?\s*([\w.\"' -]+?)\s*\]\]?\s*(#|$)", line)
        if header:
            here = _parts(header[1])
            if here == [*tables, key]:
                return number
            continue
        given = re.match(r"\s*([\w.\"'-]+)\s*=", line)
        if given and [*here, *_parts(given[1])] == [*tables, key]:
            return number
    return None


def _parts(dotted: str) -> list[str]:
    return [part.strip().strip("\"'") for part in dotted.split(".")]
