"""The command that runs the experiments and writes the report."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from sparsetoken.cli import options as o
from sparsetoken.cli.progress import ProgressLines, progress_bar
from sparsetoken.cli.running import Cluster, executor_of, one_message
from sparsetoken.cli.show import guarded, message, put_json, put_table

if TYPE_CHECKING:
    from sparsetoken.report import Reproduction


@guarded
def reproduce(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAME]...",
            help="Experiments, by the name of their section; all by default.",
        ),
    ] = None,
    profile: Annotated[
        str, typer.Option("--profile", help="quick (minutes) or paper (the full sizes).")
    ] = "quick",
    out: Annotated[str, typer.Option("--out", help="Folder of the report.")] = "results",
    seed: Annotated[int, typer.Option("--seed", help="Seed of all experiments.")] = 0,
    bags: Annotated[
        Path | None,
        typer.Option(
            "--bags",
            metavar="FOLDER",
            show_default=False,
            help="Folder of files of bags, as forecast reads them: their forecasts and measured "
            "errors come into the section forecasts.",
        ),
    ] = None,
    positive: Annotated[
        str,
        typer.Option(
            "--positive",
            metavar="LABEL",
            show_default=False,
            help="In files of --bags with more than two classes, the label that counts as True; "
            "all others are False.",
        ),
    ] = "",
    workers: Annotated[int, typer.Option("--workers", help="Processes.")] = 2,
    cluster: Cluster = "",
    as_json: o.AsJson = False,
) -> None:
    """Run the experiments against the theory and write report.html.

    Finished work is kept in reproduce.sqlite in that folder: the same command goes on after
    any interruption. Ends with exit code 1 if a claim fails or did not converge. Experiments
    whose optional packages are not installed are left out, unless they are named.

    Example: [cyan]sparsetoken reproduce alignment --out results[/]
    """
    from sparsetoken.experiments.claims import FAILS, NOT_CONVERGED
    from sparsetoken.experiments.forecasts.rows import LeftOut
    from sparsetoken.experiments.forecasts.sets import read_sets
    from sparsetoken.report.reproduce import reproduce as run
    from sparsetoken.validation import InvalidInput, integer

    seed, workers = integer("seed", seed, 0), integer("workers", workers, 1)
    if positive and bags is None:
        raise InvalidInput("--positive", "given with --bags FOLDER", positive)
    sets = [] if bags is None else read_sets(bags, positive)
    for one in sets:
        if isinstance(one, LeftOut):
            message(f"Left out: {one.set}. {one.reason}")
    with (
        one_message(),
        executor_of(workers, cluster) as (executor, workers),
        told_progress() as progress,
    ):
        found = run(
            names or [],
            profile=profile,
            out=out,
            seed=seed,
            sets=sets,
            executor=executor,
            workers=workers,
            progress=progress,
        )
    _show(found, as_json)
    if found.resumed:
        message(f"{found.resumed} of {found.pieces} pieces of work came from earlier runs.")
    if found.damaged:
        message(f"{found.damaged} of them were damaged in the file and ran again.")
    for experiment in found.skipped:
        extra = f"pip install 'sparsetoken[{experiment.extra}]'"
        message(f"Left out: {experiment.name}, which needs optional packages: {extra}.")
    if not found.all_hold:
        lost = [f.claim.name for f in found.findings if f.verdict in (FAILS, NOT_CONVERGED)]
        message(f"Claims that do not hold: {', '.join(lost)}. The report says why.")
        raise typer.Exit(1)


def _show(found: Reproduction, as_json: bool) -> None:
    from sparsetoken.experiments.claims import EVIDENCE
    from sparsetoken.report.reproduce import comparison_row, finding_row

    if as_json:
        put_json(
            {
                "claims": [comparison_row(c) for c in found.comparisons],
                "statements": [finding_row(finding) for finding in found.findings],
                "report": str(found.report),
                "status": "converged" if found.all_hold else "claims_failed",
                "skipped": [{"name": e.name, "extra": e.extra} for e in found.skipped],
            }
        )
        return
    comparisons = {f"comparisons {EVIDENCE[kind]}": n for kind, n in found.evidence.items()}
    put_table("Claims", {**found.counts, **comparisons, "report": str(found.report)})


@contextlib.contextmanager
def told_progress() -> Iterator[Callable[[str, float, float], None]]:
    """Return what tells of progress: a bar on a terminal, lines with the time left elsewhere."""
    with progress_bar(counts=False) as bar:
        if bar.disable:
            yield ProgressLines(seconds=10.0, share=0.05)
            return
        task = bar.add_task("experiments", total=None)
        yield lambda name, done, total: bar.update(
            task, description=name, completed=done, total=total
        )
