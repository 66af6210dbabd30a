"""When attention loses to mean pooling, and the effect of alignment on long sequences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import brentq

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, carried_to_infinity
from sparsetoken.experiments.core.rows import THEORY, Row, Rows, difference, predicted
from sparsetoken.experiments.core.rules import against_value, compare, fraction_true
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import COLOURS, SEQUENCE
from sparsetoken.model.models import Attention, Model, Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.results import Prediction
from sparsetoken.results.record import Numbers
from sparsetoken.simulation.seeds import seed_of

LENGTH = 10
SHARPNESS = 1.0
TOLERANCE = 1e-3
ABUNDANT = (200.0, 800.0)
"""Values of alpha1 from which test errors are extrapolated to infinite data, at any d."""
SMALL = 10
"""The dimension there."""
LOST, CROSSED = "misaligned-attention-loses", "crossing-at-finite-load"
FALLS = "residual-error-falls-with-alignment"

SIZES = profiles(
    dimension=Size(300, 1000),
    trials=Size(12, 20),
    alphas=Size((2.0, 8.0), (2.0, 4.0, 8.0, 16.0)),
    # Cosines that are simulated, and those whose error is carried to infinite data.
    cosines=Size(
        (0.0, 0.1, 0.35, 0.6), (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)
    ),
    residual=Size((0.0, 0.35, 1.0), (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)),
    lengths=Size((4, 10, 30, 100), (4, 10, 30, 100, 300)),
    abundant_trials=Size(10, 20),
    curve_points=Size(17, 41),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work; alpha1 is inf for the limit of infinite data."""
    lengths = sorted({LENGTH, *sizes.lengths})
    grid = np.linspace(0, 1, sizes.curve_points).round(6).tolist()
    cosines = np.array(sorted({*grid, *sizes.cosines, *sizes.residual}))
    places = [(LENGTH, a) for a in sizes.alphas] + [(length, math.inf) for length in lengths]
    for length, alpha1 in places:
        cost = 0.022 * sizes.curve_points * (1 + length / 40)
        for model, s in (("attention", cosines), ("pooled", 0.0)):
            own = {"tolerance": TOLERANCE / 2, "cost": cost if model == "attention" else 0.05}
            yield _piece(theory.predict, model, s, length, alpha1, **own)
        yield piece(find_crossing, length, alpha1, cost=0.5 * cost)
    queries = [("attention", s) for s in sizes.cosines]
    for i, alpha1 in enumerate(sizes.alphas):
        # Attention and pooling are compared at the same load: they share the seed.
        options = {"dimension": sizes.dimension, "trials": sizes.trials}
        options |= {"seed": seed_of("misalignment", i, seed)}
        cost = sizes.trials * (0.04 + 0.02 * (sizes.dimension / 600) ** 3 * alpha1)
        for model, s in (*queries, ("pooled", 0.0)):
            yield _piece(simulation.simulate, model, s, LENGTH, alpha1, cost=cost, **options)
    queries = [("pooled", 0.0), *(("attention", s) for s in sizes.residual)]
    for (i, length), (j, alpha1) in itertools.product(enumerate(lengths), enumerate(ABUNDANT)):
        options = {"dimension": SMALL, "trials": sizes.abundant_trials}
        options |= {"seed": seed_of("misalignment", "abundant", i, j, seed)}
        cost = sizes.abundant_trials * alpha1 * SMALL * (20 + length) * 7e-8
        for model, s in queries:
            given = (simulation.simulate, model, s, length, alpha1)
            yield _piece(*given, series="abundant", cost=cost, **options)


def _piece(
    work: Any, model: str, cosine: Numbers, length: int, alpha1: float, **options: Any
) -> Piece:
    """Plan the test error of a model; the cosine of the pooled one, which has no query, is 0."""
    at: dict[str, Any] = {"model": model, "length": length, "alpha1": alpha1}
    at |= {} if np.ndim(cosine) else {"cosine": cosine}
    given = setting(model, length, alpha1, cosine)
    return piece(work, *given, rows=("test_error",), at=at, **options)


