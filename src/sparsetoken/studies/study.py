"""A study: calls of the theory and of the simulation, the claims that they decide, one figure."""

from __future__ import annotations

import abc
import functools
from collections.abc import Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any, NamedTuple

from matplotlib.figure import Figure

from sparsetoken.base.validation import choice
from sparsetoken.simulation import descend, minimize
from sparsetoken.studies.compare import (
    REDUCED,
    TENSORS,
    Claim,
    Comparison,
    Number,
    measured,
)

_OF_TENSORS = (descend, minimize)  # simulations that have no other engine

Sizes = SimpleNamespace
"""The sizes of a profile, by name."""

Calls = Mapping[Any, "functools.partial[Any]"]
"""Calls that are still to be made, by the place in the study that each is of."""


class Size(NamedTuple):
    """A size that differs between the profiles."""

    quick: Any
    paper: Any


def profiles(**sizes: Any) -> Mapping[str, Sizes]:
    """Return the sizes of the two profiles, each by its name: a `Size`, or one value for both."""
    pairs = {n: s if isinstance(s, Size) else Size(s, s) for n, s in sizes.items()}
    return {p: Sizes(**{n: getattr(s, p) for n, s in pairs.items()}) for p in Size._fields}


class Run(NamedTuple):
    """What the calls of a study returned, each by the place of its call.

    Attributes
    ----------
    at : Sizes
    theory, simulated : mapping
    calls : Calls
        Those of the simulation.
    """

    at: Sizes
    theory: Mapping[Any, Any]
    simulated: Mapping[Any, Any]
    calls: Calls

    def measured(self, place: Any, quantity: str, step: int | None = None) -> Number:
        """Return the mean over trials of a simulated quantity, of a descent after a step."""
        result, call = self.simulated[place], self.calls[place]
        if step is not None:
            result = result.isel(step=step)
        engine = call.keywords.get("engine", TENSORS if call.func in _OF_TENSORS else REDUCED)
        return measured(result, quantity, dimension=call.keywords["dimension"], engine=engine)


class Study(abc.ABC):
    """One section of the report.

    Theory and simulation are told apart: a simulation may use the theory to choose its setting, as
    a step size, and nothing else of it. Their calls are `functools.partial` of functions that
    another process can import, as those of the package.

    Attributes
    ----------
    name : str
        Small letters and hyphens; also the name of the image.
    title : str
    claims : sequence of Claim
        And questions.
    sizes : mapping
        Those of the profiles quick and paper, as of `profiles`.
    caption : str
        Of the figure.
    paper : str
        What is left to the paper profile.
    headline : bool
        Whether the first paragraph of `found` stands at the top of the report.
    """

    name: str
    title: str
    claims: Sequence[Claim]
    sizes: Mapping[str, Sizes]
    caption: str
    paper: str = ""
    headline: bool = False

    @abc.abstractmethod
    def theory(self, at: Sizes) -> Calls:
        """Return the calls of the theory; nothing is computed."""

    @abc.abstractmethod
    def simulation(self, at: Sizes, seed: int) -> Calls:
        """Return the calls of the simulation; nothing is computed."""

    @abc.abstractmethod
    def judge(self, run: Run) -> Iterator[Comparison]:
        """Compare the theory with the simulation, and decide the claims."""

    @abc.abstractmethod
    def setting(self, at: Sizes) -> str:
        """Return what is computed and simulated, in words."""

    @abc.abstractmethod
    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        """Return what was found, in paragraphs with a blank line between two."""

    @abc.abstractmethod
    def draw(self, run: Run) -> Figure:
        """Draw the figure."""

    def answers(self, run: Run, comparisons: Sequence[Comparison]) -> Mapping[str, str]:
        """Return the answer to each question among the claims, by its name."""
        return {}

    def judged(self, run: Run) -> list[Comparison]:
        """Return the comparisons, each of a claim of this study."""
        comparisons = list(self.judge(run))
        for comparison in comparisons:
            choice("claim of a comparison", comparison.claim, [claim.name for claim in self.claims])
        return comparisons
