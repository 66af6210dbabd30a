"""Joint training: gradient descent on query, readout and bias, and its early stopping."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from matplotlib.axes import Axes

from sparsetoken import theory
from sparsetoken.experiments.core import references as known_errors
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.descents import course_row, follow_trials
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import DIFFERENCE
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.core.rows import THEORY, Row, Rows, difference
from sparsetoken.experiments.core.rules import against_simulation, compare, fraction_true, placed
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import GREEN, PURPLE, VERMILION
from sparsetoken.model.descent import Descent
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.simulation.seeds import seed_of

ALPHA = 2.0
"""n/d of all samples."""
ETA_W = 1.0
"""Step size of readout and bias."""
RATIOS, STARTS = (0.25, 1.0, 4.0), (0.0, 0.3)
"""eta_q / eta_w, and norms of query and readout before the first step, in random directions."""
QUANTITIES = ("test_error", "training_loss", "cosine")
DESCENT, STOPPING = "joint-descent", "early-stopping"
CLEAR = 1e-3
"""A rise of the predicted test error after its minimum that counts as one."""
COLOURS = dict(zip(RATIOS, (GREEN, PURPLE, VERMILION), strict=True))
LINES = dict(zip(STARTS, (("-", "o", "zero"), ("--", "s", "random")), strict=True))

# Steps at which the simulation is measured, its dimension and trials, and replicas.
SIZES = profiles(
    steps=Size((1, 2, 4, 6, 12, 18), (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 36, 48)),
    dimension=Size(400, 800),
    trials=Size(12, 16),
    replicas=Size(4, 16),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work; the simulation of each descent has independent data."""
    steps = TwoSteps(ALPHA / 2, eta_q=25.0)  # with half of the samples, as the readout
    readout = Readout(alpha1=ALPHA / 2)
    yield piece(known_errors.predict_references, PROBLEM, steps, readout, load=ALPHA, cost=0.6)
    last, replicas = sizes.steps[-1], sizes.replicas
    for i, case in enumerate(itertools.product(RATIOS, STARTS)):
        yield piece(follow, *case, last, replicas, cost=replicas * (last / 24) ** 2 / 2)
        cost = sizes.trials * (0.05 + last * (sizes.dimension / 1600) ** 2 * 0.5)
        own = sizes.dimension, sizes.trials, seed_of("joint-training", i, seed)
        yield piece(train, *case, sizes.steps, *own, cost=cost)


def descent_of(ratio: float, start: float, steps: int) -> Descent:
    """Return the descent with a ratio of step sizes, from weights of some norm."""
    rates = {"q": ratio * ETA_W, "w": ETA_W}
    return Descent(alpha=ALPHA, steps=steps, rates=rates, rate_c=ETA_W, start=start)


def follow(ratio: float, start: float, steps: int, replicas: int) -> Iterator[Row]:
    """Predict the course of a descent."""
    path = theory.descend(PROBLEM, descent_of(ratio, start, steps), replicas=replicas)
    for step in range(len(path)):
        place = {"ratio": ratio, "start": start, "step": step}
        yield from (course_row(path, name, step, **place) for name in QUANTITIES)


