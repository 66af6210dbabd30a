"""Run experiments, judge their claims and write the report."""

from __future__ import annotations

import dataclasses
import datetime
import os
import platform
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from importlib import metadata
from pathlib import Path

from sparsetoken.base.validation import Failure, InvalidInput, choice, integer, one_line
from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.calibration import draw_scatter, scatter_of
from sparsetoken.experiments.core.claims import HOLDS, VERDICTS, Comparison, Finding, evidence_of
from sparsetoken.experiments.core.experiment import Experiment, Piece
from sparsetoken.experiments.core.rows import Rows
from sparsetoken.experiments.report.files import WORK, files_of, writable_folder, write_files
from sparsetoken.experiments.report.page import SCATTER, Z_TITLE, Section, page, picture, section
from sparsetoken.numerics.threads import kernels
from sparsetoken.work import solved

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
    """

    findings: tuple[Finding, ...]
    report: Path
    seconds: float
    resumed: int
    pieces: int

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
    workers : int
        Processes that do the work. In a `joblib.parallel_config`, 1 leaves the choice to it.
    progress : callable
        Called after each piece of work with the name of its experiment, the cost of all that has
        ended, and that of all work.

    Returns
    -------
    Reproduction

    Raises
    ------
    InvalidInput
        If a name or profile is unknown, or the folder cannot be written.
    Failure
        If a piece of work fails: the others are done, and a new run tries it again. Or if an
        experiment cannot be judged, drawn or written; all work is kept by then.
    """
    chosen = chosen_experiments(names, profile)
    seed = integer("seed", seed, 0)
    drawn = [name for experiment in chosen for name in experiment.figures]
    images = [f"{name}.webp" for name in (*drawn, SCATTER)]
    folder = writable_folder(out, ("report.html", "claims.json", *images))
    facts, start = _facts(profile, seed), time.monotonic()
    plan = {experiment.name: experiment.plan(profile, seed) for experiment in chosen}
    done, resumed = _finish(folder / WORK, plan, workers, progress)
    rows = {
        name: Rows(row for piece in some for row in done[piece.key]) for name, some in plan.items()
    }
    seconds = time.monotonic() - start
    facts |= {"wall time": f"{seconds:.0f} s"}
    if resumed:
        facts["taken from earlier runs"] = f"{resumed} of {len(done)} pieces of work"
    sections = [_section(experiment, profile, rows[experiment.name]) for experiment in chosen]
    findings = tuple(f for s in sections for f in s.findings)
    comparisons = [c for finding in findings for c in finding.comparisons]
    scatter = picture(draw_scatter, scatter_of(comparisons), Z_TITLE)
    pictures = {n: p for s in sections for n, p in s.pictures.items()} | {SCATTER: scatter}
    files = files_of(pictures, findings, rows, facts)
    files["report.html"] = page(sections, scatter, facts, profile).encode()
    write_files(folder, files)
    report = folder / "report.html"
    return Reproduction(findings, report, seconds, resumed, len(done))


def _finish(
    folder: Path,
    plan: Mapping[str, Sequence[Piece]],
    workers: int,
    progress: Callable[[str, float, float], None],
) -> tuple[Mapping[str, Rows], int]:
    """Do the work of a plan that is missing from the folder, most expensive first, and keep it.

    Return the rows of each piece by its key, and the number of pieces that were kept. Equal pieces
    are done once. Progress is told of the cost of all that has ended. An error of a piece is raised
    as a `Failure` when the others are done.
    """
    pieces = {piece.key: (name, piece) for name, some in plan.items() for piece in some}
    order = sorted(pieces, key=lambda key: -pieces[key][1].cost)
    total, done, resumed = sum(piece.cost for _, piece in pieces.values()), 0.0, 0

    def report(place: int, result: Rows | Exception, kept: bool) -> None:
        nonlocal done, resumed
        name, piece = pieces[order[place]]
        done, resumed = done + piece.cost, resumed + kept
        if not kept or resumed == len(order):
            progress(name, done, total)

    found = solved(
        _outcomes,
        [dataclasses.replace(pieces[key][1], cost=1.0) for key in order],
        call=["piece of work"],
        workers=workers,
        keep=folder,
        progress=False,
        on_result=report,
    )
    rows: dict[str, Rows] = {}
    for key, result in zip(order, found, strict=True):
        if isinstance(result, Exception):
            text = f"{pieces[key][1].name} has no result. {one_line(result)}"
            raise Failure(f"{text} The next run resumes from here.") from result
        rows[key] = result
    return rows, resumed


def _outcomes(pieces: Sequence[Piece]) -> list[Rows | Exception]:
    """Return the rows of pieces, or the errors that they raise."""
    found: list[Rows | Exception] = []
    for piece in pieces:
        try:
            found.append(piece.run())
        except Exception as error:
            found.append(error)
    return found


def _section(experiment: Experiment, profile: str, rows: Rows) -> Section:
    """Return a section; an error of an experiment names it, and all work is kept by then."""
    try:
        return section(experiment, profile, rows)
    except Exception as error:
        text = f"{experiment.name} could not be judged, drawn or written: {one_line(error)}"
        raise Failure(f"{text}. Its work is kept; correct it and run again.") from error


def _facts(profile: str, seed: int) -> dict[str, str]:
    return {
        "profile": profile,
        "seed": str(seed),
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M UTC"),
        **{name: _version(name) for name in PACKAGES},
        **origin(),
    }


def _version(name: str) -> str:
    """Return the version of a package, or none if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


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
    asked = ["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty= with changes"]
    command = ["git", "-C", str(Path(__file__).parent), *asked]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return "none"
    return completed.stdout.strip()
