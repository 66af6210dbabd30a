"""Commands on sweeps: sweep runs one, results shows or exports it, plot draws it."""

from __future__ import annotations

import collections
import contextlib
import io
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.base.files import require_place, written_whole
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import Failure, InvalidInput, integer
from sparsetoken.cli import options as o
from sparsetoken.cli.command import command
from sparsetoken.cli.output import Answer, message, table

if TYPE_CHECKING:
    from sparsetoken.sweep import Counts, Grid

MOST_RESULTS = 100_000
MOST_MESSAGES = 10
UNDATED = {".svg": {"Date": None}, ".png": None, ".pdf": {"CreationDate": None}}
"""Metadata omitted from each kind of picture, so that the same figure has the same bytes."""

StorePath = Annotated[
    str,
    Option("STORE", help="A sweep: a folder, or a URL such as s3://bucket/sweep."),
]


@command
def sweep(
    spec: Annotated[Path, Option("SPEC.toml", help="What to compute.")],
    *,
    store: Annotated[
        str | None,
        Option(
            help="Folder or URL of the results; by default SPEC.sweep in this folder.",
        ),
    ] = None,
    workers: Annotated[
        int | None, Option(help="Number of worker processes; by default one per core.")
    ] = None,
    cluster: o.Cluster = "",
    dry_run: Annotated[
        bool, Option(help="Print the counts and the expected time; write nothing.")
    ] = False,
    retry_failed: Annotated[bool, Option(help="Rerun what failed before.")] = False,
    yes: Annotated[bool, Option(help=f"Allow more than {MOST_RESULTS:,} results.")] = False,
) -> Answer:
    """Compute the missing results of a sweep; rerun it to resume after an interruption.

    The exit code is 1 if results failed or did not converge.

    Example: sparsetoken sweep examples/sweep.toml --store diagram
    """
    from sparsetoken.sweep.spec import placed, read_spec
    from sparsetoken.sweep.store import opened
    from sparsetoken.work import one_thread_each

    place = f"{spec.stem}.sweep" if store is None else store
    opened(place, write=True)
    with one_thread_each():
        workers = integer("workers", os.cpu_count() or 1 if workers is None else workers, 1)
        grid = read_spec(spec)
        size = sum(grid.rows.values())
        if size > MOST_RESULTS and not (yes or dry_run):
            remedy = "Check the size with --dry-run, then allow it with --yes."
            raise InvalidInput(f"results of {spec}", f"at most {MOST_RESULTS}", size, remedy)
        with placed(spec):
            if dry_run:
                return _plan(grid, place, workers)
            counts = _run(grid, place, workers, cluster, retry_failed)
    advice = []
    if counts.failed:
        advice.append(f"{counts.failed} failed: `sparsetoken results {place}` says why.")
    if counts.not_converged:
        advice.append(f"{counts.not_converged} did not converge; their status says what to try.")
    values = {**counts._asdict(), "store": place}
    fallen = counts.failed or counts.left or counts.not_converged
    return Answer("Sweep", values, advice=advice, code=1 if fallen else 0)


def _run(grid: Grid, store: str, workers: int, address: str, retry_failed: bool) -> Counts:
    from sparsetoken import sweep as sweeps
    from sparsetoken.work import executor_of

    told: list[str] = []
    with executor_of(workers, address) as (executor, calls), progress_of("results", 0) as progress:

        def show(counts: Counts) -> None:
            if counts.damaged and not told:
                told.append(f"{store}: {counts.damaged} damaged files; computed again.")
                message(told[0])
            fallen = f", {counts.failed} failed" if counts.failed else ""
            progress.show(f"results{fallen}", counts.total - counts.left, counts.total)

        return sweeps.run(
            grid,
            store,
            executor,
            workers=calls,
            retry_failed=retry_failed,
            on_counts=show,
        )


def _plan(grid: Grid, store: str, workers: int) -> Answer:
    from sparsetoken.sweep.runs import count, seconds_of

    total, done = sum(grid.rows.values()), 0
    if total > MOST_RESULTS:
        message("Checked at three points, and nothing of the store is counted.")
    else:
        counts = count(grid, store)
        done = counts.done + counts.failed
    values = {
        "points": grid.size,
        **{f"{quantity}_rows": rows for quantity, rows in grid.rows.items()},
        "rows": total,
        "done": done,
        "left": total - done,
        "seconds": seconds_of(grid) * (total - done) / total / workers,
        "workers": workers,
    }
    return Answer("Sweep, not run", values)


