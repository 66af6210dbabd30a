"""The settings of a command: their results as one answer, as files and as a picture."""

from __future__ import annotations

import dataclasses
import functools
import io
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sparsetoken.base.files import (
    require_place,
    write_whole,
)
from sparsetoken.base.machine import needed
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput, choice, require_points
from sparsetoken.cli.cluster import on_cluster
from sparsetoken.cli.options import Grid, Values
from sparsetoken.cli.output import Answer, not_written, together
from sparsetoken.model.models import MODELS

if TYPE_CHECKING:
    from sparsetoken.model.values import Broadcast
    from sparsetoken.results import Record

TABLES, ARRAYS, PICTURES = (".csv", ".parquet"), (".nc",), (".svg", ".png", ".pdf")
_INNER = {"step", "trial"}  # dimensions within a point

Words = dict[str, Any]
Found = Sequence[tuple[Words, "Record"]]


def answered(
    options: Values,
    grid: Grid,
    call: Callable[[Values, str], Record],
    shown: Callable[[Record, Words], Answer],
    models: Sequence[str] = ("",),
    inner: Sequence[str] = (),
) -> Answer:
    """Return the answer of a command at all its settings.

    Parameters
    ----------
    options : Values
    grid : Grid
    call : callable
        Returns the results of options, whose numbers may be arrays, for the name of a model.
    shown : callable
        Returns the answer at a single point from its result and the words that vary.
    models : sequence of str
    inner : sequence of str
        Dimensions of the result at a point, over which curves are drawn.
    """
    for name in filter(None, models):
        choice("model", name, MODELS)
    check_files(options, grid, inner)
    sizes = [len(getattr(options, name)) for name in options.several]
    require_points("the number of points", len(models) * math.prod(sizes))
    wanted = [(model, *setting) for model in models for setting in options.settings()]
    with on_cluster(grid.cluster), progress_of("settings", len(wanted)) as done:
        rows = []
        for model, words, numbers, at in wanted:
            own = {"model": model} if len(models) > 1 else {}
            rows.append(({**own, **words}, numbers, call(at, model)))
            done()
    found = list(_stacked(rows))
    points = [
        (words | place, shown(part, words)) for words, one in found for place, part in _points(one)
    ]
    (_, first), *more = points
    answer = together(*zip(*points, strict=True)) if more else first
    for name, path, write in (("out", grid.out, _write), ("plot", grid.plot, _draw)):
        if path is not None:
            write_to = functools.partial(write, found)
            answer = _with_file(answer, name, path, write_to, grid.keep)
    return answer


def _with_file(
    answer: Answer, name: str, path: Path, write: Callable[[Path], None], keep: Path | None
) -> Answer:
    """Write a file, and return the answer with its path; or with why it was not written."""
    try:
        write(path)
    except OSError as error:
        return answer._replace(
            values={**answer.values, name: None},
            advice=[*answer.advice, *filter(None, [answer.shortfall])],
            shortfall=not_written(name, path, error, keep),
            code=1,
        )
    lines = [*answer.shown, f"Wrote {path}"]
    return answer._replace(values={**answer.values, name: str(path)}, lines=lines)


def _stacked(
    rows: Iterable[tuple[Words, Mapping[str, Any], Record]],
) -> Iterator[tuple[Words, Record]]:
    """Yield the results of each combination of words, with an axis for each number that varies."""
    from sparsetoken.results.record import stacked

    groups: dict[tuple[tuple[str, Any], ...], list[tuple[Mapping[str, Any], Record]]] = {}
    for words, numbers, record in rows:
        groups.setdefault(tuple(words.items()), []).append((numbers, record))
    for own, some in groups.items():
        places, records = zip(*some, strict=True)
        first = records[0]
        if places[0]:
            axes = {name: list(dict.fromkeys(p[name] for p in places)) for name in places[0]}
            yield (
                dict(words),
                dataclasses.replace(stacked(records, _broadcast(axes)), model=first.model),
            )
        else:
            yield dict(own), first


def _broadcast(axes: Mapping[str, list[Any]]) -> Broadcast:
    import numpy as np

    from sparsetoken.model.values import Broadcast

    coords = {
        name: np.reshape(values, [-1 if name == other else 1 for other in axes])
        for name, values in axes.items()
    }
    return Broadcast([], tuple(map(len, axes.values())), tuple(axes), coords)


def _points(record: Record) -> Iterator[tuple[dict[str, Any], Record]]:
    """Yield the result at each point, with the parameters that vary."""
    if record.dims and record.dims[0] not in _INNER:
        for part in record:
            yield from _points(part)
        return
    yield {n: c.item() for n, c in record.coords.items() if n not in _INNER}, record


def check_files(options: Values, grid: Grid, inner: Sequence[str] = ()) -> None:
    """Raise `InvalidInput` unless the results can be written and drawn."""
    for name, path, endings in (
        ("--out", grid.out, (*TABLES, *ARRAYS)),
        ("--plot", grid.plot, PICTURES),
    ):
        if path is None:
            continue
        if path.suffix.lower() not in endings:
            raise InvalidInput(name, f"a path that ends in {', '.join(endings)}", str(path))
        require_place(name, path)
    if grid.plot is not None:
        several = [name for name in options.several if options.declared[name].number]
        if not 1 <= len([*several, *inner]) <= 2:
            got = ", ".join([*several, *inner]) or "none"
            raise InvalidInput("--plot", "given with one or two numbers that are several", got)
        needed("matplotlib", "to draw", "app")
    if grid.out is not None:
        needed("pandas" if grid.out.suffix.lower() in TABLES else "xarray", "to write it", "data")


def _write(found: Found, path: Path) -> None:
    """Write the results as a table or as named arrays."""
    ending = path.suffix.lower()
    if ending in TABLES:
        import pandas as pd

        parts = []
        for words, record in found:
            frame = record.to_frame()
            for place, (name, word) in enumerate(words.items()):
                frame.insert(place, name, word)
            parts.append(frame)
        table = pd.concat(parts, ignore_index=True)
        if ending == ".csv":
            write_whole(path, table.to_csv(index=False, lineterminator="\n").encode())
        else:
            texts = {name: str for name in table if table[name].dtype == object}
            write_whole(path, table.astype(texts).to_parquet(index=False))
        return
    import xarray

    parts = [
        record.to_xarray().assign_coords(words).expand_dims([*words]) for words, record in found
    ]
    dataset = xarray.merge(parts, join="outer", compat="no_conflicts")
    dataset = dataset.map(lambda one: one.astype(str) if one.dtype == object else one)
    write_whole(path, dataset.to_netcdf(engine="scipy", format="NETCDF3_64BIT"))


def _draw(found: Found, path: Path) -> None:
    """Draw curves over one number, or maps over two."""
    from matplotlib.figure import Figure

    from sparsetoken.figures import style
    from sparsetoken.figures.records import draw, draw_maps

    dims = [dim for dim in found[0][1].dims if dim != "trial"]
    maps = len(dims) == 2 and "step" not in dims
    with style.styled():
        figure = Figure(figsize=(5.0 * (len(found) if maps else 1), 3.6), layout="constrained")
        panels = figure.subplots(1, len(found) if maps else 1, squeeze=False).ravel()
        named = {", ".join(map(str, words.values())): record for words, record in found}
        if maps:
            draw_maps(named, panels.tolist())
        else:
            for name, record in named.items():
                draw(record, "", panels[0], {"label": name} if name else {})
        content = io.BytesIO()
        figure.savefig(content, format=path.suffix[1:].lower())
    write_whole(path, content.getbuffer())
