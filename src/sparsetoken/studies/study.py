"""A study: calls of the theory and of the simulation, one frame of numbers, one figure."""

from __future__ import annotations

import abc
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pandas as pd

from sparsetoken.base.validation import choice
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies.claims import REDUCED, Claim, Number, averaged, judged, to_infinity
from sparsetoken.studies.figure import Look, Panel

Call = partial[Any]


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A simulation that is to be made, at one dimension or at several.

    Attributes
    ----------
    call : partial
        A simulation without its dimension, trials and seed.
    dimensions : sequence of int
        Rising; from several, means are extrapolated to infinite dimension. One alone is for what
        is exact at every dimension.
    trials : int
        At each dimension. From d/4 and d that is near the best share of the time, where that goes
        as d and the variance as 1/d; the limit has 2.2 times the variance of the mean at d.
    engine : str
        What draws the samples; tensors for descents and minima, which have no other engine.
    shared : sequence of str or int
        A name, and numbers if need be, that its seeds come from. Experiments of the same shared
        name share their random numbers; others are independent.
    """

    call: Call
    dimensions: Sequence[int]
    trials: int
    engine: str = REDUCED
    shared: Sequence[str | int] = ()

    def calls(self, *names: str | int) -> list[Call]:
        """Return the call at each dimension, with a seed from these names."""
        return [
            partial(self.call, dimension=d, trials=self.trials, seed=seed_of(*names, i))
            for i, d in enumerate(self.dimensions)
        ]

    @property
    def where(self) -> str:
        """The dimensions for readers."""
        return where_of(self.dimensions)


def where_of(dimensions: Sequence[int]) -> str:
    """Return dimensions for readers, as d = 100, 400 → ∞ where means are extrapolated."""
    text = ", ".join(map(str, dimensions))
    return f"d = {text}" + " → ∞" * (len(dimensions) > 1)


class Trials(NamedTuple):
    """An experiment with what the simulation returned at each of its dimensions."""

    experiment: Experiment
    results: Sequence[Any]


def means(
    of: str | Callable[..., Any], *some: Trials, step: int | None = None, samples: float = 0.0
) -> list[Number]:
    """Return the mean over trials at each dimension; parameters as of `measured`."""
    numbers, experiment = [], some[0].experiment
    for d, *results in zip(experiment.dimensions, *(one.results for one in some), strict=True):
        at = results if step is None else [one.isel(step=step) for one in results]
        trials = [one.trials for one in at]
        values = trials[0].columns()[of] if isinstance(of, str) else of(*trials)
        sound = all(bool(one.converged) for one in at)
        mean = averaged(values, dimension=d, engine=experiment.engine, converged=sound)
        least = 1 / (mean.trials * samples * d) if samples else 0.0
        numbers.append(dataclasses.replace(mean, error=max(mean.error, least)))
    return numbers


def measured(
    of: str | Callable[..., Any], *some: Trials, step: int | None = None, samples: float = 0.0
) -> Number:
    """Return what experiments measured: the mean over trials, extrapolated to infinite dimension.

    Parameters
    ----------
    of : str or callable
        A column of the trials; or a function of the trials of each experiment, which returns one
        value for each trial, as the difference of two that share their random numbers.
    *some : Trials
        One, or several with the same dimensions and trials.
    step : int, optional
        Of a descent.
    samples : float
        Of a share of training samples: samples over the dimension. A count of no errors has
        spread 0, and is still known only to one sample in all trials.
    """
    return to_infinity(means(of, *some, step=step, samples=samples))


class Run(NamedTuple):
    """What the calls of a study returned, each by its place.

    Attributes
    ----------
    theory : mapping
        What each call returned.
    simulated : mapping
        `Trials` of an experiment; of a call with nothing but a seed what it returned.
    scale : int
    """

    theory: Mapping[Any, Any]
    simulated: Mapping[Any, Any]
    scale: int


class Study(abc.ABC):
    """One section of the report.

    A study outside the package is a subclass, too. Its places are keys of its own choice, as tuples
    of what tells one call from the others. Theory and simulation are told apart: a simulation may
    use the theory to choose its setting, as a step size, and nothing else of it. Calls are
    `functools.partial` of functions that another process can import, as those of the package.

    Attributes
    ----------
    name : str
        Small letters and hyphens; also the name of the image and of the table.
    title : str
    setting : str
        One or two sentences: what is computed, and with which numbers.
    caption : str
        One sentence: what the figure shows.
    claims : sequence of Claim
    panels : sequence of Panel
    looks : mapping
        The look of curves, by name.
    columns : int
        Most panels side by side.
    """

    name: str
    title: str
    setting: str
    caption: str
    claims: Sequence[Claim]
    panels: Sequence[Panel]
    looks: Mapping[str, Look] = {}
    columns: int = 3

    @abc.abstractmethod
    def theory(self, scale: int) -> Mapping[Any, Call]:
        """Return the calls of the theory; nothing is computed.

        The scale is 1 in the quick profile and 4 in the paper's: it multiplies the points of lines
        and the trials, and nothing else, so that both profiles judge the same places.
        """

    @abc.abstractmethod
    def simulation(self, scale: int) -> Mapping[Any, Experiment | Call]:
        """Return the experiments, and calls that lack only a seed; nothing is computed."""

    @abc.abstractmethod
    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        """Yield the rows of the frame, each of `row` or `all_true`."""

    def frame(self, run: Run) -> pd.DataFrame:
        """Return the frame, judged."""
        frame = judged(self.rows(run))
        for name in frame.claim.unique():
            choice("claim of a row", name, ["", *(claim.name for claim in self.claims)])
        for name in frame.panel.unique():
            choice("panel of a row", name, ["", *(panel.name for panel in self.panels)])
        return frame

    def seeded(self, scale: int, seed: int) -> Iterator[list[Call]]:
        """Yield the calls of each experiment, with their seeds.

        A seed is a hash of the name of the study, the place in the list or the shared names, and
        the user's seed.
        """
        for i, one in enumerate(self.simulation(scale).values()):
            names = (self.name, "place", i, seed)
            if not isinstance(one, Experiment):
                yield [partial(one, seed=seed_of(*names))]
            else:
                yield one.calls(*((self.name, *one.shared, seed) if one.shared else names))
