"""Run studies, judge their claims and write the report: one page, its images, their numbers."""

from __future__ import annotations

import base64
import contextlib
import dataclasses
import datetime
import functools
import io
import json
import math
import os
import platform
import re
import subprocess
import tempfile
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy import stats

from sparsetoken.base.files import write_file
from sparsetoken.base.validation import Failure, InvalidInput, choice, integer, one_line
from sparsetoken.figures import style
from sparsetoken.figures.palette import BLACK, BLUE
from sparsetoken.numerics.threads import kernels
from sparsetoken.studies import catalogue, plot
from sparsetoken.studies.compare import (
    EVIDENCE,
    HOLDS,
    OWN,
    RULE,
    SHIFTS,
    VERDICTS,
    Comparison,
    Finding,
    Scatter,
    detectable,
    evidence_of,
    findings,
    largest_z,
    scatter_of,
    verdict_of,
)
from sparsetoken.studies.study import Run, Study
from sparsetoken.studies.words import FILTERS, maths, paragraphs
from sparsetoken.work import map_points

PROFILES = ("quick", "paper")
PACKAGES = ("sparsetoken", "jax", "numpy", "scipy", "matplotlib")
KINDS = ("Proposition", "Theorem", "Corollary", "Conjecture", "Figure", OWN)
"""Of sources, by which the table of claims is filtered."""
OPENING = "learning-curves"
"""The study whose figure opens the page."""
WORK = "work"
"""The folder of the results that are kept."""
SCATTER = "z-values"
"""The name of the histogram of z."""
NAME = re.compile(r"[a-z][a-z0-9-]*")
RESERVED = {SCATTER, "filter", "found", "claims", "differences", "rule", "run"}
"""Names that the files and the parts of the page have."""
DPI, QUALITY = 130, 50  # of images
REMEDY = "Choose another with --out."


@dataclasses.dataclass(frozen=True)
class Section:
    """A study on the page: its findings, its words, and its figure as a WebP image."""

    study: Study
    findings: Sequence[Finding]
    words: Mapping[str, Any]
    image: Image

    @property
    def verdict(self) -> str:
        """The worst verdict of its findings."""
        return verdict_of(c for finding in self.findings for c in finding.comparisons)

    @property
    def open(self) -> bool:
        """Whether all it asks is beyond the theorems."""
        return all(finding.claim.open for finding in self.findings)


@dataclasses.dataclass(frozen=True)
class Image:
    """A figure as a WebP image, its size in points, and a table of the numbers that it shows."""

    webp: bytes
    width: float
    height: float
    numbers: pd.DataFrame

    @property
    def address(self) -> str:
        """The image as the address of an image of the page."""
        return "data:image/webp;base64," + base64.b64encode(self.webp).decode()


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
    def comparisons(self) -> list[Comparison]:
        """All comparisons."""
        return [c for finding in self.findings for c in finding.comparisons]

    @property
    def counts(self) -> dict[str, int]:
        """Number of claims by verdict."""
        return {v: sum(f.verdict == v for f in self.findings) for v in VERDICTS}

    @property
    def all_hold(self) -> bool:
        """Whether no claim of the theory fails or was left undecided."""
        return all(f.verdict == HOLDS for f in self.findings if not f.claim.open)


def reproduce(
    studies: Sequence[Study | str] = (),
    *,
    profile: str = "quick",
    out: str | os.PathLike[str] = "results",
    seed: int = 0,
    workers: int = 1,
    progress: bool = True,
) -> Reproduction:
    """Run studies and write report.html, claims.json, and each figure as WebP and CSV.

    The result of each call that has ended is kept in work/. An interrupted run resumes from there,
    and a run with the same calls and seed, and the same source files of the package, computes
    nothing again.

    Parameters
    ----------
    studies : sequence of Study or str
        Studies, or names of those in `sparsetoken.studies.STUDIES`; by default all of them.
    profile : str
        quick or paper.
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
        judged, drawn or written; all results are kept by then.
    """
    chosen = chosen_studies(studies, profile)
    seed, start = integer("seed", seed, 0), time.monotonic()
    names = [*(study.name for study in chosen), SCATTER]
    written = [name for n in names for name in (f"{n}.webp", f"data/{n}.csv")]
    folder = _writable(out, ["report.html", "claims.json", *written])
    runs, resumed, calls = _run(chosen, profile, seed, folder / WORK, workers, progress)
    seconds = time.monotonic() - start
    facts = _facts(profile, seed) | {"wall time": f"{seconds:.0f} s"}
    if resumed:
        facts["taken from earlier runs"] = f"{resumed} of {calls} results"
    sections = [_section(study, run) for study, run in zip(chosen, runs, strict=True)]
    found = tuple(finding for section in sections for finding in section.findings)
    scatter = scatter_of(c for finding in found for c in finding.comparisons)
    histogram = _image(functools.partial(_draw_scatter, scatter))
    files = {"report.html": _page(sections, scatter, histogram, facts).encode()}
    for name, image in (*((s.study.name, s.image) for s in sections), (SCATTER, histogram)):
        table = image.numbers.to_csv(index=False, lineterminator="\n")
        files |= {f"{name}.webp": image.webp, f"data/{name}.csv": table.encode()}
    files["claims.json"] = (
        json.dumps(document_of(found, facts), indent=2, ensure_ascii=False) + "\n"
    ).encode()
    _write(folder, files)
    return Reproduction(found, folder / "report.html", seconds, resumed, calls)


