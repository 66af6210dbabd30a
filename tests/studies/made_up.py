"""Two made-up studies, with a tag in all their words, whose calls return at once.

Their functions are in a module that other processes import.
"""

import builtins
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import numpy as np

from sparsetoken.studies.claims import PAPER, PROVED, TENSORS, Claim, Number, row
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import Experiment, Study, measured

LOADS = (0.25, 1.0, 10.0)
PER = 5.0
"""What finite dimension adds, over d."""
PANEL = "a <i>panel"


def exact(load):
    return Number(0.5 + load / 30, 1e-6)


def simulate(load, *, dimension, trials, seed):
    """Return a result as of a simulation, whose trials have one column and one attribute."""
    noise = np.random.default_rng(seed).standard_normal(trials)
    values = exact(load).value + PER / dimension + 0.01 * noise
    columns = SimpleNamespace(cosine=values, columns=dict)
    columns.columns = partial(dict, cosine=values)
    return SimpleNamespace(trials=columns, converged=True)


def noted(log, name, call, **given):
    """Return what a call returns, and write down that it was made."""
    with open(log, "a") as file:
        file.write(f"{name}\n")
    return call(**given)


def unless(ready, error, call, **given):
    """Return what a call returns if there is a file, else raise an error of a name."""
    if not Path(ready).exists():
        raise getattr(builtins, error)("not ready")
    return call(**given)


for function in (exact, simulate, noted, unless):
    function.version = "1"  # of what is kept


class MadeUp(Study):
    """Two claims; some calls of the simulation may be others, by their load."""

    name, title, setting, caption = "made-up", "Made <i>up", "With <i>numbers.", "A <i>line, η_q."
    claims = (
        Claim("made-up", "A <i>claim about α*_{pool}.", "Theorem <i>1", PROVED, PAPER),
        Claim("other", "It is <i>so.", "a <i>source"),
    )
    panels = (Panel(PANEL, "load", "cosine"),)
    curve = "a <i>curve"
    looks = {curve: Look("#0072B2")}  # noqa: RUF012

    def __init__(self, changed=()):
        self.changed = dict(changed)

    def theory(self, scale):
        return {load: partial(exact, load) for load in LOADS}

    def simulation(self, scale):
        calls = {load: partial(simulate, load) for load in LOADS} | self.changed
        return {
            load: Experiment(call, (100, 400), 20 * scale, TENSORS if load == 1.0 else "reduced")
            for load, call in calls.items()
        }

    def rows(self, run):
        for load in LOADS:
            known, found = run.theory[load], measured("cosine", run.simulated[load])
            place = {"panel": PANEL, "curve": self.curve, "x": load}
            yield row(known, **place)
            where = f"<i>where {load}"
            yield row(known, found, claim="made-up", quantity="cosine", where=where,
                      key=load == 1.0, **place)  # fmt: skip
        yield row(1.0, Number(1.0), claim="made-up", quantity="slope", allowance=0.1)
        yield row(1.0, Number(1.0), claim="other", quantity="auc")


class First(MadeUp):
    """A claim alone; its figure stands at the top of the page."""

    name, title = "learning-curves", "First"
    claims = (Claim("alone", "It is."),)

    def rows(self, run):
        known, found = run.theory[0.25], measured("cosine", run.simulated[0.25])
        place = {"panel": PANEL, "curve": "<i>", "x": 1}
        yield row(known, found, claim="alone", quantity="cosine", **place)
