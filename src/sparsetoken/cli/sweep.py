"""The command that runs a sweep, on this machine or a cluster."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparsetoken.cli import options as o
from sparsetoken.cli.progress import progress_bar
from sparsetoken.cli.running import Cluster, executor_of, one_message
from sparsetoken.cli.show import guarded, message, put_values

if TYPE_CHECKING:
    from sparsetoken.sweep import Counts, Grid
    from sparsetoken.sweep.spec import Checked

MOST_ROWS = 100_000


@guarded
def sweep(
    spec: Annotated[
        Path, typer.Argument(metavar="SPEC.toml", help="What to compute.", show_default=False)
    ],
    store: Annotated[
        Path | None,
        typer.Option("--store", help="File of the results; by default SPEC.sqlite in this folder."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", help="Processes; by default one for each core.")
    ] = None,
    cluster: Cluster = "",
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print counts and expected time; write nothing.")
    ] = False,
    retry_failed: Annotated[
        bool, typer.Option("--retry-failed", help="Run rows again that failed before.")
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help=f"Allow more than {MOST_ROWS:,} rows.")
    ] = False,
    memory_budget: Annotated[
        int | None,
        typer.Option(
            "--memory-budget",
            help="Bytes that one trial may take; 4 GiB or the worker's share of this machine.",
        ),
    ] = None,
    as_json: o.AsJson = False,
) -> None:
    """Compute what a sweep lacks; run it again to go on after any interruption.

    Ends with exit code 1 if rows failed or did not converge.

    Example: [cyan]sparsetoken sweep examples/sweep.toml --store sweep.sqlite[/]
    """
    from sparsetoken.sweep.processes import one_thread_each
    from sparsetoken.sweep.spec import read_spec
    from sparsetoken.validation import integer

    with one_thread_each():
        workers = integer("workers", workers or os.cpu_count() or 1, 1)
        budget = _budget(memory_budget, workers, cluster)
        path = Path(f"{spec.stem}.sqlite") if store is None else store
        with one_message():
            same_budget = memory_budget is None

            def checked(grid: Grid) -> Checked:
                _check_size(grid, spec, yes or dry_run)  # before all points are looked at
                if dry_run and grid.most_rows > MOST_ROWS:
                    message("Checked where all axes but one are at an end; a run checks all.")
                    return "edges"
                return "none" if same_budget and _is_known(path, grid) else "all"

            grid = read_spec(spec, budget, checked)
            if dry_run:
                _tell_plan(grid, path, workers, budget, as_json)
                return
            counts = _run(grid, path, workers, cluster, retry_failed, budget)
    _tell_counts(counts, path, as_json)


def _budget(given: int | None, workers: int, cluster: str) -> int | None:
    from sparsetoken.simulation.budget import DEFAULT_BUDGET
    from sparsetoken.sweep.processes import memory_share
    from sparsetoken.validation import integer

    if given is not None:
        return integer("memory_budget", given, 1)
    return None if cluster else min(DEFAULT_BUDGET, memory_share(workers))


def _check_size(grid: Grid, spec: Path, allowed: bool) -> None:
    from sparsetoken.validation import InvalidInput

    if grid.most_rows > MOST_ROWS and not allowed:
        remedy = "Look at --dry-run first, then allow it with --yes."
        raise InvalidInput(f"rows of {spec}", f"at most {MOST_ROWS}", grid.most_rows, remedy)


def _is_known(path: Path, grid: Grid) -> bool:
    """Return whether the store has this very sweep, whose points were checked before."""
    from sparsetoken.sweep import Store
    from sparsetoken.sweep.schema import EmptyStore

    if not path.is_file():
        return False
    try:
        with Store(path, write=False) as file:
            return file.has_sweep(grid.text())
    except EmptyStore:  # its creation was interrupted
        return False


def _run(
    grid: Grid, path: Path, workers: int, address: str, retry_failed: bool, budget: int | None
) -> Counts:
    from sparsetoken.sweep import GridPlan, Store, run

    with contextlib.ExitStack() as stack:
        executor, workers = stack.enter_context(executor_of(workers, address))
        file = stack.enter_context(Store(path))
        bar = stack.enter_context(progress_bar())
        task = bar.add_task("rows", total=None)

        def show(counts: Counts) -> None:
            fallen = f", {counts.failed} failed" if counts.failed else ""
            bar.update(
                task,
                description=f"rows{fallen}",
                completed=counts.total - counts.left,
                total=counts.total,
            )

        return run(
            file,
            GridPlan(grid, budget),
            executor,
            workers=workers,
            retry_failed=retry_failed,
            on_registered=lambda added: bar.update(task, description="writing the rows down"),
            on_counts=show,
            on_damaged=lambda rows: message(f"{path}: {rows} rows are damaged and run again."),
        )


def _tell_plan(grid: Grid, path: Path, workers: int, budget: int | None, as_json: bool) -> None:
    from sparsetoken.sweep import Store
    from sparsetoken.sweep.estimate import estimate
    from sparsetoken.sweep.schema import EmptyStore

    with contextlib.ExitStack() as stack:
        file = None
        if path.is_file():
            with contextlib.suppress(EmptyStore):  # its creation was interrupted
                file = stack.enter_context(Store(path, write=False))
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
    put_values("Sweep, not run", values, as_json)


def _tell_counts(counts: Counts, path: Path, as_json: bool) -> None:
    put_values("Sweep", {**counts._asdict(), "store": str(path)}, as_json)
    if counts.failed:
        message(f"{counts.failed} rows failed: `sparsetoken results {path}` says why.")
    if counts.not_converged:
        message(f"{counts.not_converged} rows did not converge; their status says what to try.")
    if counts.failed or counts.left or counts.not_converged:
        raise typer.Exit(1)