def chosen_studies(studies: Sequence[Study | str], profile: str = "quick") -> list[Study]:
    """Return the studies of a run, by default all; those of the package in order of the report."""
    known = catalogue.STUDIES
    choice("profile", profile, PROFILES)
    if isinstance(studies, str):
        raise InvalidInput("studies", f"a list of names, as [{studies!r}]", studies)
    for one in studies:
        if not isinstance(one, Study):
            choice("study", one, known)
    own = [one for one in studies if isinstance(one, Study)]
    chosen = [study for name, study in known.items() if not studies or name in studies] + own
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
    studies: Sequence[Study],
    profile: str,
    seed: int,
    folder: Path,
    workers: int,
    progress: bool,
) -> tuple[list[Run], int, int]:
    """Make all calls of the studies that are not kept, in one pool of workers.

    Return the runs, how many results were kept, and of how many.
    """
    plans = [
        (study.theory(study.sizes[profile]), study.simulation(study.sizes[profile], seed))
        for study in studies
    ]
    calls = [call for plan in plans for some in plan for call in some.values()]
    # In an order of its own, the share of the calls that are done is about that of the time.
    order = np.random.default_rng(0).permutation(len(calls)).tolist()
    run = uuid.uuid4().hex  # in front of each result, it tells those of this run from kept ones
    results = map_points(
        functools.partial(_made, run),
        [calls[place] for place in order],
        call=["study"],
        workers=workers,
        keep=folder,
        what="studies",
        progress=progress,
    )
    found = dict(zip(order, results, strict=True))
    for place, result in found.items():
        if isinstance(result, Exception):
            text = f"{_named(calls[place])} has no result. {one_line(result).rstrip('.')}"
            raise Failure(f"{text}. The next run resumes from here.") from result
    ended = (found[place][1] for place in range(len(calls)))
    resumed = sum(made_in != run for made_in, _ in results)
    runs = []
    for study, plan in zip(studies, plans, strict=True):
        theory, simulated = ({place: next(ended) for place in some} for some in plan)
        runs.append(Run(study.sizes[profile], theory, simulated, plan[1]))
    return runs, resumed, len(calls)


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
        comparisons = study.judged(run)
        found = study.found(run, comparisons).strip()
        words = {
            "setting": paragraphs(study.setting(run.at)),
            "found": paragraphs(found),
            "first": paragraphs(found.partition("\n\n")[0]),
            "answers": {n: maths(t) for n, t in study.answers(run, comparisons).items()},
            "paper": maths(study.paper),
            "caption": maths(study.caption),
        }
        image = _image(functools.partial(study.draw, run))
        return Section(study, findings(study.claims, comparisons), words, image)
    except Exception as error:
        text = f"{study.name} could not be judged, drawn or written: {one_line(error).rstrip('.')}"
        raise Failure(f"{text}. Its results are kept; correct it and run again.") from error


def _image(draw: Callable[[], Figure]) -> Image:
    """Draw a figure."""
    with style.styled():
        figure, buffer = draw(), io.BytesIO()
        figure.savefig(buffer, format="webp", dpi=DPI, pil_kwargs={"quality": QUALITY})
        width, height = (float(inches) * 72 for inches in figure.get_size_inches())
        return Image(buffer.getvalue(), width, height, pd.DataFrame(plot.numbers_of(figure)))


EDGE = 5.0  # of the histogram; what lies beyond is counted at the edge


