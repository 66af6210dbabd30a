"""Capacity of the three models, where separable sets end, against cosine, strength and length."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from scipy.optimize import brentq

from sparsetoken.experiments.core import capacities
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, carried_to_infinity
from sparsetoken.experiments.core.rows import REDUCED, TENSORS, THEORY, Row, Rows, difference
from sparsetoken.experiments.core.rules import (
    against_simulation,
    against_value,
    compare,
    fraction_true,
)
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import COLOURS, GREY, LIGHT_GREY
from sparsetoken.model import presets
from sparsetoken.simulation.seeds import seed_of

MODELS = ("attention", "pooled", "vectorized")
LINE = 1e-3  # relative tolerance of the theory on a line
BASE = {"length": 4, "strength": 2.0, "cosine": 0.8}
"""The setting of `presets.capacity`: R = 1, pi = 1/2, k = 1."""
LETTERS = {"length": "L", "strength": "θ", "cosine": "s"}
PLACES: dict[str, tuple[dict[str, Any], tuple[str, ...]]] = {
    "base": ({}, MODELS),
    "turned away": ({"cosine": -0.6}, ("attention",)),
    "not aligned": ({"cosine": 0.0}, ("attention",)),
    "half aligned": ({"cosine": 0.5}, ("attention",)),
    "no signal": ({"strength": 0.0}, MODELS),
    "strong": ({"strength": 3.0}, MODELS),
    "very strong": ({"strength": 5.0}, ("attention", "vectorized")),
    "two tokens": ({"length": 2}, MODELS),
    "eight tokens": ({"length": 8}, ("attention", "pooled")),
}
"""The places that are measured: what differs from the base, and the models measured there."""
FEWER = {("very strong", "attention"): (32, 64)}
"""The numbers of features where sets of more would have too many samples."""

OVER_LENGTH, ORDER = "pooled-capacity-is-vectorized-over-length", "capacity-order"
NOT_ALWAYS, NO_SIGNAL = "capacity-order-not-always", "capacity-without-signal"
WIDTH, MEASURED = "transition-width", "capacity-measured"
TRANSITION = "transition"
"""The series of shares at the base, over a wide range of loads."""
ORDERED = [
    ((place, upper), (place, lower))
    for place in ("base", "strong", "two tokens", "eight tokens")
    for upper, lower in (("vectorized", "attention"), ("attention", "pooled"))
    if upper in PLACES[place][1]
]
"""Where the order is measured: the (place, model) with the larger capacity first."""
TURNED = (("base", "pooled"), ("turned away", "attention"))
STRONG = (("very strong", "attention"), ("very strong", "vectorized"))
"""The same where the order breaks."""

SIZES = profiles(
    features=Size((32, 128), (32, 64, 128, 256)),
    sets=Size(32, 120),
    points=Size(26, 81),
    # Numbers of features, d or L d for the vectorized model, and alpha1 over alpha*.
    wide_features=Size((40, 160), (60, 240)),
    wide_ratios=Size(
        (0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3),
        (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3),
    ),
    wide_sets=Size(50, 100),
    tensors=1.0,  # the ratio with real tensors, for attention at the larger number of features
    steps=(-1.2, -0.6, 0.0, 0.6, 1.2),  # loads are alpha* (1 + step / sqrt(features))
    samples=2000,  # of a training set; larger ones are left out
    lengths=(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    lines = {
        "cosine": np.linspace(-1, 1, sizes.points).tolist(),
        "strength": np.linspace(0, 5, sizes.points).tolist(),
        "length": list(sizes.lengths),
    }
    yield from (piece(predict_line, *line, cost=0.2 * len(line[1])) for line in lines.items())
    yield piece(find_crossings, cost=6.0)
    for place, (_, models) in PLACES.items():
        for model in models:
            yield piece(predict_place, place, model, cost=0.01)
            for m in FEWER.get((place, model), sizes.features):
                own = seed_of("capacity-curves", place, model, m, seed)
                cost = sizes.sets * 0.016 * (m / 128) ** 1.3
                for i, step in enumerate(sizes.steps):
                    its = seed_of("capacity-curves", "load", i, own)
                    load = (1 + step / math.sqrt(m), sizes.sets, its)
                    yield piece(count, place, model, m, *load, most=sizes.samples, cost=cost)
    for m in sizes.wide_features:
        cost = sizes.wide_sets * 0.012 * (m / 120) ** 2
        for model, (i, ratio) in itertools.product(MODELS, enumerate(sizes.wide_ratios)):
            load = (ratio, sizes.wide_sets, seed_of("capacity", model, m, i, seed))
            yield piece(count, "base", model, m, *load, TRANSITION, cost=cost)
    load = (sizes.tensors, sizes.wide_sets, seed_of("capacity", "tensors", seed))
    yield piece(count, "base", "attention", m, *load, TRANSITION, engine=TENSORS, cost=cost)


def capacity_of(model: str, tolerance: float = 1e-4, **changed: Any) -> Row:
    """Return the predicted capacity where these coordinates of the base are changed."""
    setting = presets.capacity(**changed)
    classifier = setting.models[MODELS.index(model)]
    return capacities.solved_capacity(setting.problem, classifier, tolerance)


def predict_line(panel: str, xs: Sequence[float]) -> list[Row]:
    """Predict the capacities along one coordinate."""
    return [
        capacity_of(model, LINE, **{panel: x}).but(series="line", panel=panel, x=x, model=model)
        for x in xs
        for model in MODELS
    ]


def find_crossings() -> list[Row]:
    """Find where attention equals pooled, and where it equals vectorized."""
    return [_crossing("cosine", "pooled", -0.5, 0.9), _crossing("strength", "vectorized", 3.0, 5.0)]


def _crossing(panel: str, other: str, low: float, high: float) -> Row:
    def gap(x: float) -> Row:
        return difference(*(capacity_of(name, LINE, **{panel: x}) for name in ("attention", other)))

    x, step = float(brentq(lambda x: gap(x).value, low, high, xtol=1e-4)), 0.02
    slope = (gap(x + step).value - gap(x - step).value) / (2 * step)
    return Row("crossing", panel, x, gap(x).error / abs(slope), {"other": other})


def predict_place(place: str, model: str) -> list[Row]:
    """Predict the capacity in a measured setting."""
    return [capacity_of(model, **PLACES[place][0]).but(place=place, model=model)]


def count(
    place: str,
    model: str,
    features: int,
    ratio: float,
    sets: int,
    seed: int,
    series: str = "simulated",
    *,
    engine: str = REDUCED,
    most: float = math.inf,
) -> list[Row]:
    """Count separable training sets at a multiple of the capacity; none of more samples at it."""
    setting = presets.capacity(**PLACES[place][0])
    capacity = capacity_of(model, **PLACES[place][0]).value
    dimension = features // setting.problem.length if model == "vectorized" else features
    if capacity * dimension > most:
        return []
    drawn: dict[str, Any] = {"dimension": dimension, "engine": engine, "sets": sets, "seed": seed}
    classifier = setting.models[MODELS.index(model)]
    share = capacities.separable_share(setting.problem, classifier, ratio * capacity, **drawn)
    return [share.but(series=series, place=place, model=model, features=features, ratio=ratio)]


def fitted(rows: Rows) -> Rows:
    """Return threshold and width of the transition for each setting, model and size."""
    return capacities.fitted_transitions(rows.where("simulated"))


def thresholds(rows: Rows) -> Rows:
    """Return the thresholds in infinite dimension, nan where fewer than two sizes were counted."""
    fits, limits = fitted(rows).where(quantity="threshold"), []
    for known in rows.where(THEORY):
        some = fits.where(place=known["place"], model=known["model"])
        nothing = known.but(value=math.nan, error=math.nan, status="max_iterations", engine=REDUCED)
        limit = carried_to_infinity(some) if len(some) > 1 else nothing
        limits.append(limit.but(quantity="threshold", trials=sum(row.trials for row in some)))
    return Rows(limits)


def threshold_gap(fits: Rows, upper: tuple[str, str], lower: tuple[str, str]) -> Row:
    """Return a difference of measured thresholds at the most features.

    The thresholds are given as (name of the place, model); nan if one is not known.
    """
    above, below = (fits.where(None, "threshold", place=p, model=m) for p, m in (upper, lower))
    gaps = [difference(a, b) for a in above for b in below if a["features"] == b["features"]]
    unknown = Row("fitted", "threshold", math.nan, math.nan, {"features": 0}, REDUCED)
    return max(gaps, key=lambda gap: gap["features"], default=unknown)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare with the capacities, and see where their order holds and where it breaks."""
    fits, measured, known = fitted(rows), thresholds(rows), rows.where(THEORY)
    yield from _transition(sizes, rows)
    yield from _over_length(rows, measured)
    yield from _order(rows, fits)
    yield from _without_signal(rows)
    # A width c m^(-1/2) (1 + a/m) with |a| = 2 moves the power between 32 and 128 by 0.03.
    half, power = Row(THEORY, "power", -0.5), capacities.width_power(fits)
    where = "power of the number of features, all places"
    yield _at_infinity(WIDTH, half, power, "all", where, bound=0.03, key=True)
    for row, limit in zip(known, measured, strict=True):
        base = row["place"] == "base"
        yield _at_infinity(MEASURED, row, limit, row["model"], text_of(row["place"]), key=base)


