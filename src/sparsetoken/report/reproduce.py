"""Run experiments, judge their claims and write the report."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import json
import math
import os
import platform
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from functools import partial
from importlib import metadata
from pathlib import Path
from typing import Any

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.claims import Claim
from sparsetoken.experiments.points import Point
from sparsetoken.report.page import Section, page
from sparsetoken.report.pictures import PICTURES, png, svg
from sparsetoken.validation import InvalidInput, choice, integer

__all__ = ["Reproduction", "checked", "reproduce", "total_cost", "writable_folder"]

PROFILES = ("quick", "paper")
REMEDY = "Choose another with --out."


@dataclasses.dataclass(frozen=True)
class Reproduction:
    """What a run found and where it wrote it."""

    claims: tuple[Claim, ...]
    report: Path
    seconds: float

    @property
    def all_hold(self) -> bool:
        """Whether every claim holds."""
        return all(claim.verdict == "holds" for claim in self.claims)


def reproduce(
    names: Sequence[str] = (),
    *,
    profile: str = "quick",
    out: str | os.PathLike[str] = "results",
    seed: int = 0,
    executor: Executor | None = None,
    progress: Callable[[str, float], None] = lambda name, cost: None,
) -> Reproduction:
    """Run experiments and write report.html, claims.json and the figures as PNG.

    Parameters
    ----------
    names : sequence of str
        Experiments, all by default: alignment, learning-curves, capacity, finite-size.
    profile : str
        quick or paper.
    out : path
        Folder of the report. It is checked before any work.
    seed : int
    executor : concurrent.futures.Executor, optional
        Where the work runs; in this process by default.
    progress : callable
        Called with the name of the experiment and the cost of each piece of work:
        0 at the start of an experiment.

    Returns
    -------
    Reproduction

    Raises
    ------
    InvalidInput
        If a name or profile is unknown, or the folder cannot be written.
    """
    chosen = checked(names, profile)
    seed = integer("seed", seed, 0)
    folder = writable_folder(out, chosen)
    facts, start = _facts(profile, seed), time.monotonic()
    found: dict[str, tuple[list[Point], list[Claim]]] = {}
    for name in chosen:
        progress(name, 0.0)
        found[name] = EXPERIMENTS[name].run(profile, executor, partial(progress, name), seed)
    seconds = time.monotonic() - start
    claims = tuple(claim for _, judged in found.values() for claim in judged)
    facts["wall time"] = f"{seconds:.0f} s"
    files = _files(found, profile, claims, facts)
    _write(folder, files)
    return Reproduction(claims, folder / "report.html", seconds)


def checked(names: Sequence[str], profile: str) -> list[str]:
    """Return the experiments in the order of the report."""
    choice("profile", profile, PROFILES)
    for name in names:
        choice("experiment", name, EXPERIMENTS)
    return [name for name in EXPERIMENTS if not names or name in names]


def total_cost(names: Sequence[str], profile: str) -> float:
    """Return the expected cost of all jobs, in the units of `progress`."""
    chosen = [EXPERIMENTS[name] for name in checked(names, profile)]
    return sum(job.cost for e in chosen for job in e.jobs(e.profiles[profile], 0))


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
    pictures = [f"{picture.name}.png" for name in names for picture in PICTURES[name]]
    for name in ("report.html", "claims.json", *pictures):
        if (folder / name).is_dir():
            raise InvalidInput("out", f"a folder where {name} is no folder", str(out), REMEDY)
    return folder


@contextlib.contextmanager
def _explained(out: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the refusal of the system to write into `InvalidInput`."""
    try:
        yield
    except OSError as error:
        remedy = f"({error.strerror}). {REMEDY}" if error.strerror else REMEDY
        raise InvalidInput("out", "a folder that can be written", str(out), remedy) from None


def _files(
    found: Mapping[str, tuple[list[Point], list[Claim]]],
    profile: str,
    claims: Sequence[Claim],
    facts: Mapping[str, str],
) -> dict[str, bytes]:
    sections: list[Section] = []
    files: dict[str, bytes] = {}
    for name, (points, judged) in found.items():
        experiment = EXPERIMENTS[name]
        pictures = [(picture, svg(picture, points)) for picture in PICTURES[name]]
        setting = experiment.setting(experiment.profiles[profile])
        sections.append(Section(name, experiment.title, setting, pictures, points, judged))
        files |= {f"{picture.name}.png": png(picture, points) for picture, _ in pictures}
    rows = [{k: _json(v) for k, v in dataclasses.asdict(claim).items()} for claim in claims]
    document = {"run": dict(facts), "claims": rows}
    files["claims.json"] = (json.dumps(document, indent=2, ensure_ascii=False) + "\n").encode()
    files["report.html"] = page(sections, claims, facts).encode()
    return files


def _json(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _facts(profile: str, seed: int) -> dict[str, str]:
    names = ("sparsetoken", "jax", "numpy", "scipy", "matplotlib")
    now = datetime.datetime.now(datetime.UTC)
    return {
        "profile": profile,
        "seed": str(seed),
        "date": now.strftime("%Y-%m-%d %H:%M UTC"),
        "Python": platform.python_version(),
        **{name: metadata.version(name) for name in names},
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
