"""The settings of a command: their results, as one answer, as files and as a picture."""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsetoken.base.files import require_place, write_whole
from sparsetoken.base.machine import needed
from sparsetoken.base.parameters import parameters_of
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput
from sparsetoken.cli.cluster import on_cluster
from sparsetoken.cli.options import Grid
from sparsetoken.cli.output import Answer, not_written, table, write_table

if TYPE_CHECKING:
    from sparsetoken.results import Record

TABLES, ARRAYS, PICTURES = (".csv", ".parquet"), (".nc",), (".svg", ".png", ".pdf")
_INNER = {"step", "time", "trial"}  # dimensions within a point

Found = Sequence[tuple[dict[str, Any], "Record"]]
"""The results by the words that vary."""


def options(*values: Any, **more: Any) -> dict[str, Any]:
    """Return the options of dataclasses, and others, by name."""
    return {name: given for value in values for name, given in vars(value).items()} | more


def made(kind: Any, at: Mapping[str, Any]) -> Any:
    """Return the value of a class from the options that are its fields."""
    return kind(**{name: at[name] for name in parameters_of(kind) if name in at})


def computed(
    given: Mapping[str, Any],
    grid: Grid,
    call: Callable[[dict[str, Any]], Callable[[], Record]],
    loops: Sequence[str] = (),
    inner: Sequence[str] = (),
) -> Found:
    """Return the results at all combinations of options that are several.

    Parameters
    ----------
    given : mapping
        The options by name; those that are several are tuples.
    grid : Grid
    call : callable
        Takes the options at a setting, in which numbers may be arrays with an axis for each that is
        several, and returns the call that computes it: what is illegal is refused before any is.
    loops : sequence of str
        Options that are single in each call: words, and numbers that it takes no array of.
    inner : sequence of str
        Dimensions of the result at a point, over which curves are drawn.
    """
    from sparsetoken.model.values import Broadcast
    from sparsetoken.results.record import stacked

    several = {name: values for name, values in given.items() if isinstance(values, tuple)}
    words = {name: values for name, values in several.items() if isinstance(values[0], str)}
    counted = {name: len(values) for name, values in several.items() if name not in words}
    check_files(grid, [*counted, *inner])
    if grid.plot is not None and inner:
        _require_few(math.prod(counted.values()))
    numbers = {n: values for n, values in several.items() if n in loops and n not in words}
    axes = {name: values for name, values in several.items() if name not in {*words, *numbers}}
    shared = {**given, **_on_axes(axes)}
    places, settings = _combinations(numbers), _combinations(words)
    calls = [[call({**shared, **own, **place}) for place in places] for own in settings]
    outer = Broadcast([], tuple(map(len, numbers.values())), tuple(numbers), _on_axes(numbers))
    found = []
    with on_cluster(grid.cluster), progress_of("settings", len(places) * len(calls)) as done:
        for own, some in zip(settings, calls, strict=True):
            records = []
            for compute in some:
                records.append(compute())
                done()
            whole = stacked(records, outer)  # along the numbers that are looped over
            found.append((own, dataclasses.replace(whole, model=records[0].model)))
    return found


def _require_few(curves: int) -> None:
    """Raise `InvalidInput` for more curves than a picture has, before they are computed."""
    from sparsetoken.figures.records import MOST_LINES

    if curves > MOST_LINES:
        raise InvalidInput("--plot", f"given with at most {MOST_LINES} curves", curves)