def _at_infinity(
    claim: str, expected: Row, row: Row, curve: str, where: str, **more: Any
) -> Comparison:
    """Compare what is carried to infinite dimension, or has the same law at every one."""
    place: dict[str, Any] = {"curve": curve, "where": where, **more}
    return against_simulation(claim, expected, row, shift=NO_SHIFT, **place)


def _transition(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    counted = rows.where(TRANSITION, engine=REDUCED)
    fits = capacities.fitted_transitions(counted).where(quantity="threshold")
    where = "{} and {} features, extrapolated to infinity".format(*sizes.wide_features)
    for model in MODELS:
        capacity = rows.one(THEORY, place="base", model=model)
        limit = carried_to_infinity(fits.where(model=model))
        yield _at_infinity("capacity", capacity, limit, model, where, key=True)
    place = ("{model}", "α₁ = {alpha1:.4g}, two engines", "alpha1")
    tensors = rows.one(TRANSITION, engine=TENSORS)
    yield compare("same-law", counted, tensors, *place, shift=NO_SHIFT, key=True)


def text_of(place: str) -> str:
    """Return a place for readers."""
    at = {**BASE, **PLACES[place][0]}
    return ", ".join(f"{letter} = {at[name]:g}" for name, letter in LETTERS.items())


def _line(rows: Rows, panel: str) -> list[tuple[float, list[float]]]:
    """Return the capacities of all models along a coordinate, with its values."""
    line = rows.where("line", panel=panel).by("x")
    return [(x, [at.one(model=model).value for model in MODELS]) for x, at in line]


def _over_length(rows: Rows, measured: Rows) -> Iterator[Comparison]:
    line = _line(rows, "length")
    ratios = [L * pooled / vectorized for L, (_, pooled, vectorized) in line]
    furthest = max(ratios, key=lambda ratio: abs(ratio - 1))
    used = rows.where("line", panel="length")
    given: dict[str, Any] = {"curve": "pooled", "key": True, "expected": 1.0}
    given["allowance"] = 1e-8  # both are Newton minima of laws of two nodes: rounding only
    where = f"L from {line[0][0]:g} to {line[-1][0]:g}, the furthest from 1"
    yield against_value(OVER_LENGTH, "capacity", furthest, used, where, **given)
    for vectorized in measured.where(model="vectorized"):
        place = vectorized["place"]
        for pooled in measured.where(model="pooled", place=place):
            L = PLACES[place][0].get("length", BASE["length"])
            times_length = pooled.but(value=L * pooled.value, error=L * pooled.error)
            where = f"{text_of(place)}: measured L α*_{{pool}} and α*_{{vec}}"
            yield _at_infinity(OVER_LENGTH, times_length, vectorized, "vectorized", where)


def _order(rows: Rows, fits: Rows) -> Iterator[Comparison]:
    """Judge where the order holds and where it breaks, in theory and as measured."""
    low, high = (rows.one("crossing", panel).value for panel in ("cosine", "strength"))
    order = [vec > att > pool for L, (att, pool, vec) in _line(rows, "length") if 4 <= L <= 10]
    under = [(att < pool) == (s < low) for s, (att, pool, _) in _line(rows, "cosine")]
    over = [(att > vec) == (theta > high) for theta, (att, _, vec) in _line(rows, "strength")]
    for claim, true, where in (
        (ORDER, order, "theory, θ = 2, s = 0.8, L from 4 to 10"),
        (NOT_ALWAYS, under, f"theory, attention below pooled exactly for s < {low:.3f}"),
        (NOT_ALWAYS, over, f"theory, attention above vectorized exactly for θ > {high:.2f}"),
    ):
        yield fraction_true(claim, "order", true, rows.where("line"), where, curve="all")
    for claim, pairs, where in (
        (ORDER, ORDERED, "measured, at all places"),
        (NOT_ALWAYS, [TURNED, STRONG], "measured at s = −0.6, and at θ = 5"),
    ):
        gaps = [threshold_gap(fits, *pair) for pair in pairs]
        clear = [gap.value > 3 * gap.error for gap in gaps]
        yield fraction_true(claim, "order", clear, gaps, where, curve="all", key=True)


def _without_signal(rows: Rows) -> Iterator[Comparison]:
    for capacity in rows.where("line", panel="strength", x=0.0):
        model, found = capacity["model"], (capacity.value, [capacity])
        given = {"curve": model, "error": capacity.error}
        given["expected"] = 2.0 * (BASE["length"] if model == "vectorized" else 1)
        # The residual of Newton's method, and rounding: its gradient stops at 1e-9 or so.
        given["allowance"] = 1e-5
        yield against_value(NO_SIGNAL, "capacity", *found, "theory, θ = 0", **given)
    where = "fraction of all training sets, Cover’s theorem"
    for model, counted in rows.where("simulated", place="no signal").by("model"):
        chance, share = capacities.covers_share(counted)
        yield _at_infinity(NO_SIGNAL, chance, share, model, where, key=model == "attention")


def _panel(rows: Rows, name: str, x: Axis, y: Axis, models: Sequence[str] = MODELS) -> Panel:
    """Return the panel of a coordinate, with the thresholds that differ from the base only here."""
    at = {place: {**BASE, **to}[name] for place, (to, _) in PLACES.items() if {*to} <= {name}}
    measured = [row.but(x=at[row["place"]]) for row in thresholds(rows) if row["place"] in at]
    shown = rows.where("line", panel=name) + measured
    rest = [f"{letter} = {BASE[n]:g}" for n, letter in LETTERS.items() if n != name]
    lines = [Curve(model, COLOURS[model], shown.where(model=model)) for model in models]

    def crossed(axes: Axes) -> None:
        for row in rows.where("crossing", name):
            axes.axvline(row.value, color=LIGHT_GREY, lw=1, ls=":")
            text = f"attention equals\n{row['other']}\nat {LETTERS[name]} = {row.value:.2f}"
            look: dict[str, Any] = {"ha": "right", "va": "top", "fontsize": 8.5, "color": GREY}
            look["xycoords"] = ("data", "axes fraction")
            axes.annotate(text, (row.value, 0.97), (-4, 0), textcoords="offset points", **look)

    return Panel("x", x, y, lines, ", ".join(rest), crossed)


def draw(rows: Rows) -> Plot:
    """Draw one panel for each coordinate: theory as lines, measured thresholds as points."""
    ticks = (2, 4, 8, 16, 32)
    vectorized = rows.one(THEORY, place="base", model="vectorized").value
    panels = [
        # The scale that shows attention beside pooled has no room for vectorized.
        _panel(rows, "cosine", Axis("cosine s"), Axis("capacity α*"), MODELS[:2]),
        _panel(rows, "strength", Axis("strength θ"), Axis("", ticks)),
        _panel(rows, "length", Axis("length L", (1, *ticks[:-1])), Axis("", ticks)),
    ]
    off = {f"vectorized left, off the scale: {vectorized:.2f}": {"ls": "none"}}
    return curves(panels, 9.6, 3.8, marks=off)


LOOKS: tuple[dict[str, Any], ...] = ({"ls": ":", "alpha": 0.5}, {"ls": "-", "alpha": 1.0})
"""Of the smaller and the larger number of features m."""


def draw_transitions(rows: Rows) -> Plot:
    """Draw one panel for each model: two numbers of features, and the capacity as a line."""
    marks: dict[str, dict[str, Any]] = {"predicted capacity": {"color": "black", "lw": 1.2}}
    sizes = {row["features"] for row in rows.where(TRANSITION, engine=REDUCED)}
    for m, look in zip(sorted(sizes), LOOKS, strict=True):
        marks[f"m = {m}"] = {"color": GREY, "marker": "o", **look}
    panels = [_transitions(rows, model) for model in MODELS]
    return curves(panels, 9.6, 3.6, columns=4, marks=marks)


def _transitions(rows: Rows, model: str) -> Panel:
    capacity = rows.one(THEORY, place="base", model=model)
    counted = rows.where(TRANSITION, model=model)
    sizes = zip(sorted(counted.where(engine=REDUCED).by("features")), LOOKS, strict=True)
    lines = [
        Curve(f"m = {m}", COLOURS[model], some, "", f"o{look['ls']}", {"alpha": look["alpha"]})
        for (m, some), look in sizes
    ]
    tensors = counted.where(engine=TENSORS)
    lines += [Curve("real tensors", GREY, tensors, marker="s", look={"ms": 9})] if tensors else []
    y = Axis("share separable" * (model == MODELS[0]), low=-0.04, high=1.04)
    look: dict[str, Any] = {"color": "black", "ls": "-" if capacity.converged else ":", "lw": 1.2}
    title, x = f"{model}, α* = {capacity.value:.3f}", Axis("α₁ = n₁ / d")
    return Panel("alpha1", x, y, lines, title, lambda axes: axes.axvline(capacity.value, **look))


FIGURES = {"capacity_curves": draw, "capacity": draw_transitions}

EXPERIMENT = Experiment("capacity-curves", SIZES, work, judge, FIGURES, version=2)