def _draw_scatter(scatter: Scatter) -> Figure:
    """Draw histograms of z, without the shift and with it, beside the standard normal."""
    figure, places = plot.panels(2, 8.0, 3.2)
    edges, line = np.linspace(-EDGE, EDGE, 21), np.linspace(-EDGE, EDGE, 201)
    sides = {"without finite-size shift": scatter.raw, "with the shift": scatter.z}
    for axes, (title, values) in zip(places, sides.items(), strict=True):
        counts, _ = np.histogram(np.clip(values, -EDGE, EDGE), edges)
        expected = len(values) * (edges[1] - edges[0]) * stats.norm.pdf(line)
        middles = (edges[1:] + edges[:-1]) / 2
        axes.plot(middles, counts, color=BLUE, drawstyle="steps-mid", label="comparisons")
        axes.plot(line, expected, color=BLACK, label="standard normal")
        axes.set(xlabel="z", ylabel="comparisons", title=title)
    return plot.finish(figure)


def _page(
    sections: Sequence[Section], scatter: Scatter, histogram: Image, facts: Mapping[str, str]
) -> str:
    """Return the page as HTML, which needs no other file and no network."""
    found = [finding for section in sections for finding in section.findings]
    comparisons = [c for finding in found for c in finding.comparisons]
    parts = {
        "The theory, checked": [s for s in sections if not s.open],
        "Beyond the theorems": [s for s in sections if s.open],
    }
    judged = [c for c in comparisons if math.isfinite(c.z)]
    names = [name for name, _ in Counter(c.quantity for c in judged).most_common()]
    seen = {
        "parts": [(title, some) for title, some in parts.items() if some],
        "first": next((s for s in sections if s.study.name == OPENING), None),
        "findings": found,
        "verdicts": Counter(finding.verdict for finding in found),
        "evidence": EVIDENCE,
        "compared": evidence_of(comparisons),
        "kinds": KINDS,
        "rule": RULE,
        "scatter": scatter,
        "histogram": histogram,
        "quantities": {n: [c for c in judged if c.quantity == n] for n in names},
        "shifts": SHIFTS,
        "facts": facts,
    }
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("sparsetoken", "studies"),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )
    environment.filters |= FILTERS
    environment.filters |= {"detectable": detectable, "largest_z": largest_z}
    environment.filters |= {"mean": np.mean, "deviation": np.std}
    return environment.get_template("report.html").render(**seen)


def document_of(found: Sequence[Finding], facts: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Return claims and comparisons as JSON values; what is not finite is null.

    The claim of a comparison is under the key statement, which is a contract.
    """
    statements = [
        {
            **dataclasses.asdict(finding.claim),
            "comparisons": len(finding.comparisons),
            "evidence": finding.evidence,
            "verdict": finding.verdict,
        }
        for finding in found
    ]
    rows = []
    for comparison in (c for finding in found for c in finding.comparisons):
        row = dataclasses.asdict(comparison)
        row = {"statement": row.pop("claim"), **row, "evidence": comparison.evidence}
        lost = {n for n, v in row.items() if isinstance(v, float) and not math.isfinite(v)}
        rows.append({name: None if name in lost else value for name, value in row.items()})
    run = {} if facts is None else {"run": dict(facts)}
    return run | {"statements": statements, "claims": rows}


def _writable(out: str | os.PathLike[str], files: Sequence[str]) -> Path:
    """Return the folder, made if need be, in which files of these names can be written."""
    if not os.fspath(out):
        raise InvalidInput("out", "the name of a folder", "", "Give one with --out; . is this one.")
    folder = Path(out)
    if not folder.is_absolute():
        Path.cwd()  # an error of its own where the working folder is gone
    for name in files:
        if (folder / name).is_dir():
            raise InvalidInput("out", f"a folder where {name} is no folder", str(out), REMEDY)
    for place in (folder, folder / WORK, folder / "data"):
        with _explained(place):
            place.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=place):
                pass
    return folder


def _write(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write temporary files, then move them: a full disk leaves the old report intact."""
    with (
        _explained(folder),
        tempfile.TemporaryDirectory(dir=folder, prefix=".unfinished-") as aside,
    ):
        for name, content in files.items():
            (Path(aside) / name).parent.mkdir(exist_ok=True)
            write_file(Path(aside) / name, [content])
        for name in files:
            (folder / name).parent.mkdir(exist_ok=True)
            os.replace(Path(aside) / name, folder / name)


@contextlib.contextmanager
def _explained(out: Path) -> Iterator[None]:
    """Turn the refusal of the system to write into `InvalidInput`."""
    try:
        yield
    except OSError as error:
        remedy = f"({error.strerror}). {REMEDY}" if error.strerror else REMEDY
        raise InvalidInput("out", "a folder that can be written", str(out), remedy) from None


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