def setting(
    model: str, length: int, alpha1: float, cosine: Numbers
) -> tuple[SparseTokenProblem, Model, Readout]:
    """Return problem, model and readout; attention has a query of this cosine."""
    classifier = Attention(Query(cosine, SHARPNESS)) if model == "attention" else Pooled()
    return SparseTokenProblem(length, 1, 5.0, 0.5), classifier, Readout("square", 1e-5, alpha1)


def find_crossing(length: int, alpha1: float) -> Iterator[Row]:
    """Solve for the cosine at which both models have the same error; predict attention there.

    Equation: critical-cosine.
    """
    at = {"length": length, "alpha1": alpha1}

    def predict(model: str, s: float) -> Prediction:
        return theory.predict(*setting(model, length, alpha1, s), tolerance=TOLERANCE / 2)

    pooled = predict("pooled", 0.0)
    s = brentq(
        lambda s: float(predict("attention", s).test_error - pooled.test_error),
        *(0.0, 1.0),
        xtol=0.1 * TOLERANCE,
    )
    again = predict("attention", s)
    yield Row("crossing", "cosine", s, TOLERANCE, at, status=str(again.status.code))
    yield predicted(pooled, "test_error", "crossing", **at).but(quantity="pooled")
    yield predicted(again, "test_error", "crossing", **at).but(quantity="attention")


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare with infinite data, at each finite load, and by length."""
    yield from _crossing(LOST, rows, math.inf)
    for alpha1 in sizes.alphas:
        yield from _crossing(CROSSED, rows, alpha1)
        simulated = rows.where("simulated", alpha1=alpha1)
        yield _winners(CROSSED, rows, alpha1, simulated, load(alpha1))
        for row in simulated:
            where = f"{_query(row)}α₁ = {{alpha1:g}}, d = {{dimension}}"
            yield compare(CROSSED, rows.where(THEORY), row, "{model}", where, "cosine")
    yield from (_falls(rows, length) for length in sizes.lengths)
    limits = carried(rows)
    loads = " and ".join(f"{alpha1:g}" for alpha1 in ABUNDANT)
    for row in limits:
        claim = LOST if row["length"] == LENGTH else FALLS
        place = (
            "{model}",
            f"L = {{length}}, {_query(row)}α₁ = {loads} extrapolated to ∞",
            "cosine",
        )
        # With infinite data the theory is exact at every dimension.
        yield compare(claim, rows.where(THEORY), row, *place, shift=NO_SHIFT)
    yield _winners(LOST, rows, math.inf, limits.where(length=LENGTH), "extrapolated to α₁ = ∞")


def carried(rows: Rows) -> Rows:
    """Return the measured test errors extrapolated to infinite data."""
    places = rows.where("abundant").by("length", "model", "cosine")
    limits = [carried_to_infinity(some, "alpha1") for _, some in places]
    return Rows(row.but(alpha1=math.inf) for row in limits)


def load(alpha1: float) -> str:
    """Return a load for readers."""
    return "α₁ = ∞" if math.isinf(alpha1) else f"α₁ = {alpha1:g}"


def _query(row: Row) -> str:
    return "s = {cosine:g}, " if row["model"] == "attention" else ""


def crossing(rows: Rows, quantity: str, alpha1: float, length: int = LENGTH) -> Row:
    """Return the critical cosine, or the predicted error of pooled or attention there."""
    return rows.one("crossing", quantity, length=length, alpha1=alpha1)


def _winners(claim: str, rows: Rows, alpha1: float, simulated: Rows, where: str) -> Comparison:
    """Judge which model has the smaller measured error."""
    critical, pooled = crossing(rows, "cosine", alpha1), simulated.one(model="pooled")
    gaps = [difference(row, pooled) for row in simulated.where(model="attention")]
    right = [
        abs(gap.value) > 3 * gap.error and (gap.value > 0) == (gap["cosine"] < critical.value)
        for gap in gaps
    ]
    name = "fraction of measured cosines where the predicted model wins by 3 standard errors"
    where, used = f"{len(right)} cosines, {where}", (critical, *simulated)
    return fraction_true(claim, name, right, used, where, curve="attention", key=True)


def line(rows: Rows, alpha1: float, length: int = LENGTH) -> Rows:
    """Return the predicted errors of attention by rising cosine."""
    known = rows.where(THEORY, length=length, alpha1=alpha1, model="attention")
    return known.along("cosine")


def _crossing(claim: str, rows: Rows, alpha1: float) -> Iterator[Comparison]:
    """Compare both errors at the crossing, and judge who wins on either side of it."""
    critical, pooled, again = (
        crossing(rows, quantity, alpha1) for quantity in ("cosine", "pooled", "attention")
    )
    where = f"the crossing, s = {critical.value:.4f}, {load(alpha1)}"
    given: dict[str, Any] = {"curve": "attention", "x": critical.value, "expected": pooled.value}
    # The slope of the error in s is below 1.5 here: what the tolerance in s allows.
    given |= {"allowance": 1.5 * TOLERANCE, "error": again.error}
    yield against_value(claim, "test_error", again.value, [critical, again], where, **given)
    known, s = line(rows, alpha1), critical.value
    # On the crossing itself the tolerance decides, not the order.
    off = Rows(row for row in known if abs(row["cosine"] - s) > 2 * TOLERANCE)
    wins = [(row.value > pooled.value) == (row["cosine"] < s) for row in off]
    name, where = "fraction of cosines where the predicted model wins", f"{len(off)} cosines, "
    yield fraction_true(claim, name, wins, off, where + load(alpha1), curve="attention", key=True)


def _falls(rows: Rows, length: int) -> Comparison:
    curve = line(rows, math.inf, length)
    steps = [b.value < a.value for a, b in itertools.pairwise(curve)]
    ends = f"{len(steps)} steps from s = {curve[0]['cosine']:g} to {curve[-1]['cosine']:g}"
    name, at = "fraction of steps in the cosine that lower the error", f"L = {length}"
    return fraction_true(FALLS, name, steps, curve, f"{at}, {ends}", curve=at, key=True)


def draw(rows: Rows) -> Plot:
    """Draw infinite data, the largest and the smallest finite alpha1, and the lengths."""
    alphas = sorted(rows.where("simulated").distinct("alpha1"))
    panels = [_models(rows, alpha1) for alpha1 in (math.inf, alphas[-1], alphas[0])]
    marks = {"crossing": {"marker": "X", "color": "black", "ls": "none", "ms": 7}}
    return curves([*panels, _lengths(rows)], 11.4, 3.9, marks=marks)


def _models(rows: Rows, alpha1: float) -> Panel:
    known, infinite = line(rows, alpha1), math.isinf(alpha1)
    pooled = rows.one(THEORY, length=LENGTH, alpha1=alpha1, model="pooled")
    simulated = rows.where("simulated", alpha1=alpha1)
    level = [pooled.but(cosine=row["cosine"]) for row in known]
    lines = [
        Curve("attention", COLOURS["attention"], [*known, *simulated.where(model="attention")]),
        Curve("pooled", COLOURS["pooled"], [*level, *simulated.where(model="pooled")]),
    ]
    x, y = Axis("cosine s of the query"), Axis("test error" * infinite, low=0.0, high=0.5)
    title = "infinite data" if infinite else load(alpha1)
    return Panel("cosine", x, y, lines, title, lambda axes: _mark(axes, rows, alpha1, LENGTH))


def _mark(axes: Axes, rows: Rows, alpha1: float, length: int) -> None:
    x, y = (crossing(rows, quantity, alpha1, length) for quantity in ("cosine", "pooled"))
    if x.converged:
        axes.plot([x.value], [y.value], "X", color="black", mec="white", ms=8.5, zorder=4)


def _lengths(rows: Rows) -> Panel:
    lengths = sorted(rows.where(THEORY).distinct("length"))
    drawn = [
        Curve(f"L = {length}", colour, line(rows, math.inf, length))
        for length, colour in zip(lengths, SEQUENCE, strict=False)
    ]

    def crossed(axes: Axes) -> None:
        for length in lengths:
            _mark(axes, rows, math.inf, length)

    x, y = Axis("cosine s of the query"), Axis("", ticks=(0.01, 0.02, 0.05, 0.1, 0.2, 0.5))
    return Panel("cosine", x, y, drawn, "infinite data, by length", crossed)


EXPERIMENT = Experiment("misalignment", SIZES, work, judge, {"misalignment": draw})
