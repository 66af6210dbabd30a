"""Run experiments, judge their claims and write the report."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import hashlib
import json
import math
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import Any

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.base import Job
from sparsetoken.experiments.claims import HOLDS, VERDICTS, Claim
from sparsetoken.experiments.points import Point
from sparsetoken.report.page import Finding, Section, findings, page
from sparsetoken.report.pictures import pictures_of, png, svg
from sparsetoken.sweep import JobPlan, Store, run
from sparsetoken.sweep.batch import package_version
from sparsetoken.sweep.damage import require_whole
from sparsetoken.validation import InvalidInput, choice, integer

__all__ = [
    "Reproduction",
    "checked",
    "claim_row",
    "reproduce",
    "statement_row",
    "total_cost",
    "writable_folder",
]

PROFILES = ("quick", "paper")
PACKAGES = ("sparsetoken", "jax", "numpy", "scipy", "matplotlib", "equinox", "optax")
REMEDY = "Choose another with --out."


STORE = "reproduce.sqlite"


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """What a run found and where it wrote it.

    Attributes
    ----------
    findings : tuple of Finding
        Statements with their verdicts.
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
    def claims(self) -> list[Claim]:
        """All comparisons."""
        return [claim for finding in self.findings for claim in finding.claims]

    @property
    def counts(self) -> dict[str, int]:
        """Number of statements by verdict."""
        return {v: sum(f.verdict == v for f in self.findings) for v in VERDICTS}

    @property
    def all_hold(self) -> bool:
        """Whether no statement of the theory fails or was left undecided."""
        return all(f.verdict == HOLDS for f in self.findings if not f.statement.open)


def reproduce(
    names: Sequence[str] = (),
    *,
    profile: str = "quick",
    out: str | os.PathLike[str] = "results",
    seed: int = 0,
    executor: Executor | None = None,
    workers: int = 1,
    progress: Callable[[str, float], None] = lambda name, cost: None,
) -> Reproduction:
    """Run experiments and write report.html, claims.json and the figures as PNG.

    What has ended is kept in reproduce.sqlite, a store as sweeps have. A run that is stopped
    goes on from there, and one with the same code, versions and seed computes nothing anew.

    Parameters
    ----------
    names : sequence of str
        Experiments, all of `sparsetoken.experiments.EXPERIMENTS` by default.
    profile : str
        quick or paper.
    out : path
        Folder of the report. It is checked before any work.
    seed : int
    executor : concurrent.futures.Executor, optional
        Where the work runs; in this process by default.
    workers : int
        Pieces of work that the executor runs at once.
    progress : callable
        Called with the name of the experiment and the cost of each piece of work that
        has ended.

    Returns
    -------
    Reproduction

    Raises
    ------
    InvalidInput
        If a name or profile is unknown, or the folder cannot be written.
    StoreError
        If reproduce.sqlite is damaged or cannot be written.
    RunStopped
        If a piece of work fails. The others are done; a new run tries it again.
    """
    chosen = checked(names, profile)
    seed = integer("seed", seed, 0)
    folder = writable_folder(out, chosen)
    facts, start = _facts(profile, seed), time.monotonic()
    jobs = {name: _jobs(name, profile, seed) for name in chosen}
    plan = JobPlan([job for some in jobs.values() for job in some], rows_of, _setting())
    owners = {job.name: (name, job.cost) for name, some in jobs.items() for job in some}

    def tell(names: Iterable[str]) -> None:
        for name in names:
            progress(*owners[name])

    with Store(folder / STORE) as store:
        require_whole(store)
        known = plan.known(store)
        tell(known)
        run(
            store,
            plan,
            executor,
            workers=workers,
            retry_failed=True,
            on_rows=lambda rows: tell(row.configuration["job"] for row in rows),
        )
        results = iter(plan.results(store))
    points = {
        name: [Point(*values) for _ in some for values in next(results)]
        for name, some in jobs.items()
    }
    seconds = time.monotonic() - start
    facts["wall time"] = f"{seconds:.0f} s"
    if known:
        facts["taken from earlier runs"] = f"{len(known)} of {len(owners)} pieces of work"
    sections = {name: _section(name, profile, some) for name, some in points.items()}
    _write(folder, _files(sections, points, profile, facts))
    found = tuple(f for section in sections.values() for f in section.findings)
    return Reproduction(found, folder / "report.html", seconds, len(known), len(owners))