def train(
    ratio: float,
    start: float,
    steps: tuple[int, ...],
    dimension: int,
    trials: int,
    seed: int,
) -> Iterator[Row]:
    """Descend in all trials; besides the quantities, their changes to the last step.

    These are the rise of the test error and the fall of the training loss, in the same trial.
    """
    descent = descent_of(ratio, start, steps[-1])
    sizes: dict[str, Any] = {"dimension": dimension, "trials": trials}
    mean = follow_trials(PROBLEM, descent, steps, **sizes, seed=seed)
    for step in steps:
        place = {"ratio": ratio, "start": start, "step": step}
        yield from (mean(name, step, **place) for name in QUANTITIES)
        yield mean("test_error", -1, step, **place).but(quantity="rise")
        yield mean("training_loss", step, -1, **place).but(quantity="fall")


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare at each measured step, and where the test error rises again."""
    for row in rows.where("simulated"):
        if row.quantity in QUANTITIES:
            end = row["step"] == sizes.steps[-1] and row["ratio"] == 1
            key = end and row.quantity == "test_error"
            yield compare(DESCENT, rows.where(THEORY), row, *_place(row), key=key)
    for best, last, near in stops(rows):
        for row in near.where(quantity="rise") if rises(best, last) else ():
            # A difference of two test errors is off at finite d by as much as the larger one.
            options = {"shift": DIFFERENCE, "size": last.value, **placed(row, *_place(row))}
            rise = difference(last, at(rows, row, "test_error"))
            found = row.but(quantity="test_error, last − stop")
            yield against_simulation(STOPPING, rise, found, **options)
    fast = [stop for stop in stops(rows) if stop[0]["ratio"] >= 1]
    known, where = [row for *pair, _ in fast for row in pair], f"{len(fast)} descents"
    true = [rises(best, last) and best["step"] > 0 for best, last, _ in fast]
    name = "test error rises again"
    yield fraction_true(STOPPING, name, true, known, where, curve="theory", key=True)
    falls = [near.one(quantity="fall") for *_, near in fast]
    true = [fall.value > 3 * fall.error for fall in falls]
    name, curve = "training loss still falls", "real tokens"
    yield fraction_true(STOPPING, name, true, falls, where, curve=curve)


def at(rows: Rows, row: Row, quantity: str) -> Row:
    """Return the prediction of a quantity after the same step."""
    return rows.where(THEORY).beside(row.but(quantity=quantity))


def stops(rows: Rows) -> list[tuple[Row, Row, Rows]]:
    """Return the predicted test error of each descent where it is least and at its end.

    The third is all that was measured at the step nearest to where it is least.
    """
    points = []
    for (ratio, start), course in rows.where(THEORY, "test_error").by("ratio", "start"):
        best = min(course, key=lambda row: row.value)
        simulated = rows.where("simulated", ratio=ratio, start=start)
        near = min(simulated.distinct("step"), key=lambda step: abs(step - best["step"]))
        points.append((best, course[-1], simulated.where(step=near)))
    return points


def rises(best: Row, last: Row) -> bool:
    """Whether the predicted test error rises again."""
    return last.value - best.value > CLEAR


def _place(row: Row) -> tuple[str, str, str]:
    return "η_q/η_w = {ratio:g}", f"{start_of(row)}, step {{step}}, d = {{dimension}}", "step"


def start_of(row: Row) -> str:
    """Return where a descent starts, for readers."""
    return "from random weights" if row["start"] else "from zero"


def draw(rows: Rows) -> Plot:
    """Draw the three quantities over the steps."""
    last = max(rows.where(THEORY).distinct("step"))
    levels = Rows(row.but(step=step) for row in rows.where(load=ALPHA) for step in (0, last))
    ticks = (0.02, 0.03, 0.05, 0.1, 0.2, 0.5)
    known = known_errors.reference_curves(levels)
    panels = [
        _panel(rows, "test_error", f"test error, n/d = {ALPHA:g}", ticks, known),
        _panel(rows, "training_loss", "training loss"),
        _panel(rows, "cosine", "cosine of the query"),
    ]
    return curves(panels, 11.0, 4.4, columns=5)


def _panel(
    rows: Rows, name: str, title: str, ticks: Sequence[float] = (), known: Sequence[Curve] = ()
) -> Panel:
    lines = list(known)
    for (ratio, start), course in rows.where(THEORY, name).by("ratio", "start"):
        colour, (line, marker, label) = COLOURS[ratio], LINES[start]
        far = rows.where("simulated", name, ratio=ratio, start=start)
        label = f"$\\eta_q/\\eta_w$ = {ratio:g}, {label}"
        lines.append(Curve(label, colour, course + far, line, marker))
    return Panel("step", Axis("steps"), Axis("", ticks), lines, title, _whole)


def _whole(axes: Axes) -> None:
    axes.locator_params(axis="x", integer=True)


EXPERIMENT = Experiment("joint-training", SIZES, work, judge, {"joint_training": draw}, version=4)
