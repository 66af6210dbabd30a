"""Run studies, judge their claims, and write the report with its images and numbers."""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import platform
import re
import subprocess
import time
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from sparsetoken.base.files import path_of, require_place, write_whole
from sparsetoken.base.machine import made_with
from sparsetoken.base.validation import Failure, InvalidInput, choice, integer, one_line
from sparsetoken.figures import style
from sparsetoken.figures.page import drawing_of
from sparsetoken.numerics.threads import kernels
from sparsetoken.studies import figure
from sparsetoken.studies.agreement import Agreement
from sparsetoken.studies.alignment import Alignment
from sparsetoken.studies.anti_alignment import AntiAlignment
from sparsetoken.studies.capacity import Capacity
from sparsetoken.studies.claims import HOLDS, VERDICTS, Finding, findings
from sparsetoken.studies.growing_length import GrowingLength
from sparsetoken.studies.joint_training import JointTraining
from sparsetoken.studies.learning_curves import LearningCurves
from sparsetoken.studies.misalignment import Misalignment
from sparsetoken.studies.rates import Rates
from sparsetoken.studies.report import RESERVED, Section, document_of, page
from sparsetoken.studies.representation import Representation
from sparsetoken.studies.sensitivity import Sensitivity
from sparsetoken.studies.study import Experiment, Run, Study, Trials
from sparsetoken.work import map_points

