"""One network on five tasks, and what a finite number of samples costs."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetoken import theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.descents import course_row, follow_trials
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, SHIFTS, Limit, fit_power
from sparsetoken.experiments.core.rows import THEORY, Row, Rows, difference
from sparsetoken.experiments.core.rules import (
    against_simulation,
    against_value,
    compare,
    fraction_true,
)
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    PURPLE,
    SEQUENCE,
    SKY,
    VERMILION,
    WINE,
)
from sparsetoken.model import tasks
from sparsetoken.model.descent import Descent
from sparsetoken.model.networks import Architecture, Gated, Pooled, Softmax
from sparsetoken.model.task_law import Problem
from sparsetoken.model.training import stem_of
from sparsetoken.results import Course
from sparsetoken.simulation.seeds import seed_of


class Trained(NamedTuple):
    """A task, and how all networks are trained on it.

    Step sizes are those of what attention depends on, of readouts, and of further weights; overlaps
    at the start are those of the former.
    """

    task: Problem
    loss: str
    query: float
    readout: float
    further: float
    overlaps: dict[str, float]


LOCATION, NEEDLE, POSITION = "single location", "needle with a value", "position"
MEETING, MAJORITY = "meeting concepts", "majority"
TASKS = {
    LOCATION: Trained(tasks.single_location_regression(), "square", 1.5, 0.27, 0.3, {"place": 0.3}),
    NEEDLE: Trained(tasks.needle_with_value(), "logistic", 2.0, 0.8, 0.5, {}),
    POSITION: Trained(tasks.position(), "square", 1.2, 0.22, 0.45, {}),
    MEETING: Trained(tasks.meeting_concepts(), "logistic", 1.0, 0.3, 1.0, {}),
    MAJORITY: Trained(tasks.majority(), "logistic", 0.7, 0.5, 0.3, {"sign": 0.3}),
}
SOFTMAX = "softmax"
NETWORKS: dict[str, Architecture] = {
    SOFTMAX: Softmax(),
    "mean pooling": Pooled(),
    "gated": Gated(hidden=1),
}
QUERY_START, READOUT_START = 0.5, 0.3
"""Norms of what attention depends on, and of readouts, beside the signals at the start."""
POPULATION = math.inf
DESCENT, SAMPLES, FINDING = "task-descent", "alignment-samples", "finding-costs-more"
ASYMPTOTIC = 4.0
"""Samples per dimension from which the excess is fitted by a power."""
NEXT_ORDER = 0.12
"""Of the exponent: C d/n (1 + c d/n) with |c| <= 1 falls by so much faster at most, from n/d = 4
to 16."""
PLACE, VALUE = "overlap_q_place", "overlap_w_value"

SIZES = profiles(
    steps=Size(8, 12),
    tasks=tuple(TASKS),
    loads=Size((2.0,), (0.5, 1.0, 2.0)),
    others=Size((), ("mean pooling", "gated")),
    other_loads=(1.0,),
    more=Size((4.0, 8.0, 16.0), (4.0, 8.0, 16.0, 32.0)),
    replicas=Size(6, 32),
    tolerance=Size(2e-2, 2e-3),
    tensors=Size((300, 8), (800, 24)),
    far=Size((400, 8), (800, 24)),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work; each setting has independent data."""
    places = [(task, SOFTMAX, alpha, "tensors") for task in sizes.tasks for alpha in sizes.loads]
    names = [(task, name) for task in sizes.tasks for name in sizes.others]
    places += [(*pair, alpha, "tensors") for pair in names for alpha in sizes.other_loads]
    places += [(LOCATION, SOFTMAX, alpha, "far") for alpha in (*sizes.more, POPULATION)]
    for i, place in enumerate(places):
        dimension, trials = getattr(sizes, place[-1])
        given: dict[str, Any] = {n: getattr(sizes, n) for n in ("steps", "replicas", "tolerance")}
        given |= {"dimension": dimension, "trials": trials, "seed": seed_of("tasks", i, seed)}
        samples = place[2] * dimension / 800 if place[2] < POPULATION else 0.0
        yield piece(follow, *place[:-1], **given, cost=3.0 + trials * samples * dimension / 800)


