"""Two made-up studies, with a tag in all their words, whose calls return at once.

Their functions are in a module that other processes import.
"""

import builtins
from functools import partial
from pathlib import Path

import numpy as np

from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    PROVED,
    REDUCED,
    TENSORS,
    Claim,
    Number,
    averaged,
    compare,
    report_only,
    within,
)
from sparsetoken.studies.study import Size, Study, profiles
from sparsetoken.studies.words import pm

LOADS = (0.25, 1.0, 10.0)


def exact(load):
    return Number(0.5 + load / 30, 1e-6)


def trials(load, count, seed, engine=REDUCED, wrong=()):
    """Return the mean of so many trials, the first of which may be wrong."""
    values = exact(load).value + 0.01 * np.random.default_rng(seed).standard_normal(count)
    values[: len(wrong)] = wrong
    return averaged(values, dimension=1000, engine=engine)


def noted(log, name, call):
    """Return what a call returns, and write down that it was made."""
    with open(log, "a") as file:
        file.write(f"{name}\n")
    return call()


def unless(ready, error, call):
    """Return what a call returns if there is a file, else raise an error of a name."""
    if not Path(ready).exists():
        raise getattr(builtins, error)("not ready")
    return call()


for function in (exact, trials, noted, unless):
    function.version = "1"  # of what is kept


class MadeUp(Study):
    """A claim and a question; some calls of the simulation may be others, by their load."""

    name, title, headline = "made-up", "Made <i>up", True
    claims = (
        Claim("made-up", "A <i>claim about α*_{pool}.", "Theorem <i>1", PROVED),
        Claim("asked", "Is it <i>so?", "a <i>source", open=True),
    )
    sizes = profiles(trials=Size(20, 80))
    caption = "A <i>line, η_q."
    paper = "More <i>trials."

    def __init__(self, changed=()):
        self.changed = dict(changed)

    def theory(self, at):
        return {load: partial(exact, load) for load in LOADS}

    def simulation(self, at, seed):
        calls = {}
        for i, load in enumerate(LOADS):
            engine = TENSORS if load == 1.0 else REDUCED
            given = {"seed": seed_of(self.name, i, seed), "engine": engine}
            calls[load] = partial(trials, load, at.trials, **given)
        return calls | self.changed

    def judge(self, run):
        for load in LOADS:
            place = {"curve": "<i>curve", "where": f"<i>where {load}", "key": load == 1.0}
            yield compare("made-up", "cosine", run.theory[load], run.simulated[load], **place)
        yield within("made-up", "slope", Number(1.0), 1.0, 0.1)
        yield report_only("asked", "auc", run.simulated[1.0])

    def setting(self, at):
        return f"With {at.trials} <i>trials."

    def found(self, run, comparisons):
        return f"The <i>first: {pm(run.simulated[1.0], 4)}.\n\nThe <i>second, d^{{-1/2}}."

    def answers(self, run, comparisons):
        return {"asked": "It is <i>so."}

    def draw(self, run):
        figure, (axes,) = plot.panels(1, 6.4, 3.9)
        for some in (run.theory, run.simulated):
            plot.curve(axes, LOADS, [some[load] for load in LOADS], "#0072B2", "a <i>curve")
        axes.set(title="a <i>panel", xlabel="load", ylabel="cosine")
        return plot.finish(figure)


class Asked(MadeUp):
    """A question alone; its figure stands at the top of the page."""

    name, title, headline = "learning-curves", "Asked", False
    claims = (Claim("asked-alone", "Is it?", open=True),)

    def judge(self, run):
        yield report_only("asked-alone", "auc", run.simulated[0.25])

    def answers(self, run, comparisons):
        return {}
