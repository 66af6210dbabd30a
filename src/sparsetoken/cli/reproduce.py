"""The command that runs the studies and writes the report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter as Option

from sparsetoken.base.validation import integer
from sparsetoken.cli import options as o
from sparsetoken.cli.cluster import on_cluster
from sparsetoken.cli.output import Answer, not_written, table


def reproduce(
    names: Annotated[
        tuple[str, ...],
        Option("NAME", help="Studies, by the name of their section; by default all."),
    ] = (),
    /,
    *,
    profile: Annotated[str, Option(help="quick (minutes), or paper (more trials).")] = "quick",
    out: Annotated[str, Option(help="Folder of the report.")] = "results",
    seed: Annotated[int, o.number("Seed of all studies.")] = 0,
    workers: Annotated[int, o.number("Processes.")] = 1,
    cluster: o.Cluster = "",
    common: o.Common = o.Common(),
) -> Answer:
    """Run the studies, theory against simulation, and write report.html.

    Finished work is kept in work/ in that folder: after an interruption, the same command resumes.
    After a change of the package, all is computed again.
    The exit code is 1 if a claim fails or did not converge.

    Example: sparsetoken reproduce alignment --out results
    """
    from sparsetoken.studies import reproduce as run
    from sparsetoken.studies.claims import EVIDENCE, HOLDS, evidence_of
    from sparsetoken.studies.report import document_of, summary

    seed, workers = integer("seed", seed, 0), integer("workers", workers, 1)
    try:
        with on_cluster(cluster):
            result = run(names, profile=profile, out=out, seed=seed, workers=workers)
    except OSError as error:
        failure = not_written("out", Path(error.filename or out), error, what="folder")
        return Answer("", {"report": None}, ["Wrote not all"], shortfall=failure, code=1)
    evidence = evidence_of(result.comparisons)
    counts = {f"comparisons {EVIDENCE[kind]}": n for kind, n in evidence.items()}
    told = result.counts | counts | {"report": str(result.report)}
    lines = table(f"{summary(result.findings)}.", told)
    lost = [f.claim.name for f in result.findings if f.verdict != HOLDS]
    fallen = f"Claims that do not hold: {', '.join(lost)}. The report says why."
    values = document_of(result.findings) | {"report": str(result.report)}
    values["status"] = "converged" if result.all_hold else "claims_failed"
    kept = f"{result.resumed} of {result.calls} results came from earlier runs."
    advice = [kept] if result.resumed else []
    return Answer("", values, lines, advice, "" if result.all_hold else fallen)
