"""Run experiments, judge their claims and write the report."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from sparsetoken.base.validation import Failure, InvalidInput, choice, integer
from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.bag_sets import BagSet, LeftOut
from sparsetoken.experiments.core.claims import (
    HOLDS,
    VERDICTS,
    Comparison,
    Finding,
    evidence_of,
    source_of,
)
from sparsetoken.experiments.core.experiment import Experiment, Piece
from sparsetoken.experiments.core.rows import Rows
from sparsetoken.experiments.report.folder import (
    WORK,
    Finished,
    computed_with,
    finish,
    writable_folder,
    write_files,
)
from sparsetoken.experiments.report.page import (
    SCATTER,
    Picture,
    Section,
    page,
    scatter_picture,
    section,
)
from sparsetoken.experiments.report.tables import figure_table, row_tables, trial_table
from sparsetoken.numerics.threads import kernels
from sparsetoken.work import package_version

PROFILES = ("quick", "paper")
PACKAGES = ("sparsetoken", "jax", "numpy", "scipy", "matplotlib")


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """The findings of a run, and its files.

    Attributes
    ----------
    findings : tuple of Finding
        Claims with their verdicts.
    report : Path
    seconds : float
        Of this run.
    resumed, pieces : int
        Pieces of work taken from earlier runs, of so many in all.
    damaged : int
        Pieces of work whose files were damaged, and which ran again.
    """

    findings: tuple[Finding, ...]
    report: Path
    seconds: float
    resumed: int
    pieces: int
    damaged: int = 0

    @property
    def comparisons(self) -> list[Comparison]:
        """All comparisons."""
        return [c for finding in self.findings for c in finding.comparisons]

    @property
    def counts(self) -> dict[str, int]:
        """Number of claims by verdict."""
        return {v: sum(f.verdict == v for f in self.findings) for v in VERDICTS}

    @property
    def evidence(self) -> dict[str, int]:
        """Number of comparisons by kind of evidence."""
        return evidence_of(self.comparisons)

    @property
    def all_hold(self) -> bool:
        """Whether no claim of the theory fails or was left undecided."""
        return all(f.verdict == HOLDS for f in self.findings if not f.claim.open)


def chosen_experiments(names: Sequence[str] = (), profile: str = "quick") -> list[Experiment]:
    """Return the experiments of a run, by default all, in order of the report."""
    choice("profile", profile, PROFILES)
    if isinstance(names, str):
        raise InvalidInput("experiments", f"a list of names, as [{names!r}]", names)
    for name in names:
        choice("experiment", name, EXPERIMENTS)
    return [e for name, e in EXPERIMENTS.items() if not names or name in names]


def reproduce(
    names: Sequence[str] = (),
    *,
    profile: str = "quick",
    out: str | os.PathLike[str] = "results",
    seed: int = 0,
    sets: Sequence[BagSet | LeftOut] = (),
    executor: Executor | None = None,
    workers: int = 1,
    progress: Callable[[str, float, float], None] = lambda name, done, total: None,
) -> Reproduction:
    """Run experiments and write report.html, claims.json, the figures as WebP, and data/.

    In data/ are tables of comma-separated values: what each figure shows, the rows of each
    experiment, and the values of single trials.

    Each piece of work that has ended is kept as a file in work/. An interrupted run resumes from
    there, and a run with the same work and seed recomputes nothing.

    Parameters
    ----------
    names : sequence of str
        Experiments, all of `sparsetoken.experiments.EXPERIMENTS` by default.
    profile : str
        quick or paper.
    out : path
        Folder of the report. It is checked before any work.
    seed : int
    sets : sequence of BagSet or LeftOut
        Sets of bags for the experiment forecasts, of `sparsetoken.experiments.core.bag_sets`.
    executor : concurrent.futures.Executor, optional
        Where the work runs; in this process by default.
    workers : int
        Pieces of work that the executor runs at once.
    progress : callable
        Called first with what earlier runs have done, if any, then after each piece of work:
        with the name of its experiment, the cost of all that has ended, and that of all work.

    Returns
    -------
    Reproduction

    Raises
    ------
    InvalidInput
        If a name or profile is unknown, sets are given that no experiment of the run takes or
        two of one name, or the folder cannot be written.
    Failure
        If an experiment cannot be judged, drawn or written; all work is kept by then.
    RunStopped
        If a piece of work fails. The others are done; a new run tries it again.
    """
    chosen = chosen_experiments(names, profile)
    if sets and not any(experiment.set_work for experiment in chosen):
        raise InvalidInput("experiments", "with forecasts where sets of bags are given", names)
    seed = integer("seed", seed, 0)
    drawn = [name for experiment in chosen for name in experiment.figures]
    pictures = [f"{name}.webp" for name in (*drawn, SCATTER)]
    folder = writable_folder(out, ("report.html", "claims.json", *pictures))
    facts, start = _facts(profile, seed), time.monotonic()
    plan = {experiment.name: experiment.plan(profile, seed, sets) for experiment in chosen}
    done = _finished(folder, plan, executor, workers, progress)
    kept = iter(done.kept)
    rows = {name: Rows(row for _ in some for row in next(kept).rows) for name, some in plan.items()}
    seconds, pieces = time.monotonic() - start, len(done.kept)
    facts |= {"computed": computed_with(done.kept), "wall time": f"{seconds:.0f} s"}
    if done.resumed:
        facts["taken from earlier runs"] = f"{done.resumed} of {pieces} pieces of work"
    sections = [_section(experiment, profile, rows[experiment.name]) for experiment in chosen]
    scatter = scatter_picture(sections)
    files = _files(sections, scatter, rows, facts)
    files["report.html"] = page(sections, facts, profile, scatter).encode()
    write_files(folder, files)
    found = tuple(f for s in sections for f in s.findings)
    report = folder / "report.html"
    return Reproduction(found, report, seconds, done.resumed, pieces, done.damaged)


def _finished(
    folder: Path,
    plan: Mapping[str, Sequence[Piece]],
    executor: Executor | None,
    workers: int,
    progress: Callable[[str, float, float], None],
) -> Finished:
    """Do the missing work, and report the cost of all that has ended."""
    costs = {p.key: (name, p.cost) for name, some in plan.items() for p in some}
    total, done = sum(cost for _, cost in costs.values()), 0.0

    def tell(keys: Sequence[tuple[str, int, int]]) -> None:
        nonlocal done
        if keys:
            done += sum(costs[key][1] for key in keys)
            progress(costs[keys[-1]][0], done, total)

    every = [piece for pieces in plan.values() for piece in pieces]
    return finish(folder / WORK, every, executor, workers, tell)


def _section(experiment: Experiment, profile: str, rows: Rows) -> Section:
    """Return a section; an error of an experiment names it, and all work is kept by then."""
    try:
        return section(experiment, profile, rows)
    except Exception as error:
        told = f"{type(error).__name__}: {' '.join(str(error).split())}"
        text = f"{experiment.name} could not be judged, drawn or written: {told}"
        raise Failure(f"{text}. Its work is kept; correct it and run again.") from error


def _files(
    sections: Sequence[Section],
    scatter: Picture,
    rows: Mapping[str, Rows],
    facts: Mapping[str, str],
) -> dict[str, bytes]:
    """Return the files of a report but for the page."""
    files: dict[str, bytes] = {}
    drawn = [item for s in sections for item in s.pictures.items()]
    for name, picture in [*drawn, (SCATTER, scatter)]:
        files[f"{name}.webp"] = picture.image
        files[f"data/figure.{name}.csv"] = figure_table(picture.shown).encode()
    files |= {f"data/{name}": text.encode() for name, text in row_tables(rows).items()}
    files["data/trials.csv"] = trial_table(rows).encode()
    found = [finding for s in sections for finding in s.findings]
    document = {
        "run": dict(facts),
        "statements": [finding_row(finding) for finding in found],
        "claims": [comparison_row(c) for finding in found for c in finding.comparisons],
    }
    files["claims.json"] = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    return files


def finding_row(finding: Finding) -> dict[str, Any]:
    """Return a claim and its verdict as JSON values."""
    row, source = dataclasses.asdict(finding.claim), source_of(finding.claim)
    return {
        **row,
        "source": source.name,
        "status": source.status,
        "comparisons": len(finding.comparisons),
        "evidence": finding.evidence,
        "verdict": finding.verdict,
    }


def comparison_row(comparison: Comparison) -> dict[str, Any]:
    """Return a comparison as JSON values; what is not finite is null.

    Its claim is under the key statement, which is a contract.
    """
    row = dataclasses.asdict(comparison)
    row = {"statement": row.pop("claim"), **row, "evidence": comparison.evidence}
    lacking = {n for n, v in row.items() if isinstance(v, float) and not math.isfinite(v)}
    return {name: None if name in lacking else value for name, value in row.items()}


def _facts(profile: str, seed: int) -> dict[str, str]:
    now = datetime.datetime.now(datetime.UTC)
    return {
        "profile": profile,
        "seed": str(seed),
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
        **{name: package_version(name) for name in PACKAGES},
        **origin(),
    }


def origin() -> dict[str, str]:
    """Return facts of this process by name, none for what is not known."""
    return {
        "Python": platform.python_version(),
        "commit": _commit(),
        "machine": f"{platform.system()} {platform.machine()}",
        "linear algebra": kernels(),
    }


def _commit() -> str:
    """Return the commit of the checkout that the package is in, marked if files have changed."""
    here = Path(__file__).resolve().parent
    if not any((parent / ".git").exists() for parent in here.parents):
        return "none"
    try:
        commit = _git(here, "rev-parse", "--short=12", "HEAD")
        changed = _git(here, "status", "--porcelain", "--untracked-files=no", "--", str(here))
    except (OSError, subprocess.SubprocessError):
        return "none"
    return f"{commit} with changes" if changed else commit


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    found = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    return found.stdout.strip()
