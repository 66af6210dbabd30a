"""Convergence of simulations to the theory as the dimension grows."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.figure import Figure

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison, Comparisons
from sparsetoken.experiments.core.experiment import Experiment, Piece, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, SHIFTS, carried_to_infinity
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.core.rows import REDUCED, THEORY, Row, Rows
from sparsetoken.experiments.core.rules import against_simulation
from sparsetoken.figures import style
from sparsetoken.figures.palette import LIGHT_GREY, PALE
from sparsetoken.models import Attention
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps

STEPS = TwoSteps(alpha0=1.0, eta_q=7.0, loss="square")
READOUT = Readout("square", ridge=1e-2, alpha1=2.0)
QUANTITIES = ("cosine", "test_error", "training_loss")

SIZES = profiles(
    # Trials are those at d = 1000, in inverse proportion to d elsewhere.
    quick=dict(alignment_trials=800, trials=40, dimensions=(125, 250, 500, 1000)),
    paper=dict(alignment_trials=20000, trials=400, dimensions=(125, 250, 500, 1000, 2000)),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    model, (cosine, *errors) = Attention(STEPS), QUANTITIES
    yield piece(theory.align, PROBLEM, STEPS, rows=[cosine], cost=0.05)
    yield piece(theory.predict, PROBLEM, model, READOUT, rows=errors, cost=0.05)
    for i, d in enumerate(sizes.dimensions):
        many, few = (max(2, n * 1000 // d) for n in (sizes.alignment_trials, sizes.trials))
        given: dict[str, Any] = {"dimension": d, "engine": REDUCED, "trials": many}
        given |= {"seed": seed_of("finite-size", "query", i, seed), "cost": many * d * 1e-6}
        yield piece(simulation.align, PROBLEM, STEPS, rows=[cosine], **given)
        given |= {"trials": few, "cost": few * (0.01 + 0.2 * (d / 1000) ** 2)}
        given |= {"seed": seed_of("finite-size", "readout", i, seed)}
        yield piece(simulation.simulate, PROBLEM, model, READOUT, rows=errors, **given)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare each quantity, extrapolated to infinite dimension, with the theory."""
    where = f"d = {', '.join(map(str, sizes.dimensions))}, extrapolated to infinity"
    options: dict[str, Any] = {"curve": "attention", "where": where, "shift": NO_SHIFT}
    for name in QUANTITIES:
        found = carried_to_infinity(rows.where("simulated", name))
        yield against_simulation("finite-size", rows.one(THEORY, name), found, **options, key=True)


def shrinkage(rows: Rows, quantity: str, power: float) -> Row:
    """Fit measured - theory = c / d^power by weighted least squares.

    The row of c has the power and the misfit among its coordinates: chi-square, with one degree
    of freedom less than there are dimensions.
    """
    limit = rows.one(THEORY, quantity)
    fitted = [
        (row.dimension**-power, row.value - limit.value, math.hypot(row.error, limit.error))
        for row in rows.where("simulated", quantity)
    ]
    information = math.fsum((u / e) ** 2 for u, _, e in fitted)
    c = math.fsum(u * difference / e**2 for u, difference, e in fitted) / information
    misfit = math.fsum(((difference - c * u) / e) ** 2 for u, difference, e in fitted)
    return Row("fit", quantity, c, information**-0.5, {"power": power, "misfit": misfit})


def words(sizes: Sizes, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the values for the page: for each quantity the fits of c/d and of c/√d."""
    return {"fits": [[shrinkage(rows, name, p) for p in (1.0, 0.5)] for name in QUANTITIES]}


def draw(rows: Rows) -> Figure:
    """Draw measured - theory against d, the fits c/d and c/sqrt(d), and the c of other settings."""
    figure, panels = style.new_figure(9.6, 3.6, 3)
    for axes, name in zip(panels, QUANTITIES, strict=True):
        limit, used = rows.one(THEORY, name).value, SHIFTS[name]
        found = rows.where("simulated", name).along("dimension")
        d = np.geomspace(found[0][0], found[-1][0], 100)
        low, high = ((used.mean + sign * 2 * used.deviation) * limit / d for sign in (-1, 1))
        axes.fill_between(d, low, high, color=PALE, lw=0, label="c of other settings")
        axes.axhline(0, color="black", lw=0.8)
        for power, line, label in ((1.0, "-", "c / d"), (0.5, "--", "c / √d")):
            law = shrinkage(rows, name, power).value / d**power
            axes.plot(d, law, line, color=LIGHT_GREY, lw=1.2, label=label)
        less = [(x, row.but(value=row.value - limit)) for x, row in found]
        look = {"fmt": "o", "color": style.COLOURS["attention"], "label": "measured − theory"}
        style.mean_points(axes, less, **look)
        style.log_ticks(axes, x=[x for x, _ in found])
        style.axis_text(axes, x="d", y="", title=name.replace("_", " "))
    style.joint_legend(figure, ncols=4)
    return figure


EXPERIMENT = Experiment("finite-size", SIZES, work, judge, {"finite_size": draw}, words)