def descent_of(task: str, network: str, alpha: float, steps: int) -> Descent:
    """Return the descent of a network on a task."""
    trained, built = TASKS[task], NETWORKS[network]
    stems = {stem_of(column) for column in built.column_names(outputs=1)}
    readouts = {stem: stem == "w" for stem in stems}
    return Descent(
        built,
        alpha=alpha,
        steps=steps,
        rates={stem: trained.readout if w else trained.query for stem, w in readouts.items()},
        rate_c=trained.further,
        start={stem: READOUT_START if w else QUERY_START for stem, w in readouts.items()},
        start_overlaps={stem: {} if w else trained.overlaps for stem, w in readouts.items()},
        loss=trained.loss,
    )


def follow(task: str, network: str, alpha: float, *, steps: int, **sizes: Any) -> Iterator[Row]:
    """Predict the course on a task; measure its end in trials, unless samples are unlimited."""
    problem, descent = TASKS[task].task, descent_of(task, network, alpha, steps)
    accuracy = {name: sizes.pop(name) for name in ("replicas", "tolerance")}
    course = theory.descend(problem, descent, **accuracy)
    quantities = ("test_error", "training_loss", *largest_overlaps(course))
    at: dict[str, Any] = {"task": task, "network": network, "alpha": alpha}
    for step in range(steps + 1):
        yield from (course_row(course, quantity, step, **at, step=step) for quantity in quantities)
    if alpha < POPULATION:
        mean = follow_trials(problem, descent, [steps], **sizes)
        yield from (mean(quantity, steps, **at, step=steps) for quantity in quantities)