def _combinations(values: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    return [dict(zip(values, own, strict=True)) for own in itertools.product(*values.values())]


def _on_axes(axes: Mapping[str, Sequence[Any]]) -> dict[str, Any]:
    """Return an array for each, along an axis of its own."""
    import numpy as np

    return {
        name: np.reshape(values, [-1 if name == other else 1 for other in axes])
        for name, values in axes.items()
    }


def points_of(found: Found) -> Iterator[tuple[dict[str, Any], Record]]:
    """Yield the result at each point, with the parameters that vary."""
    for words, record in found:
        if record.dims and record.dims[0] not in _INNER:
            yield from points_of([(words, part) for part in record])
        else:
            outer = {n: c.item() for n, c in record.coords.items() if n not in _INNER}
            yield words | outer, record


def answered(
    title: str,
    found: Found,
    grid: Grid,
    few: Sequence[str],
    values: Callable[[Any], dict[str, Any]],
    advice: Sequence[str] = (),
) -> Answer:
    """Return results as one answer, and write their files.

    Parameters
    ----------
    title : str
    found : sequence
    grid : Grid
    few : sequence of str
        The columns of the table without ``--all``, beside those of the settings and the status.
    values : callable
        Returns the JSON of the result at a point.
    advice : sequence of str
    """
    points = [(at, values(part)) for at, part in points_of(found)]
    (_, first), *more = points
    if more:
        states = (str(one["status"]) for _, one in points)
        first = {
            "points": [{**_typed(at), **one} for at, one in points],
            "status": next((state for state in states if state != "converged"), "converged"),
        }
    notes, fallen = _said(found)
    lines = table(title, _rows(found, () if grid.all else (*few, "status")))
    answer = Answer(title, first, lines, [*advice, *notes], " ".join(fallen))
    for name, path, write in (("out", grid.out, _write), ("plot", grid.plot, _draw)):
        if path is None:
            continue
        try:
            write(found, path)
        except OSError as error:
            failure = not_written(name, path, error, grid.keep)
            said = [*answer.advice, *filter(None, [answer.shortfall])]
            lost = {**answer.values, name: None}
            answer = answer._replace(values=lost, advice=said, shortfall=failure)
        else:
            lines = [*answer.lines, f"Wrote {path}"]
            answer = answer._replace(values={**answer.values, name: str(path)}, lines=lines)
    return answer


def _typed(at: Mapping[str, Any]) -> dict[str, Any]:
    """Return a setting as typed: JSON has no infinity."""
    return {name: "inf" if value == math.inf else value for name, value in at.items()}


def _rows(found: Found, names: Sequence[str]) -> list[dict[str, Any]]:
    """Return the rows of a table, with columns of these names, or all; none after a divergence."""
    from sparsetoken.results.record import ALONG

    rows = []
    for words, record in found:
        along = next((dim for dim in record.dims if dim in ALONG), "")
        kept = {*names, *(f"{name}_se" for name in names), *record.coords, *record.dims}
        for row in record.records():
            if along and row[along] and not math.isfinite(row["training_loss"]):
                continue
            rows.append(words | {n: one for n, one in row.items() if not names or n in kept})
    return rows


def _said(found: Found) -> tuple[list[str], list[str]]:
    """Return the advice of results, and why points among them did not converge."""
    import numpy as np

    from sparsetoken.results import CONVERGED

    notes: list[str] = []
    fallen: list[str] = []
    for words, record in found:
        place = ", ".join(f"{name} = {word}" for name, word in words.items())
        at = f"At {place}: " if place else ""
        notes += [f"{at}{note}".replace(": At ", ", at ", 1) for note in record.advice]
        given: Any = getattr(record, "status", CONVERGED)
        states: Any = np.asarray(given, dtype=object).ravel()
        short = [one for one in states if not one.converged]
        for one in dict.fromkeys(short):
            some = f" at {short.count(one)} of {len(states)} points" if len(states) > 1 else ""
            fallen.append(f"{at}Not converged ({one.code}){some}. {one.remedy}".rstrip())
    return notes, fallen


def check_files(grid: Grid, several: Sequence[str]) -> None:
    """Raise `InvalidInput` unless the results can be written, and drawn over what is several."""
    for name, path, endings in (
        ("--out", grid.out, (*TABLES, *ARRAYS)),
        ("--plot", grid.plot, PICTURES),
    ):
        if path is not None:
            check_file(name, path, endings, *([] if grid.keep is None else [Path(grid.keep)]))
    if grid.plot is not None and not 1 <= len(several) <= 2:
        got = ", ".join(several) or "none"
        raise InvalidInput("--plot", "given with one or two numbers that are several", got)
    if grid.out is not None:
        needed("pandas" if grid.out.suffix.lower() in TABLES else "xarray", "to write it", "data")
        if grid.out.suffix.lower() == ".parquet":
            needed("pyarrow", "to write Parquet files", "data")


def check_file(name: str, path: Path, endings: Sequence[str], *inputs: Path) -> None:
    """Raise `InvalidInput` unless a file with one of these endings can be written or drawn."""
    if path.suffix.lower() not in endings:
        raise InvalidInput(name, f"a path that ends in {', '.join(endings)}", str(path))
    require_place(name, path, *inputs)
    if endings == PICTURES:
        needed("matplotlib", "to draw", "app")


def _write(found: Found, path: Path) -> None:
    """Write the results as a table or as named arrays."""
    if path.suffix.lower() in TABLES:
        import pandas as pd

        parts = [pd.DataFrame([words | row for row in one.records()]) for words, one in found]
        write_table(path, pd.concat(parts, ignore_index=True))
        return
    import xarray

    arrays = [
        record.to_xarray().assign_coords(words).expand_dims([*words]) for words, record in found
    ]
    dataset = xarray.merge(arrays, join="outer", compat="no_conflicts")
    dataset = dataset.map(lambda one: one.astype(str) if one.dtype == object else one)
    content = bytes(dataset.to_netcdf(engine="scipy", format="NETCDF3_64BIT"))
    write_whole(path, content)


def _draw(found: Found, path: Path) -> None:
    """Draw curves over one number, or maps over two."""
    from sparsetoken.figures.records import draw, draw_maps

    dims = [dim for dim in found[0][1].dims if dim != "trial"]
    maps = len(dims) == 2 and not {"step", "time"} & {*dims}
    with picture(path, 5.0 * (len(found) if maps else 1), 3.6) as figure:
        panels = figure.subplots(1, len(found) if maps else 1, squeeze=False).ravel()
        named = {", ".join(map(str, words.values())): record for words, record in found}
        if maps:
            draw_maps(named, panels.tolist())
        else:
            for name, record in named.items():
                draw(record, "", panels[0], {"label": name} if name else {})


@contextlib.contextmanager
def picture(path: Path, width: float, height: float) -> Iterator[Any]:
    """Give a figure of a size in inches to draw in, and write it."""
    from matplotlib.figure import Figure

    from sparsetoken.figures import style

    with style.styled():
        figure = Figure(figsize=(width, height), dpi=style.DPI, layout="constrained")
        yield figure
        content = io.BytesIO()
        figure.savefig(content, format=path.suffix[1:].lower())
    write_whole(path, content.getbuffer())
