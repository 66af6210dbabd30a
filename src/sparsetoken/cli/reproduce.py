"""The command that runs the experiments and writes the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from sparsetoken.cli import options as o
from sparsetoken.cli.running import Cluster, executor_of, one_message
from sparsetoken.cli.show import guarded, message, progress_bar, put_json, put_table

if TYPE_CHECKING:
    from sparsetoken.report import Reproduction

__all__ = ["reproduce"]


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
    workers: Annotated[int, typer.Option("--workers", help="Processes.")] = 2,
    cluster: Cluster = "",
    as_json: o.AsJson = False,
) -> None:
    """Run the experiments against the theory and write report.html.

    Finished work is kept in reproduce.sqlite in that folder: the same command goes on after
    any interruption. Ends with exit code 1 if a claim fails or did not converge.

    Example: [cyan]sparsetoken reproduce alignment --out results[/]
    """
    from sparsetoken.experiments.claims import FAILS, NOT_CONVERGED
    from sparsetoken.report.reproduce import reproduce as run
    from sparsetoken.report.reproduce import total_cost
    from sparsetoken.validation import integer

    chosen, seed, workers = names or [], integer("seed", seed, 0), integer("workers", workers, 1)
    total = total_cost(chosen, profile)
    with (
        one_message(),
        executor_of(workers, cluster) as (executor, workers),
        progress_bar(counts=False) as bar,
    ):
        task = bar.add_task("experiments", total=total)
        found = run(
            chosen,
            profile=profile,
            out=out,
            seed=seed,
            executor=executor,
            workers=workers,
            progress=lambda name, cost: bar.update(task, description=name, advance=cost),
        )
    _show(found, as_json)
    if found.resumed:
        message(f"{found.resumed} of {found.pieces} pieces of work came from earlier runs.")
    if not found.all_hold:
        names = [f.statement.name for f in found.findings if f.verdict in (FAILS, NOT_CONVERGED)]
        message(f"Claims that do not hold: {', '.join(names)}. The report says why.")
        raise typer.Exit(1)


def _show(found: Reproduction, as_json: bool) -> None:
    from sparsetoken.report.reproduce import claim_row, statement_row

    if as_json:
        put_json(
            {
                "claims": [claim_row(claim) for claim in found.claims],
                "statements": [statement_row(finding) for finding in found.findings],
                "report": str(found.report),
                "status": "converged" if found.all_hold else "claims_failed",
            }
        )
        return
    put_table("Claims", {**found.counts, "report": str(found.report)})
