"""The command that runs the studies and writes the report."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter as Option

from sparsetoken.base.validation import integer
from sparsetoken.cli import options as o
from sparsetoken.cli.cluster import on_cluster
from sparsetoken.cli.output import Answer, table

if TYPE_CHECKING:
    from sparsetoken.studies import Reproduction


def reproduce(
    names: Annotated[
        tuple[str, ...],
        Option("NAME", help="Studies, by the name of their section; by default all."),
    ] = (),
    /,
    *,
    profile: Annotated[str, Option(help="quick (minutes) or paper (the full sizes).")] = "quick",
    out: Annotated[str, Option(help="Folder of the report.")] = "results",
    seed: Annotated[int, o.number("Seed of all studies.")] = 0,
    workers: Annotated[int, o.number("Processes.")] = 1,
    cluster: o.Cluster = "",
    common: o.Common = o.Common(),
) -> Answer:
    """Run the studies, theory against simulation, and write report.html.

    Finished work is kept in work/ in that folder: after an interruption, the same command resumes.
    After a change of the package, all is computed again.
    The exit code is 1 if a claim fails, did not converge or rests on outlying trials.

    Example: sparsetoken reproduce alignment --out results
    """
    from sparsetoken.studies import reproduce as run
    from sparsetoken.studies.compare import EVIDENCE, FAILS, LOOK, NOT_CONVERGED, evidence_of
    from sparsetoken.studies.report import document_of

    seed, workers = integer("seed", seed, 0), integer("workers", workers, 1)
    with on_cluster(cluster):
        result = run(names, profile=profile, out=out, seed=seed, workers=workers)
    evidence = evidence_of(result.comparisons)
    counts = {f"comparisons {EVIDENCE[kind]}": n for kind, n in evidence.items()}
    lines = table("Claims", {**result.counts, **counts, "report": str(result.report)})
    lost = [f.claim.name for f in result.findings if f.verdict in (FAILS, LOOK, NOT_CONVERGED)]
    fallen = f"Claims that do not hold: {', '.join(lost)}. The report says why."
    values = document_of(result.findings) | {"report": str(result.report)}
    values["status"] = "converged" if result.all_hold else "claims_failed"
    return Answer("", values, lines, _advice(result), "" if result.all_hold else fallen)


def _advice(result: Reproduction) -> list[str]:
    advice = []
    if result.resumed:
        advice.append(f"{result.resumed} of {result.calls} results came from earlier runs.")
    for c in result.comparisons:
        if c.outlying:
            advice.append(f"Look at {c.claim}, {c.curve}, {c.quantity}, {c.where}: {c.outlying}.")
    return advice