@command
def results(
    store: StorePath,
    *,
    export: Annotated[
        Path | None,
        Option(
            help="Write the results to this .csv, .parquet, .nc (netCDF), .zarr or .zarr.zip file."
        ),
    ] = None,
) -> Answer:
    """Show or export the results of a sweep.

    Results in damaged files are omitted; the exit code is then 1.

    Example: sparsetoken results diagram --export diagram.csv
    """
    from sparsetoken.sweep import Counts, dataset

    if export is not None:
        dataset.check_export(export, store)
    arrays, damaged = dataset.read(store)
    rows = dataset.table(arrays)
    statuses = collections.Counter(rows["status"])
    failures = collections.Counter(rows[rows["status"] == "failed"].get("message"))
    values: dict[str, Any] = Counts.of(rows["status"], damaged)._asdict()
    del statuses["missing"]
    values["statuses"] = dict(statuses)
    values["failures"] = dict(failures.most_common(MOST_MESSAGES))
    if export is not None:
        with _can_be_written(export):
            dataset.export(arrays, export)
        values["exported"] = str(export)
    shown = {name: value for name, value in values.items() if not isinstance(value, dict)}
    shown |= {f"status {name}": number for name, number in values["statuses"].items()}
    advice = [f"{number} failed: {text}" for text, number in values["failures"].items()]
    fallen = f"{damaged} files are damaged; run the sweep again." if damaged else ""
    return Answer("", values, table(store, shown), advice, fallen)


@contextlib.contextmanager
def _can_be_written(path: Path) -> Iterator[None]:
    """Turn an error in writing a file into a message that names the file."""
    try:
        yield
    except OSError as error:
        raise Failure(f"{path} cannot be written: {error}.") from None


@command
def plot(
    store: StorePath,
    *,
    out: Annotated[
        Path | None, Option(help=".svg, .png or .pdf; by default STORE.svg in this folder.")
    ] = None,
    x: Annotated[
        str, Option(help="Numeric axis; by default the axes are those of the sweep.")
    ] = "",
    y: Annotated[
        str, Option(help="Second numeric axis: draws a heat map in place of curves.")
    ] = "",
    curves: Annotated[str, Option(help="Axis with one curve for each value.")] = "",
    value: Annotated[str, Option(help="Quantity to draw, such as test_error.")] = "",
) -> Answer:
    """Draw curves or heat maps of a sweep; points that did not converge are hollow.

    Example: sparsetoken plot diagram --x alpha1 --y strength --out diagram.svg
    """
    from sparsetoken.figures.grids import draw
    from sparsetoken.figures.style import styled
    from sparsetoken.sweep import to_xarray
    from sparsetoken.sweep.grid import check_plot
    from sparsetoken.sweep.parameters import RESULTS

    name = Path(store).name.partition(".")[0] or "sweep"
    path = Path(f"{name}.svg") if out is None else out
    ending = path.suffix.lower()
    if ending not in UNDATED:
        raise InvalidInput("--out", f"a path that ends in {', '.join(UNDATED)}", str(path))
    require_place("--out", path, Path(store))
    dataset = to_xarray(store)
    about = json.loads(dataset.attrs["specification"])
    asked = {"x": x, "y": y, "curves": curves}
    chosen = {role: name for role, name in asked.items() if name} or dict(about["plot"])
    chosen["value"] = value or about["plot"].get("value") or RESULTS[about["experiment"]][0]
    try:
        check_plot(chosen, about["axes"], about["experiment"])
    except InvalidInput as error:  # there "plot.x" is a key of a specification
        name, *rest = error.args
        raise InvalidInput(name.removeprefix("plot."), *rest) from None
    with styled():
        figure, drawn = draw(dataset, **chosen)
        content = io.BytesIO()  # on a full disk matplotlib raises errors of its own
        figure.savefig(content, format=ending[1:], metadata=UNDATED[ending])
    with _can_be_written(path), written_whole(path) as aside:
        aside.write_bytes(content.getvalue())
    fallen = ""
    if drawn.not_converged or drawn.missing:
        fallen = f"{drawn.not_converged} points did not converge and are hollow; "
        fallen += f"{drawn.missing} lack results."
    return Answer("Figure", {"figure": str(path), **drawn._asdict()}, shortfall=fallen)