def _jobs(name: str, profile: str, seed: int) -> list[Job]:
    experiment = EXPERIMENTS[name]
    return experiment.jobs(experiment.profiles[profile], seed)


def rows_of(points: Sequence[Point]) -> list[tuple[Any, ...]]:
    """Return points as a store can keep them."""
    return [dataclasses.astuple(point) for point in points]


def _setting() -> str:
    """Return a text that differs when the code or a version does."""
    source = hashlib.blake2b(digest_size=16)
    for path in sorted(Path(__file__).parent.parent.rglob("*.py")):
        source.update(path.read_bytes())
    return " ".join([source.hexdigest(), *(f"{n} {v}" for n, v in _versions().items())])


def _versions() -> dict[str, str]:
    return {name: package_version(name) for name in PACKAGES}


def checked(names: Sequence[str], profile: str) -> list[str]:
    """Return the experiments in the order of the report."""
    choice("profile", profile, PROFILES)
    for name in names:
        choice("experiment", name, EXPERIMENTS)
    return [name for name in EXPERIMENTS if not names or name in names]


def total_cost(names: Sequence[str], profile: str) -> float:
    """Return the expected cost of all jobs, in the units of `progress`."""
    return sum(job.cost for name in checked(names, profile) for job in _jobs(name, profile, 0))


def writable_folder(out: str | os.PathLike[str], names: Sequence[str]) -> Path:
    """Return the folder, made if need be, or raise `InvalidInput`.

    It must take the files of the experiments in `names`.
    """
    if not os.fspath(out):
        raise InvalidInput("out", "the name of a folder", "", "Give one with --out; . is this one.")
    folder = Path(out)
    with _explained(out):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    pictures = [f"{picture.name}.png" for name in names for picture in pictures_of(name)]
    for name in ("report.html", "claims.json", STORE, *pictures):
        if (folder / name).is_dir():
            raise InvalidInput("out", f"a folder where {name} is no folder", str(out), REMEDY)
    if (folder / STORE).exists() and not os.access(folder / STORE, os.W_OK):
        raise InvalidInput("out", f"a folder where {STORE} can be written", str(out), REMEDY)
    return folder


@contextlib.contextmanager
def _explained(out: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the refusal of the system to write into `InvalidInput`."""
    try:
        yield
    except OSError as error:
        remedy = f"({error.strerror}). {REMEDY}" if error.strerror else REMEDY
        raise InvalidInput("out", "a folder that can be written", str(out), remedy) from None


def _section(name: str, profile: str, points: Sequence[Point]) -> Section:
    experiment = EXPERIMENTS[name]
    claims = experiment.judged(profile, points)
    return Section(
        experiment,
        experiment.setting(experiment.profiles[profile]),
        experiment.result(points, claims),
        [(picture, svg(picture, points)) for picture in pictures_of(name)],
        findings(experiment, claims),
    )


def _files(
    sections: Mapping[str, Section],
    points: Mapping[str, Sequence[Point]],
    profile: str,
    facts: Mapping[str, str],
) -> dict[str, bytes]:
    files = {
        f"{picture.name}.png": png(picture, points[name])
        for name, section in sections.items()
        for picture, _ in section.pictures
    }
    found = [finding for section in sections.values() for finding in section.findings]
    document = {
        "run": dict(facts),
        "statements": [statement_row(finding) for finding in found],
        "claims": [claim_row(claim) for finding in found for claim in finding.claims],
    }
    files["claims.json"] = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    files["report.html"] = page(list(sections.values()), facts, profile).encode()
    return files


def statement_row(finding: Finding) -> dict[str, Any]:
    """Return a statement and its verdict as JSON values."""
    row = dataclasses.asdict(finding.statement)
    return {**row, "comparisons": len(finding.claims), "verdict": finding.verdict}


def claim_row(claim: Claim) -> dict[str, Any]:
    """Return a comparison as JSON values; what is not finite is null."""
    return {name: _json(value) for name, value in dataclasses.asdict(claim).items()}


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _facts(profile: str, seed: int) -> dict[str, str]:
    now = datetime.datetime.now(datetime.UTC)
    return {
        "profile": profile,
        "seed": str(seed),
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
        "Python": platform.python_version(),
        **_versions(),
    }


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files aside, then move them: a full disk leaves the old report whole."""
    with (
        _explained(folder),
        tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as aside,
    ):
        for name, content in files.items():
            (Path(aside) / name).write_bytes(content)
        for name in files:
            os.replace(Path(aside) / name, folder / name)
