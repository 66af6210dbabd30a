"""Errors of three models against the size of the training set, and against the dimension."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS, LIGHT_GREY
from sparsetoken.model import presets
from sparsetoken.studies.claims import (
    PAPER,
    PROVED,
    TENSORS,
    Claim,
    Number,
    line,
    predicted,
    row,
    to_infinity,
)
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import (
    Call,
    Experiment,
    Run,
    Study,
    Trials,
    means,
    measured,
    where_of,
)

LOSSES = ("logistic", "square")
LOADS = {
    "attention": (0.5, 1.0, 2.0, 4.0),
    "pooled": (0.5, 1.0, 2.0, 4.0),
    "vectorized": (0.5, 1.0, 2.0),
}
"""Of each model: the fit of the vectorised one costs n1^3."""
PLACES = [(loss, name, load) for loss in LOSSES for name, some in LOADS.items() for load in some]
TRIALS = {"attention": 80, "pooled": 24, "vectorized": 12}
"""Test errors of attention vary most, with its query."""
TOKENS = 2.0
"""The load of attention with real tokens."""
CLAIMS = {
    "test_error": "learned-error",
    "training_loss": "learned-error",
    "training_error": "score-law",
    "auc": "score-law",
}
"""The claim on each quantity."""
DRAWN = ("test_error", "training_loss")
SIZES = (100, 400)
PROBLEM = presets.learning_curves().problem
ALPHA0 = presets.learning_curves().query.alpha0
STEPS = st.TwoSteps(alpha0=1.0, eta_q=7.0, loss="square")
FINITE = (PROBLEM, st.Attention(STEPS), st.Readout("square", ridge=1e-2, alpha1=2.0))
"""The training that is measured at several dimensions:"""
DIMENSIONS = (125, 250, 500, 1000)
CONVERGING = {"cosine": "cosine", "test_error": "readout", "training_loss": "readout"}
"""By the calls that have them."""
BAYES, ZERO = "Bayes-optimal learner", "theory"
LOOKS = {BAYES: Look(COLOURS["bayes"], "-."), ZERO: Look(LIGHT_GREY, "--", label="")}


def setting(name: str, loss: str, alpha1: Any) -> tuple[Any, Any, st.Readout]:
    """Return problem, model and readout."""
    preset = presets.learning_curves(loss, alpha1=alpha1)
    return PROBLEM, preset.models[list(LOADS).index(name)], preset.readout


def _line(scale: int) -> np.ndarray:
    """Return the loads of a line, those of the simulations among them."""
    return np.union1d(np.geomspace(0.5, 4.0, 40 * scale), LOADS["attention"])


def _panel(quantity: str, loss: str) -> str:
    return f"{quantity.replace('_', ' ')}, {loss} loss"


def _gap(quantity: str) -> str:
    return f"{quantity.replace('_', ' ')}, measured − theory"


class LearningCurves(Study):
    """All numbers of the three models, and how finite dimension approaches the limit."""

    name, title = "learning-curves", "Learning curves"
    setting = (
        f"L = {PROBLEM.length}, R = {PROBLEM.informative}, π = {PROBLEM.positive_rate:g}, "
        f"θ = {PROBLEM.strength:g}, λ = 10^{{−5}}; α₀ = {ALPHA0:g}, η_w = η_b = 0.5, β = 1 and "
        "η_q = 25 (logistic) or 7 (square), chosen for a query with cosine near 0.88 and sharpness "
        "near 1. Finite size: attention with the square loss, "
        f"λ = {FINITE[-1].ridge:g}, α₀ = {STEPS.alpha0:g}, α₁ = {FINITE[-1].alpha1:g}."
    )
    caption = (
        "Test error and training loss with the logistic loss (above) and the square loss (below), "
        "against the load α₁ of the second data set; right, measured minus theory against 1/d, "
        "with the extrapolation to infinite dimension at 0."
    )
    claims = (
        Claim(
            "learned-error",
            "After the readout is fitted on n₁ = α₁ d samples, test error and training loss of all "
            "three models have exact limits, given by a few equations.",
            "Theorem 2, Figure 1",
            PROVED,
            PAPER,
        ),
        Claim(
            "score-law",
            "The limiting distribution of the score gives the training error and the area under "
            "the ROC curve.",
        ),
        Claim(
            "feature-law",
            "The softmax depends on the tokens through L scores only, so that the features can be "
            "sampled from three random scalars, exactly at every d; simulated tokens agree with "
            "what is so sampled, and with the theory.",
        ),
        Claim(
            "finite-size",
            "Simulations converge to the limits: their differences from theory shrink as the "
            "dimension grows.",
        ),
    )
    panels = tuple(
        panel
        for loss, quantity in zip(LOSSES, ("cosine", "test_error"), strict=True)
        for panel in (
            Panel(
                _panel("test_error", loss),
                "α₁ = n₁ / d",
                log={"x": LOADS["attention"]},
                limits={"ylim": (0, None)},
            ),
            Panel(
                _panel("training_loss", loss),
                "α₁ = n₁ / d",
                # The logistic loss never reaches 0.
                log={"x": LOADS["attention"]} | ({"y": ()} if loss == "logistic" else {}),
            ),
            Panel(_gap(quantity), "1/d"),
        )
    )
    looks = LOOKS

    def theory(self, scale: int) -> Mapping[Any, Call]:
        calls: dict[Any, Call] = {
            "bayes": partial(st.oracle.learning_error, PROBLEM, ALPHA0 + np.array(LOADS["pooled"])),
            "cosine": partial(st.align, PROBLEM, STEPS),
            "readout": partial(st.predict, *FINITE),
        }
        for loss, (name, loads) in itertools.product(LOSSES, LOADS.items()):
            for key, x, tolerance in (("line", _line(scale), 1e-3), ("loads", loads, 1e-4)):
                given = setting(name, loss, np.array(x))
                calls[key, loss, name] = partial(st.predict, *given, tolerance=tolerance)
        return calls

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        every: dict[Any, Experiment] = {}
        for loss, name, load in PLACES:
            call = partial(st.simulate, *setting(name, loss, load))
            every[loss, name, load] = Experiment(call, SIZES, TRIALS[name] * scale)
        for loss in LOSSES:
            call = partial(st.simulate, *setting("attention", loss, TOKENS), engine=TENSORS)
            every[TENSORS, loss] = Experiment(call, SIZES, 16 * scale, TENSORS)
        align, fit = partial(st.simulation.align, PROBLEM, STEPS), partial(st.simulate, *FINITE)
        return every | {
            "cosine": Experiment(align, DIMENSIONS, 400 * scale),
            "readout": Experiment(fit, DIMENSIONS, 40 * scale),
        }

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        for loss, name in itertools.product(LOSSES, LOADS):
            for quantity in DRAWN:
                drawn = {"panel": _panel(quantity, loss), "curve": name}
                known = run.theory["line", loss, name]
                yield from line(_line(run.scale), known, quantity, **drawn)
        for loss in LOSSES:
            drawn = {"panel": _panel("test_error", loss), "curve": BAYES}
            yield from line(LOADS["pooled"], run.theory["bayes"], "test_error", **drawn)
        for place, quantity in itertools.product(PLACES, CLAIMS):
            yield self._compared(run, place, run.simulated[place], quantity, CLAIMS[quantity])
        for loss, quantity in itertools.product(LOSSES, CLAIMS):
            yield from self._tokens(run, loss, quantity)
        for quantity, key in CONVERGING.items():
            yield from self._sizes(
                predicted(run.theory[key], quantity), run.simulated[key], quantity
            )

    def _compared(
        self, run: Run, place: Any, some: Trials, quantity: str, claim: str
    ) -> dict[str, Any]:
        """Return the row of a quantity of a model at a load."""
        loss, name, load = place
        known = run.theory["loads", loss, name][LOADS[name].index(load)]
        return row(
            predicted(known, quantity),
            measured(quantity, some, samples=_samples(quantity, load)),
            claim=claim,
            panel=_panel(quantity, loss) if quantity in DRAWN else "",
            curve=name,
            x=load,
            quantity=quantity,
            where=f"{loss}, α₁ = {load:g}, {some.experiment.where}",
            key=load == 2.0,
        )

    def _tokens(self, run: Run, loss: str, quantity: str) -> Iterator[dict[str, Any]]:
        """Compare real tokens with the theory, and with the reduced engine at the same d."""
        place, tokens = (loss, "attention", TOKENS), run.simulated[TENSORS, loss]
        yield self._compared(run, place, tokens, quantity, "feature-law")
        both = (
            means(quantity, some, samples=_samples(quantity, TOKENS))
            for some in (run.simulated[place], tokens)
        )
        for sampled, found in zip(*both, strict=True):
            where = f"{loss}, α₁ = {TOKENS:g}, {where_of([found.dimension])}, simulated features"
            given = {"curve": "attention", "quantity": quantity, "where": where}
            yield row(sampled, found, claim="feature-law", **given)

    def _sizes(self, limit: Number, some: Trials, quantity: str) -> Iterator[dict[str, Any]]:
        """Compare the extrapolation of many dimensions with the limit, and draw the differences."""
        found = means(quantity, some)
        where = some.experiment.where
        given = {"claim": "finite-size", "curve": "attention", "quantity": quantity, "where": where}
        yield row(limit, to_infinity(found), key=True, **given)
        place: dict[str, Any] = {"panel": "" if quantity == "training_loss" else _gap(quantity)}
        for x in (0.0, 1 / DIMENSIONS[0]):
            yield row(0.0, x=x, curve=ZERO, **place)
        for x, one in [(0.0, to_infinity(found)), *((1 / one.dimension, one) for one in found)]:
            difference = one - Number(limit.value)
            yield row(None, difference, curve="attention", x=x, **place)


def _samples(quantity: str, load: float) -> float:
    """Return the load for a share of training samples, which is known to one of them."""
    return load if quantity == "training_error" else 0.0
