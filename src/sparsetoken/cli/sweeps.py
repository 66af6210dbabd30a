"""Commands on stores of sweeps: sweep runs one, results shows and exports it, plot draws it."""

from __future__ import annotations

import contextlib
import errno
import io
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.command import command
from sparsetoken.cli.output import Answer, message, table
from sparsetoken.cli.workers import executor_of
from sparsetoken.files import require_place, written_whole
from sparsetoken.progress import progress_of
from sparsetoken.validation import Failure, InvalidInput, integer

if TYPE_CHECKING:
    from sparsetoken.sweep import Counts, Grid, Store
    from sparsetoken.sweep.integrity import Losses
    from sparsetoken.sweep.reading import StoreReader
    from sparsetoken.sweep.spec import Checked

MOST_ROWS = 100_000
MOST_MESSAGES = 10
UNDATED = {".svg": {"Date": None}, ".png": None, ".pdf": {"CreationDate": None}}
"""What is left out of each kind of picture, so that the same figure has the same bytes."""

StoreFile = Annotated[Path, Option("FILE", help="A store of sweeps.")]


@command
def sweep(
    spec: Annotated[Path, Option("SPEC.toml", help="What to compute.")],
    *,
    store: Annotated[
        Path | None,
        Option("--store", help="File of the results; by default SPEC.sqlite in this folder."),
    ] = None,
    workers: Annotated[int | None, Option(help="Processes; by default one for each core.")] = None,
    cluster: o.Cluster = "",
    dry_run: Annotated[bool, Option(help="Print counts and expected time; write nothing.")] = False,
    retry_failed: Annotated[bool, Option(help="Run rows again that failed before.")] = False,
    yes: Annotated[bool, Option(help=f"Allow more than {MOST_ROWS:,} rows.")] = False,
    memory_budget: Annotated[
        int | None,
        Option(help="Bytes that one trial may take; 4 GiB or the worker's share of this machine."),
    ] = None,
) -> Answer:
    """Compute what a sweep lacks; run it again to go on after any interruption.

    Ends with exit code 1 if rows failed or did not converge.

    Example: sparsetoken sweep examples/sweep.toml --store sweep.sqlite
    """
    from sparsetoken.sweep.processes import one_thread_each
    from sparsetoken.sweep.spec import read_spec

    path = Path(f"{spec.stem}.sqlite") if store is None else store
    with one_thread_each():
        workers = integer("workers", workers or os.cpu_count() or 1, 1)
        budget = _budget(memory_budget, workers, cluster)

        def checked(grid: Grid) -> Checked:
            _check_size(grid, spec, yes or dry_run)  # before all points are looked at
            if dry_run and grid.most_rows > MOST_ROWS:
                message("Checked where all axes but one are at an end; a run checks all.")
                return "edges"
            with _existing(path) as file:
                known = memory_budget is None and file and file.has_sweep(grid.text())
            return "none" if known else "all"

        grid = read_spec(spec, budget, checked)
        if dry_run:
            return _plan(grid, path, workers, budget)
        counts = _run(grid, path, workers, cluster, retry_failed, budget)
    advice = []
    if counts.failed:
        advice.append(f"{counts.failed} rows failed: `sparsetoken results {path}` says why.")
    if counts.not_converged:
        remedy = "their status says what to try."
        advice.append(f"{counts.not_converged} rows did not converge; {remedy}")
    fallen = counts.failed or counts.left or counts.not_converged
    values = {**counts._asdict(), "store": str(path)}
    return Answer("Sweep", values, advice=advice, code=1 if fallen else 0)


def _budget(given: int | None, workers: int, cluster: str) -> int | None:
    from sparsetoken.simulation.budget import DEFAULT_BUDGET
    from sparsetoken.sweep.processes import memory_share

    if given is not None:
        return integer("memory_budget", given, 1)
    return None if cluster else min(DEFAULT_BUDGET, memory_share(workers))


def _check_size(grid: Grid, spec: Path, allowed: bool) -> None:
    if grid.most_rows > MOST_ROWS and not allowed:
        remedy = "Look at --dry-run first, then allow it with --yes."
        raise InvalidInput(f"rows of {spec}", f"at most {MOST_ROWS}", grid.most_rows, remedy)


@contextlib.contextmanager
def _existing(path: Path) -> Iterator[Store | None]:
    """Open a store for reading; none if there is no file or its creation was interrupted."""
    from sparsetoken.sweep import Store
    from sparsetoken.sweep.schema import EmptyStore

    with contextlib.ExitStack() as stack:
        file = None
        if path.is_file():
            with contextlib.suppress(EmptyStore):
                file = stack.enter_context(Store(path, write=False))
        yield file


def _run(
    grid: Grid, path: Path, workers: int, address: str, retry_failed: bool, budget: int | None
) -> Counts:
    from sparsetoken import sweep as sweeps

    with (
        executor_of(workers, address) as (executor, calls),
        sweeps.Store(path) as file,
        progress_of("rows", 0) as progress,
    ):

        def show(counts: Counts) -> None:
            fallen = f", {counts.failed} failed" if counts.failed else ""
            progress.show(f"rows{fallen}", counts.total - counts.left, counts.total)

        return sweeps.run(
            file,
            sweeps.GridPlan(grid, budget),
            executor,
            workers=calls,
            retry_failed=retry_failed,
            on_registered=lambda _: progress.describe("writing the rows down"),
            on_counts=show,
            on_damaged=lambda rows: message(f"{path}: {rows} rows are damaged and run again."),
        )


