"""An experiment: pieces of work that make rows, and claims judged by them."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from sparsetoken.base.content import canonical_text
from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.experiments.core.claims import DERIVED, MEASURED, OWN, Claim, Comparison
from sparsetoken.experiments.core.rows import THEORY, Row, Rows, measured, predicted
from sparsetoken.results import Simulation

_CLAIM = re.compile(
    r"^## (Claim|Question): (.*)\n\s*((?:.+\n?)+)(?:\n+Source: (.*); (.*))?", re.MULTILINE
)

Sizes = SimpleNamespace
"""The sizes of a profile, by name."""


@dataclasses.dataclass(frozen=True)
class Piece:
    """A piece of work for one process: a call whose result makes rows.

    The work is a function of a module, so that another process can find it. It returns rows, or a
    result of `sparsetoken.theory` or `sparsetoken.simulation`, of which some quantities become rows
    of a series with coordinates of their own. Arguments and options are all that the rows depend
    on. Of the cost, expected seconds, only the ratios matter.
    """

    work: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    quantities: tuple[str, ...] = ()
    series: str = ""
    at: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    cost: float = 1.0
    version: int = 1

    @property
    def name(self) -> str:
        """The work and its arguments, for messages."""
        given = [*map(repr, self.arguments), *(f"{k}={v!r}" for k, v in self.options.items())]
        module = self.work.__module__.removeprefix("sparsetoken.experiments.")
        return f"{module}.{self.work.__qualname__}({', '.join(given)})"

    @functools.cached_property
    def key(self) -> str:
        """All that its rows depend on, and becomes rows, as text."""
        return canonical_text(dataclasses.replace(self, cost=1.0))

    def run(self) -> Rows:
        """Do the work in this process."""
        result = self.work(*self.arguments, **self.options)
        if not self.quantities:
            return Rows(result)
        if isinstance(result, Simulation):
            sizes = {n: self.options[n] for n in ("dimension", "engine") if n in self.options}
            if "dimension" not in sizes:
                raise InvalidInput("dimension", "an option of a piece that simulates", None)
            series = self.series or "simulated"
            rows = [measured(result, q, series, **sizes, **self.at) for q in self.quantities]
            return Rows(rows)
        parts = result if isinstance(result, list) else [result]
        points = [point for part in parts for point in (part if part.dims else [part])]
        rows = []
        for point in points:
            place = {n: value.item() for n, value in point.coords.items() if value.dtype != object}
            place |= {"series": self.series or THEORY, **self.at}
            rows += [predicted(point, quantity, **place) for quantity in self.quantities]
        return Rows(rows)


def piece(
    work: Callable[..., Any],
    *arguments: Any,
    rows: Sequence[str] = (),
    series: str = "",
    at: Mapping[str, Any] | None = None,
    cost: float = 1.0,
    **options: Any,
) -> Piece:
    """Plan a call of `work`, computing nothing.

    Parameters
    ----------
    work : callable
    *arguments, **options
        Of `work`.
    rows : sequence of str
        The quantities of its result that become rows; none if it returns rows.
    series, at, cost
        As of `Piece`.
    """
    return Piece(work, arguments, options, tuple(rows), series, at or {}, cost)


class Size(NamedTuple):
    """A size that differs between the profiles."""

    quick: Any
    paper: Any


def profiles(**sizes: Any) -> Mapping[str, Sizes]:
    """Return the sizes of the two profiles, each by its name: a `Size`, or one value for both."""
    pairs = {n: s if isinstance(s, Size) else Size(s, s) for n, s in sizes.items()}
    return {p: Sizes(**{n: getattr(s, p) for n, s in pairs.items()}) for p in Size._fields}


@dataclasses.dataclass(frozen=True)
class Experiment:
    """One section of the report.

    Attributes
    ----------
    name : str
        Also that of its section.
    sizes : mapping
        Those of the profiles quick and paper, as of `profiles`.
    work : callable
        (sizes, seed) to the pieces of work. Planning computes nothing.
    judge : callable
        (sizes, rows) to the comparisons.
    figures : mapping
        By name, in the order of the page: functions of `Rows` that return a
        `sparsetoken.figures.curves.Plot`, as `curves` of that module does.
    page : Path, optional
        Its words: a Jinja template of Markdown, by default the file beside that of `judge`, of the
        same name. Its parts, by their headings, are the title with the setting; each claim under
        Claim: NAME, with a paragraph Source: RESULT; STATUS if it comes from elsewhere; each
        question under Question: NAME, as the first paragraph, and then the answer; what was Found;
        what is Left to the paper profile; and the caption of each figure under Figure: NAME.
    version : int
        Raised when its rows would change: those of another version are computed anew.
    """

    name: str
    sizes: Mapping[str, Sizes]
    work: Callable[[Any, int], Iterable[Piece]]
    judge: Callable[[Any, Rows], Iterable[Comparison]]
    figures: Mapping[str, Callable[[Rows], Any]]
    page: Path | None = None
    version: int = 1

    @property
    def path(self) -> Path:
        """The file of the page."""
        return self.page or Path(inspect.getfile(self.judge)).with_suffix(".md")

    @functools.cached_property
    def text(self) -> str:
        """The page."""
        return self.path.read_text("utf-8")

    @property
    def title(self) -> str:
        """The heading of the page."""
        return self.text.partition("\n")[0].removeprefix("#").strip()

    @functools.cached_property
    def claims(self) -> tuple[Claim, ...]:
        """The claims and questions, in the order of the page."""
        return tuple(
            Claim(
                name.strip(),
                " ".join(text.split()),
                kind == "Question",
                source or OWN,
                status or (MEASURED if kind == "Question" else DERIVED),
            )
            for kind, name, text, source, status in _CLAIM.findall(self.text)
        )

    @property
    def open(self) -> bool:
        """Whether all it asks is beyond the theorems."""
        return all(claim.open for claim in self.claims)

    def check(self) -> None:
        """Check that the page has its parts."""
        parts = re.findall(r"^## +(.*?) *$", self.text, re.MULTILINE)
        for part in ("Found", *(f"Figure: {name}" for name in self.figures)):
            if part not in parts:
                raise InvalidInput(f"page of {self.name}", f"with a part ## {part}", parts)
        names = [claim.name for claim in self.claims if not claim.text.startswith("#")]
        about = {"Claim": "a text", "Question": "a text", "Headline": "the name of a claim"}
        for part in parts:
            kind, _, name = part.partition(": ")
            if kind in about and name not in names:
                raise InvalidInput(f"page of {self.name}", f"{kind}: with {about[kind]}", part)

    def plan(self, profile: str, seed: int = 0) -> list[Piece]:
        """Return the work of a profile, quick or paper."""
        pieces = self.work(self.sizes[profile], seed)
        return [dataclasses.replace(one, version=self.version) for one in pieces]

    def compared(self, sizes: Sizes, rows: Iterable[Row]) -> list[Comparison]:
        """Return the comparisons that the rows allow."""
        comparisons = list(self.judge(sizes, Rows(rows)))
        names = [claim.name for claim in self.claims]
        for comparison in comparisons:
            choice("claim of a comparison", comparison.claim, names)
        return [dataclasses.replace(comparison, experiment=self.name) for comparison in comparisons]
