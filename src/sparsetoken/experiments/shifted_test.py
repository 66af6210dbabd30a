"""Distribution shift: a classifier trained on one problem and tested on another."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

from matplotlib.figure import Figure

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison, Comparisons
from sparsetoken.experiments.core.experiment import Experiment, Piece, Sizes, piece, profiles
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.core.rows import THEORY, Rows
from sparsetoken.experiments.core.rules import against_simulation
from sparsetoken.figures.curves import Axis, Curve, Curves, Panel
from sparsetoken.figures.palette import COLOURS, LIGHT_GREY
from sparsetoken.models import Attention, Pooled
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Query, Readout

READOUT = Readout("logistic", ridge=1e-2, alpha1=4.0)
MODELS = {"attention": Attention(Query(0.9, 1.0)), "pooled": Pooled()}
LETTERS = {"length": "L", "positive_rate": "π", "strength": "θ"}

SIZES = profiles(
    quick=dict(
        dimension=400,
        trials=8,
        shifts={
            "length": (5, 10, 20, 40, 80),
            "positive_rate": (0.1, 0.5, 0.9),
            "strength": (2.0, 3.5, 6.5, 8.0),
        },
    ),
    paper=dict(
        dimension=1000,
        trials=32,
        shifts={
            "length": (5, 7, 10, 14, 20, 28, 40, 57, 80),
            "positive_rate": (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95),
            "strength": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0),
        },
    ),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan to predict at the values that are simulated, and at one between each two."""
    size = (sizes.dimension / 400) ** 3
    for model, (shift, values) in itertools.product(MODELS, sizes.shifts.items()):
        # One seed for a model: the same trained classifiers meet all test data.
        trials = {"trials": sizes.trials, "seed": seed_of("shifted-test", model, seed)}
        middle = [(a + b) / 2 for a, b in itertools.pairwise(values)]
        if shift == "length":
            middle = [round(value) for value in middle]
        for to in sorted({*values, *middle}):
            options: dict[str, Any] = {
                "test_problem": dataclasses.replace(PROBLEM, **{shift: to}),
                "rows": ("test_error",),
                "at": {"model": model, "shift": shift, "to": float(to)},
            }
            given = (PROBLEM, MODELS[model], READOUT)
            yield piece(theory.predict, *given, tolerance=1e-3, cost=0.08, **options)
            if to in values:
                tokens = to if shift == "length" else PROBLEM.length
                cost = sizes.trials * (0.025 * size + 0.001 * tokens)
                options |= {"dimension": sizes.dimension, "cost": cost, **trials}
                yield piece(simulation.simulate, *given, **options)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare at each law of the test data."""
    for row in rows.where("simulated"):
        shift, to = row["shift"], row["to"]
        yield against_simulation(
            "shifted-test-law",
            rows.where(THEORY).beside(row, "model", "shift", "to"),
            row,
            curve=row["model"],
            where=f"tested at {LETTERS[shift]}′ = {to:g}, d = {row.dimension}",
            x=to,
            group=shift,
            key=row["model"] == "attention" and to == sizes.shifts[shift][-1],
        )


def words(sizes: Sizes, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the values for the page: measured rows along a change, and the largest |z|."""

    def measured(model: str, shift: str) -> list[Any]:
        return [row for _, row in rows.where("simulated", model=model, shift=shift).along("to")]

    return {
        "lengths": [measured(model, "length") for model in MODELS],
        "rates": measured("attention", "positive_rate"),
    }


def _panel(shift: str, label: str, **x: Any) -> Panel:
    curves = [Curve(name, COLOURS[name], {"model": name, "shift": shift}) for name in MODELS]
    y = Axis("test error" * (shift == "length"), low=0.0)
    return Panel("to", Axis(label, **x), y, curves)


LINES = Curves(
    [
        _panel("length", "L′, tokens of a test sample", ticks=(5, 10, 20, 40, 80)),
        _panel("positive_rate", "π′, rate of positives at test"),
        _panel("strength", "θ′, strength at test"),
    ],
    width=9.6,
    height=3.7,
)


def draw(rows: Rows) -> Figure:
    """Draw a panel for each change; a grey line marks the problem trained on."""
    figure = LINES(rows)
    for axes, shift in zip(figure.axes, LETTERS, strict=True):
        axes.axvline(getattr(PROBLEM, shift), color=LIGHT_GREY, lw=1.2, zorder=1)
    return figure


EXPERIMENT = Experiment("shifted-test", SIZES, work, judge, {"shifted_test": draw}, words)