def largest_overlaps(course: Course) -> list[str]:
    """Return for each column the name of the overlap that is largest in the end."""
    names = [name for name in course.weights.columns() if name.startswith("overlap_")]
    overlaps = np.abs(course.weights.overlaps[-1])
    own = np.reshape(names, overlaps.shape)
    return [str(some[best]) for some, best in zip(own, overlaps.argmax(axis=1), strict=True)]


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare with simulations, and what finite samples cost with its power and its order."""
    ends = rows.where(step=sizes.steps)
    for row in ends.where("simulated"):
        place = ("{task}", "{network}, n/d = {alpha:g}, step {step}, d = {dimension}", "alpha")
        key = row.quantity == "test_error" and row["network"] == SOFTMAX
        # The finite-size effect of overlaps was not measured: all of it counts against the theory.
        shift = SHIFTS.get(row.quantity, NO_SHIFT)
        yield compare(DESCENT, rows.where(THEORY), row, *place, shift=shift, key=key)
    yield from _power(ends, f"step {sizes.steps}")
    measured = [row["alpha"] for row in excesses(ends, "simulated", least=0.0)]
    limits = [short_by(ends, alpha) for alpha in measured]
    ahead = [limit.value > 0 for limit in limits]
    name = "query lacks the larger share"
    yield fraction_true(FINDING, name, ahead, limits, f"step {sizes.steps}", curve="theory")
    for alpha, limit in zip(measured, limits, strict=True):
        row = short_by(ends, alpha, "simulated")
        where, key = f"n/d = {alpha:g}, d = {row.dimension}", alpha == ASYMPTOTIC
        options: dict[str, Any] = {"shift": NO_SHIFT, "where": where, "x": alpha, "key": key}
        yield against_simulation(FINDING, limit, row, **options)


def _power(ends: Rows, where: str) -> Iterator[Comparison]:
    """Compare the power of n/d with that of the first order, and the measured one with it."""
    far, measured = excesses(ends, THEORY), excesses(ends, "simulated")
    known, found = exponent(far), exponent(measured)
    loads = f"n/d = {far[0]['alpha']:g} to {far[-1]['alpha']:g}, {where}"
    place: dict[str, Any] = {"curve": LOCATION, "where": loads}
    options: dict[str, Any] = {"expected": -1.0, "allowance": NEXT_ORDER, "error": known.error}
    yield against_value(SAMPLES, "exponent", known.value, far, **options, **place)
    theory, row = (
        rows[0].but(
            quantity="exponent",
            value=fit.value,
            error=fit.error,
            values=(),
            behind=rows.trial_sets,
        )
        for rows, fit in ((far, known), (measured, found))
    )
    yield against_simulation(SAMPLES, theory, row, shift=NO_SHIFT, **place, key=True)


def excesses(ends: Rows, series: str = THEORY, least: float = ASYMPTOTIC) -> Rows:
    """Return test errors above that of unlimited samples, from a number of samples on."""
    errors = ends.where(quantity="test_error", task=LOCATION, network=SOFTMAX)
    limit = errors.one(THEORY, alpha=POPULATION)
    kept = [row for row in errors.where(series) if least <= row["alpha"] < POPULATION]
    return Rows(difference(row, limit) for row in kept).along("alpha")


def exponent(rows: Sequence[Row]) -> Limit:
    """Return the power of n/d of an excess, where trials found one."""
    found = ((row["alpha"], row.value, row.error) for row in rows if row.value > 0)
    return fit_power(*zip(*found, strict=True))


def lacking(ends: Rows, overlap: str, alpha: float, series: str = THEORY) -> Row:
    """Return the share that an overlap lacks of that with unlimited samples."""
    own = ends.where(quantity=overlap, task=LOCATION, network=SOFTMAX)
    limit, row = own.one(THEORY, alpha=POPULATION).value, own.one(series, alpha=alpha)
    values = tuple(1 - value / limit for value in row.values)
    return row.but(value=1 - row.value / limit, error=row.error / limit, values=values)


def short_by(ends: Rows, alpha: float, series: str = THEORY) -> Row:
    """Return by how much the share that the query lacks exceeds that of the readout."""
    query, readout = (lacking(ends, overlap, alpha, series) for overlap in (PLACE, VALUE))
    row = difference(query, readout).but(quantity="share of query − readout")
    if series == THEORY:
        return row
    # Both are of the same trials.
    values = np.subtract(query.values, readout.values)
    error = float(values.std(ddof=1) / math.sqrt(len(values)))
    return row.but(error=error, values=tuple(values.tolist()))


LOOKS = dict(zip(TASKS, (BLUE, ORANGE, GREEN, PURPLE, VERMILION), strict=True))
SHOWN = 2.0
"""n/d of the courses of all tasks, and the smallest one of those of single locations."""


def draw(rows: Rows) -> Plot:
    """Draw the courses of all tasks, of the query by samples, and what finite samples cost."""
    ends = rows.where(step=max(rows.distinct("step")))
    own = rows.where(network=SOFTMAX)
    errors = own.where(quantity="test_error", alpha=SHOWN)
    courses = [Curve(task, LOOKS[task], some) for task, some in errors.by("task")]
    loads = sorted(alpha for alpha in own.distinct("alpha") if SHOWN <= alpha < POPULATION)
    looks = [*zip(loads, SEQUENCE, strict=False), (POPULATION, BLACK)]
    queries = [
        Curve(
            f"n/d = {alpha:g}" if alpha < POPULATION else "unlimited samples",
            colour,
            own.where(quantity=PLACE, alpha=alpha),
        )
        for alpha, colour in looks
    ]
    both = [
        (series, row)
        for series in (THEORY, "simulated")
        for row in excesses(ends, series, least=SHOWN)
    ]
    missing = [Curve("excess test error", GREY, [row for _, row in both])]
    missed = ("missing share, query", PLACE, WINE), ("missing share, readout", VALUE, SKY)
    for name, overlap, colour in missed:
        shares = [lacking(ends, overlap, row["alpha"], series) for series, row in both]
        missing.append(Curve(name, colour, shares))
    x, steps = Axis("n / d", (2, 4, 8, 16, 32)), Axis("steps")
    excess = Axis("excess error, or missing share of overlap", log=True)
    panels = [
        # Room for the legend above the curves.
        Panel("step", steps, Axis("test error", high=1.6), courses, f"softmax, n / d = {SHOWN:g}"),
        Panel("step", steps, Axis("overlap of query and place"), queries, LOCATION),
        Panel("alpha", x, excess, missing, LOCATION),
    ]
    return curves(panels, 13.0, 4.4, columns=6)


EXPERIMENT = Experiment("tasks", SIZES, work, judge, {"tasks": draw})