def _plan(grid: Grid, path: Path, workers: int, budget: int | None) -> Answer:
    from sparsetoken.sweep.estimate import estimate

    with _existing(path) as file:
        found = estimate(grid, file, budget)
    total = sum(found.rows.values())
    values = {
        "points": grid.size,
        **{f"{quantity}_rows": count for quantity, count in found.rows.items()},
        "rows": total,
        "done": found.done,
        "left": total - found.done,
        "seconds": found.seconds / workers,
        "workers": workers,
    }
    return Answer("Sweep, not run", values)


@command
def results(
    file: StoreFile,
    *,
    export: Annotated[
        Path | None,
        Option(help="Write the rows to this .csv or .parquet file, or to a new store (.sqlite)."),
    ] = None,
    facts: Annotated[bool, Option(help="Export times, versions and host too.")] = False,
) -> Answer:
    """Show what a store has, or export its rows.

    A damaged file is read as far as it goes; then the exit code is 1.

    Example: sparsetoken results sweep.sqlite --export sweep.csv
    """
    from sparsetoken.sweep.export import check_export, export_table
    from sparsetoken.sweep.integrity import read_whole_rows
    from sparsetoken.sweep.salvage import opened_as_far_as_possible

    if export is not None:
        check_export(export, file)
    with _can_be_written(export), opened_as_far_as_possible(file) as (store, damage):
        values = _summary(store)
        if export is None:
            losses = read_whole_rows(store, lambda _: None)
        else:
            losses = export_table(store, export, facts=facts)
            values["exported"] = str(export)
    lost = _lost(losses)
    values |= {"damage": damage or lost or "none", **losses._asdict()}
    shown = {name: value for name, value in values.items() if not isinstance(value, dict)}
    shown |= {f"status {k}": count for k, count in values.get("statuses", {}).items()}
    failures = values.get("failures", {})
    advice = [f"{count} failed: {text}" for text, count in failures.items()]
    fallen = ""
    if damage or lost:
        advice.append(f"{file} is damaged ({damage or 'rows are not what was written'}).")
        saved = "" if export is None else f"What can be read is in {export}. "
        fallen = f"{saved}{lost or 'All finished rows can be read'}."
    return Answer("", values, table(str(file), shown), advice, fallen)


@contextlib.contextmanager
def _can_be_written(path: Path | None) -> Iterator[None]:
    """Turn trouble with writing a file into a message that names it."""
    try:
        yield
    except OSError as error:
        if path is None or error.errno == errno.ENAMETOOLONG:
            raise
        raise Failure(f"{path} cannot be written: {error}.") from None


def _lost(losses: Losses) -> str:
    """Return what is lost, or "" if nothing is."""
    if losses.unknown:
        most = losses.finished + losses.unknown
        return f"At least {losses.finished} and at most {most} finished rows cannot be read"
    return f"{losses.finished} finished rows cannot be read" if losses.finished else ""


def _summary(store: StoreReader) -> dict[str, Any]:
    from sparsetoken.sweep import StoreError

    try:
        counts = store.counts()._asdict()
        statuses = store.query("SELECT status, count(*) FROM results GROUP BY status")
        messages = store.query(
            "SELECT message, count(*) FROM results WHERE status = 'failed' "
            "GROUP BY message ORDER BY count(*) DESC, message LIMIT ?",
            (MOST_MESSAGES,),
        )
        sweeps = len(store.sweeps())
    except StoreError:  # the rows may still be read one by one
        return {}
    found = {"sweeps": sweeps, **counts, "statuses": dict(statuses)}
    return found | {"failures": dict(messages)}


@command
def plot(
    file: StoreFile,
    *,
    out: Annotated[
        Path | None, Option(help=".svg, .png or .pdf; by default FILE.svg in this folder.")
    ] = None,
    x: Annotated[str, Option(help="Axis of numbers; else as the sweep says.")] = "",
    y: Annotated[str, Option(help="Second axis of numbers: a heat map.")] = "",
    curves: Annotated[str, Option(help="Axis with a curve for a value.")] = "",
    value: Annotated[str, Option(help="What is drawn, as test_error.")] = "",
    number: Annotated[
        int | None, Option("--sweep", help="Number of the sweep; by default the newest.")
    ] = None,
) -> Answer:
    """Draw curves or heat maps of a sweep; what did not converge is hollow.

    Example: sparsetoken plot sweep.sqlite --x alpha1 --y strength --out sweep.svg
    """
    from sparsetoken.figures.style import styled
    from sparsetoken.sweep import Drawing, Store
    from sparsetoken.sweep.phase_diagram import draw
    from sparsetoken.sweep.summary import grid_of_sweep, summaries

    path = Path(f"{file.stem}.svg") if out is None else out
    ending = path.suffix.lower()
    if ending not in UNDATED:
        raise InvalidInput("--out", f"a path that ends in {', '.join(UNDATED)}", str(path))
    require_place("--out", path, file)
    with Store(file, write=False) as store:
        number, grid = grid_of_sweep(store, number)
        drawing = grid.plot if not (x or y or curves) else Drawing()
        chosen = Drawing(
            x or drawing.x, y or drawing.y, curves or drawing.curves, value or grid.plot.value
        )
        chosen.check(grid.names, grid.experiment)
        rows = list(summaries(store, number))
    with styled():
        figure, drawn = draw(grid, rows, chosen)
        content = io.BytesIO()  # on a full disk matplotlib raises errors of its own
        figure.savefig(content, format=ending[1:], metadata=UNDATED[ending])
    with _can_be_written(path), written_whole(path) as aside:
        aside.write_bytes(content.getvalue())
    fallen = ""
    if drawn.not_converged or drawn.missing:
        fallen = f"{drawn.not_converged} points did not converge and are hollow; "
        fallen += f"{drawn.missing} are missing."
    return Answer("Figure", {"figure": str(path), **drawn._asdict()}, shortfall=fallen)
