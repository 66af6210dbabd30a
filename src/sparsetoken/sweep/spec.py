"""Sweeps in TOML files; errors name the line and the key."""

from __future__ import annotations

import contextlib
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from sparsetoken.base.validation import InvalidInput
from sparsetoken.sweep.axes import Axis, listed, of_table, tied
from sparsetoken.sweep.grid import Drawing, Grid

KEYS = ("experiment", "quantities", "trials", "seed", "fixed", "axes", "tied", "plot")


def read_spec(path: Path | str, *, check: bool = True) -> Grid:
    r"""Read a grid and check it as a whole, each point included.

    Parameters
    ----------
    path : path
        A TOML file.
    check : bool
        Whether the values at each point are checked too; `check_points` does so by itself.

    Raises
    ------
    InvalidInput
        With file, line and key.

    See Also
    --------
    Grid : What a sweep computes.
    run : Computes what is missing.

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
    text = _text(path)
    with _placed(path, text):
        grid = grid_of(tomllib.loads(text))
    if check:
        check_points(path, grid)
    return grid


def check_points(
    path: Path, grid: Grid, memory_budget: int | None = None, *, corners: bool = False
) -> None:
    """Check the points of the grid of a file as `compute.check_points`; errors name the line."""
    from sparsetoken.sweep import compute  # slow to load

    with _placed(path, _text(path)):
        compute.check_points(grid, memory_budget, corners=corners)


@contextlib.contextmanager
def _placed(path: Path, text: str) -> Iterator[None]:
    """Name the file and the line in what is wrong with it."""
    try:
        yield
    except tomllib.TOMLDecodeError as error:
        raise InvalidInput(str(path), "a TOML file", str(error)) from None
    except InvalidInput as error:
        name, legal, got, remedy = error.args
        line = line_of(text, name)
        place = f"{path}, line {line}, {name}" if line else f"{path}, {name}"
        raise InvalidInput(place, legal, got, remedy) from None
    except ValueError:  # of Python, for integers of more than 4300 digits
        raise InvalidInput(str(path), "of integers of at most 128 bits", "a longer one") from None
    except RecursionError:
        raise InvalidInput(str(path), "a TOML file of few levels", "lists in lists") from None


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
    axes = [
        of_table(name, values) if isinstance(values, Mapping) else listed(name, values)
        for name, values in _table(table, "axes").items()
    ]
    chosen = _table(table, "plot")
    for key, value in chosen.items():
        if key not in Drawing.__dataclass_fields__:
            raise InvalidInput(f"plot.{key}", "one of x, y, curves, value", key)
        if not isinstance(value, str):
            raise InvalidInput(f"plot.{key}", "a text", value)
    return Grid(
        experiment=table["experiment"],
        axes=(*axes, *_tied(table)),
        fixed=_table(table, "fixed"),
        quantities=table.get("quantities", ("theory",)),
        trials=table.get("trials", 1),
        seed=table.get("seed", 0),
        plot=Drawing(**chosen),
    )


def _table(table: Mapping[str, Any], key: str) -> dict[str, Any]:
    found = table.get(key, {})
    if not isinstance(found, dict):
        raise InvalidInput(key, f"a table: [{key}]", found)
    return found


def _tied(table: Mapping[str, Any]) -> list[Axis]:
    found = table.get("tied", [])
    if not isinstance(found, list) or not all(isinstance(item, dict) for item in found):
        raise InvalidInput("tied", "tables: [[tied]]", found)
    axes = []
    for lists in found:
        if len(lists) < 2:
            raise InvalidInput("tied", "two parameters or more that move together", list(lists))
        axes.append(tied(**lists))
    return axes


def line_of(text: str, name: str) -> int | None:
    """Return the line, from 1, where a key such as ``axes.alpha1`` stands, or None."""
    *tables, key = name.split(".")
    found = _find(text, tables, key)
    while found is None and tables:  # a key of an inline table is on the line of the table
        *tables, key = tables
        found = _find(text, tables, key)
    return found


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