STUDIES: dict[str, Study] = {
    study.name: study
    for study in (
        Representation(),
        Alignment(),
        AntiAlignment(),
        LearningCurves(),
        Rates(),
        Misalignment(),
        Capacity(),
        Sensitivity(),
        JointTraining(),
        Agreement(),
        GrowingLength(),
    )
}
"""The studies of the package by name, in the order of the report."""
PROFILES = {"quick": 1, "paper": 4}
"""The scale of each: what multiplies trials and the points of lines."""
PACKAGES = ("sparsetoken", "jax", "numpy", "scipy", "matplotlib")
WORK = "work"
"""The folder of the results that are kept."""
NAME = re.compile(r"[a-z][a-z0-9-]*")


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
    resumed, calls : int
        Calls whose results were taken from earlier runs, of so many in all.
    """

    findings: tuple[Finding, ...]
    report: Path
    seconds: float
    resumed: int
    calls: int

    @property
    def comparisons(self) -> pd.DataFrame:
        """All comparisons, with the columns of a frame."""
        return pd.concat([f.comparisons for f in self.findings], ignore_index=True)

    @property
    def counts(self) -> dict[str, int]:
        """Number of claims by verdict."""
        return {v: sum(f.verdict == v for f in self.findings) for v in VERDICTS}

    @property
    def all_hold(self) -> bool:
        """Whether no claim fails or was left undecided."""
        return all(f.verdict == HOLDS for f in self.findings)


def reproduce(
    studies: Sequence[Study | str] = (),
    *,
    profile: str = "quick",
    out: str | os.PathLike[str] = "results",
    seed: int = 0,
    workers: int = 1,
    progress: bool = True,
) -> Reproduction:
    """Run studies and write report.html, claims.json, and each figure as SVG and CSV.

    The result of each call that has ended is kept in work/. An interrupted run resumes from there,
    and a run with the same calls and seed, and the same source files of the package, computes
    nothing again.

    Parameters
    ----------
    studies : sequence of Study or str
        Studies, or names of those in `sparsetoken.studies.STUDIES`; by default all of them.
    profile : str
        quick, or paper with four times the trials and the points of lines.
    out : path
        Folder of the report. It is checked before any work.
    seed : int
    workers : int
        Processes that do the work. In a `joblib.parallel_config`, 1 leaves the choice to it.
    progress : bool
        Whether a run of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Reproduction

    Raises
    ------
    InvalidInput
        If a name or profile is unknown, or the folder cannot be written.
    Failure
        If a call fails: the others are done, and a new run tries it again. Or if a study cannot be
        judged or drawn; all results are kept by then.
    OSError
        If a file of the report cannot be written, as on a full disk; an older one stays.
    """
    choice("profile", profile, PROFILES)
    chosen = chosen_studies(studies)
    seed, start = integer("seed", seed, 0), time.monotonic()
    figures = [file for study in chosen for file in (f"{study.name}.svg", _table(study))]
    folder = _writable(out, ["report.html", "claims.json", *figures])
    runs, resumed, calls = _run(chosen, PROFILES[profile], seed, folder / WORK, workers, progress)
    seconds = time.monotonic() - start
    facts = _facts(profile, seed) | {"wall time": f"{seconds:.0f} s"}
    if resumed:
        facts["taken from earlier runs"] = f"{resumed} of {calls} results"
    sections = [_section(study, run) for study, run in zip(chosen, runs, strict=True)]
    found = tuple(finding for section in sections for finding in section.findings)
    text = page(sections, facts)
    for section in sections:
        write_whole(folder / f"{section.study.name}.svg", section.drawing.svg)
        table = section.frame.to_csv(index=False)
        write_whole(folder / _table(section.study), table.encode())
    document = json.dumps(document_of(found, facts), indent=2, ensure_ascii=False)
    write_whole(folder / "claims.json", f"{document}\n".encode())
    write_whole(folder / "report.html", text.encode())  # which names the others
    return Reproduction(found, folder / "report.html", seconds, resumed, calls)


def _table(study: Study) -> str:
    return f"data/{study.name}.csv"


def chosen_studies(studies: Sequence[Study | str]) -> list[Study]:
    """Return the studies of a run, by default all; those of the package in order of the report."""
    if isinstance(studies, str):
        raise InvalidInput("studies", f"a list of names, as [{studies!r}]", studies)
    for one in studies:
        if not isinstance(one, Study):
            choice("study", one, STUDIES)
    own = [one for one in studies if isinstance(one, Study)]
    chosen = [study for name, study in STUDIES.items() if not studies or name in studies] + own
    for what, names in (
        ("names of studies", [study.name for study in chosen]),
        ("names of claims", [claim.name for study in chosen for claim in study.claims]),
    ):
        for name in names:
            if not NAME.fullmatch(name) or name in RESERVED or names.count(name) > 1:
                legal = f"small letters, digits and -, each once, none of {sorted(RESERVED)}"
                raise InvalidInput(what, legal, name)
    return chosen


def _run(
    studies: Sequence[Study], scale: int, seed: int, folder: Path, workers: int, progress: bool
) -> tuple[list[Run], int, int]:
    """Make all calls of the studies that are not kept, in one pool of workers.

    Return the runs, how many results were kept, and of how many.
    """
    plans = [(study, study.theory(scale), [*study.seeded(scale, seed)]) for study in studies]
    calls = [
        call
        for _, theory, simulated in plans
        for call in (*theory.values(), *(call for some in simulated for call in some))
    ]
    run = uuid.uuid4().hex  # in front of each result, it tells those of this run from kept ones
    results = map_points(
        functools.partial(_made, run),
        calls,
        call=["study"],
        workers=workers,
        keep=folder,
        what="studies",
        progress=progress,
    )
    for call, result in zip(calls, results, strict=True):
        if isinstance(result, Exception):
            text = f"{_named(call)} has no result. {one_line(result).rstrip('.')}"
            raise Failure(f"{text}. The next run resumes from here.") from result
    ended, runs = (result for _, result in results), []
    for study, theory, simulated in plans:
        known = {place: next(ended) for place in theory}
        found: dict[Any, Any] = {}
        for (place, one), some in zip(study.simulation(scale).items(), simulated, strict=True):
            values = [next(ended) for _ in some]
            found[place] = Trials(one, values) if isinstance(one, Experiment) else values[0]
        runs.append(Run(known, found, scale))
    return runs, sum(made_in != run for made_in, _ in results), len(calls)


def _made(run: str, calls: Sequence[functools.partial[Any]]) -> list[Any]:
    """Return the name of the run with what each call returns, or the error that it raises."""
    found: list[Any] = []
    for call in calls:
        try:
            found.append((run, call()))
        except Exception as error:
            found.append(error)
    return found


def _named(call: functools.partial[Any]) -> str:
    given = [*map(repr, call.args), *(f"{name}={value!r}" for name, value in call.keywords.items())]
    return f"{call.func.__module__}.{call.func.__qualname__}({', '.join(given)})"


def _section(study: Study, run: Run) -> Section:
    """Return a section; an error names its study, and all results are kept by then."""
    try:
        frame = study.frame(run)
        with style.styled():
            drawn = figure.draw(frame, study.panels, study.looks, study.columns)
        return Section(study, frame, findings(study.claims, frame), drawing_of(drawn))
    except Exception as error:
        text = f"{study.name} could not be judged or drawn: {one_line(error).rstrip('.')}"
        raise Failure(f"{text}. Its results are kept; correct it and run again.") from error


def _writable(out: str | os.PathLike[str], files: Sequence[str]) -> Path:
    """Return the folder, made if need be, in which files of these names can be written."""
    folder = path_of("out", out)
    try:
        for place in (folder / WORK, folder / "data"):
            place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        remedy = f"({error.strerror}). out= names another."
        raise InvalidInput("out", "a folder that can be written", str(out), remedy) from None
    for name in files:
        require_place(f"{name} of the folder out", folder / name)
    return folder


def _facts(profile: str, seed: int) -> dict[str, str]:
    return {
        "profile": profile,
        "seed": str(seed),
        **made_with(PACKAGES),
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
    asked = ["describe", "--always", "--exclude=*", "--abbrev=12", "--dirty= with changes"]
    command = ["git", "-C", str(Path(__file__).parent), *asked]
    try:
        completed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=20)
    except (OSError, subprocess.SubprocessError):
        return "none"
    return completed.stdout.strip()
