"""The command that runs the experiments and writes the report."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.cli import options as o
from sparsetoken.cli.cluster import on_cluster
from sparsetoken.cli.command import command
from sparsetoken.cli.output import Answer, table

if TYPE_CHECKING:
    from sparsetoken.experiments.report import Reproduction


@command
def reproduce(
    names: Annotated[
        tuple[str, ...],
        Option(
            "NAME",
            help="Experiments, by the name of their section, or Python files that register some; "
            "by default all experiments of the package.",
        ),
    ] = (),
    /,
    *,
    profile: Annotated[str, Option(help="quick (minutes) or paper (the full sizes).")] = "quick",
    out: Annotated[str, Option(help="Folder of the report.")] = "results",
    seed: Annotated[int, o.several("Seed of all experiments.")] = 0,
    workers: Annotated[int, o.several("Processes.")] = 2,
    cluster: o.Cluster = "",
    json: o.Json = False,
) -> Answer:
    """Run the experiments against the theory and write report.html.

    Finished work is kept in work/ in that folder: after an interruption, the same command resumes.
    The exit code is 1 if a claim fails, did not converge or rests on outlying trials.

    Example: sparsetoken reproduce alignment --out results
    """
    from sparsetoken.experiments.core.claims import EVIDENCE, FAILS, LOOK, NOT_CONVERGED
    from sparsetoken.experiments.report.reproduce import reproduce as run

    seed, workers = integer("seed", seed, 0), integer("workers", workers, 1)
    names = tuple(name for given in names for name in _loaded(given))
    with on_cluster(cluster), progress_of("experiments", 0) as progress:
        result = run(
            names,
            profile=profile,
            out=out,
            seed=seed,
            workers=workers,
            progress=lambda name, done, total: progress.show(name, round(done), round(total)),
        )
    counts = {f"comparisons {EVIDENCE[kind]}": n for kind, n in result.evidence.items()}
    lines = table("Claims", {**result.counts, **counts, "report": str(result.report)})
    lost = [f.claim.name for f in result.findings if f.verdict in (FAILS, LOOK, NOT_CONVERGED)]
    fallen = f"Claims that do not hold: {', '.join(lost)}. The report says why."
    return Answer("", _values(result), lines, _advice(result), "" if result.all_hold else fallen)


def _loaded(name: str) -> list[str]:
    """Return a name, or the names of the experiments that a Python file registers.

    Worker processes import the file as well, by the name of its module.
    """
    from sparsetoken.experiments import EXPERIMENTS

    path = Path(name).absolute()
    if path.suffix != ".py":
        return [name]
    if not path.is_file():
        raise InvalidInput("experiment", "a name, or a Python file that is there", name)
    sys.path.insert(0, str(path.parent))
    try:
        module = importlib.import_module(path.stem)
    except Exception as error:
        got = f"{name} ({type(error).__name__}: {error})"
        raise InvalidInput("experiment", "a Python file that can be imported", got) from error
    names = [e.name for e in EXPERIMENTS.values() if e.work.__module__ == module.__name__]
    if Path(module.__file__ or "") != path or not names:
        legal = "a Python file that calls register_experiment, with no other module of its name"
        raise InvalidInput("experiment", legal, name)
    return names


def _values(result: Reproduction) -> dict[str, Any]:
    from sparsetoken.experiments.report.files import comparison_row, finding_row

    return {
        "claims": [comparison_row(comparison) for comparison in result.comparisons],
        "statements": [finding_row(finding) for finding in result.findings],
        "report": str(result.report),
        "status": "converged" if result.all_hold else "claims_failed",
    }


def _advice(result: Reproduction) -> list[str]:
    advice = []
    if result.resumed:
        advice.append(f"{result.resumed} of {result.pieces} pieces of work came from earlier runs.")
    for c in result.comparisons:
        if c.outlying:
            advice.append(f"Look at {c.claim}, {c.curve}, {c.quantity}, {c.where}: {c.outlying}.")
    return advice
