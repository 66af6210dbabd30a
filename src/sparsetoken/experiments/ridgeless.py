"""The ridgeless limit: interpolation, its peak, and the max-margin readout."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.capacities import solved_capacity
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, SHIFTS
from sparsetoken.experiments.core.rows import REDUCED, THEORY, Row, Rows, averaged, predicted
from sparsetoken.experiments.core.rules import against_value, compare, fraction_true
from sparsetoken.figures.curves import LOADS, Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import COLOURS, GREY, SEQUENCE
from sparsetoken.losses import get_loss
from sparsetoken.model.models import Attention, Pooled, Vectorized
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.results.record import Numbers
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory.laws import feature_law

SQUARE, QUERY = SparseTokenProblem(10, 1, 5.0, 0.5), Query(0.9, 1.0)
"""Of the square loss."""
MODELS = {"attention": Attention(QUERY), "pooled": Pooled(), "vectorized": Vectorized()}
WEIGHTS = {"attention": 1, "pooled": 1, "vectorized": SQUARE.length}
"""Models of the square loss, and their weights over d; a load is n1 over the weights."""
MARGIN = (SparseTokenProblem(4, 1, 2.0, 0.5), Attention(Query(0.8, 1.0)))
"""Problem and model of hinge and logistic loss; a ratio is alpha1 over the capacity."""
RIDGED, SMOOTH = 1e-2, 1e-1
"""The ridge that is simulated too, and that which leaves no peak."""
RIDGES = {0.0: (SEQUENCE[0], "-"), RIDGED: (SEQUENCE[1], "--"), SMOOTH: (SEQUENCE[3], ":")}
"""Their colours and dashes."""
LOSSES = {"hinge": SEQUENCE[1], "logistic": SEQUENCE[4]}
"""Their colours."""
SMALL = 1e-6
"""The ridge that stands for 0 where a simulation needs one."""
JUDGED, LINE = 1e-4, 1e-3
"""Tolerances of the theory, where a claim is judged and on the rest of a line."""
RATIO = 0.75
"""The multiple of the capacity at which the direction is followed."""
NEAR, FAR = 1 + 1e-3, 0.5
"""Loads just above the threshold and below it, at which chi diverges."""
ERRORS = ("test_error", "training_loss")
THRESHOLD, PEAK = "interpolation-threshold", "interpolation-peak"
DIVERGES, DIRECTION = "susceptibility-diverges", "direction-to-max-margin"
ZERO, POSITIVE = "zero-loss-below-capacity", "positive-loss-above-capacity"

SIZES = profiles(
    weights=Size(300, 1000),  # and trials of the square loss
    trials=Size(10, 20),
    # Loads without a ridge, with one, and of the vectorized model.
    loads=Size(
        (0.25, 0.5, 0.8, 1.25, 2.0, 4.0), (0.1, 0.25, 0.5, 0.8, 0.9, 1.1, 1.25, 1.5, 2.0, 4.0, 8.0)
    ),
    ridge_loads=Size((0.5, 1.0, 2.0), (0.25, 0.5, 0.8, 1.0, 1.25, 2.0, 4.0)),
    vectorized_loads=Size((0.5, 2.0), (0.25, 0.5, 0.8, 1.25, 2.0)),
    line_points=Size(20, 40),
    ratios=Size((0.5, 0.75, 1.25, 2.0), (0.25, 0.5, 0.75, 0.9, 1.1, 1.25, 1.5, 2.0, 3.0)),
    margin_dimension=Size(100, 200),
    margin_trials=Size(8, 20),
    ridges=(1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-8),  # the simulation leaves the last one out
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work: the square loss, then hinge and logistic around the capacity."""
    line = line_of_loads(sizes.line_points)
    for model in ("attention", "pooled"):
        yield piece(diverge, model, cost=0.15)
        for ridge in RIDGES:
            judged = sizes.ridge_loads if ridge else sizes.loads
            others = tuple(sorted({*line, *([1.0] if ridge else [])} - {*judged}))
            for loads, tolerance in ((judged, JUDGED), (others, LINE)):
                cost = (0.1 if model == "attention" else 0.01) * len(loads)
                yield piece(predict_loads, model, ridge, loads, tolerance, cost=cost)
    yield piece(predict_loads, "vectorized", 0.0, sizes.vectorized_loads, JUDGED, cost=0.1)
    rest = (("vectorized", 0.0, sizes.vectorized_loads), ("attention", RIDGED, sizes.ridge_loads))
    curves = [*((model, 0.0, sizes.loads) for model in ("attention", "pooled")), *rest]
    for k, (model, ridge, loads) in enumerate(curves):
        for i, load in enumerate(loads):
            own = (sizes.weights, sizes.trials, seed_of("ridgeless", "load", k, i, seed))
            cost = 0.04 * sizes.trials * (sizes.weights / 400) ** 2 * max(load, 0.5)
            yield piece(simulate_load, model, ridge, load, *own, cost=cost)
    trials = (sizes.margin_dimension, sizes.margin_trials)
    # Below the capacity the loss is 0: the ends are enough.
    above = 1 + np.geomspace(0.01, 1.5, sizes.line_points).round(4)
    others = tuple(sorted({0.25, 0.99, *above.tolist()} - {*sizes.ratios}))
    for loss in LOSSES:
        for some, tolerance in ((sizes.ratios, JUDGED), (others, LINE)):
            given = (loss, some, (0.0,), tolerance)
            yield piece(predict_margins, *given, cost=0.4 * len(some))
        for i, ratio in enumerate(sizes.ratios):
            place = seed_of("ridgeless", "capacity", loss, i, seed)
            cost = sizes.margin_trials * (sizes.margin_dimension / 100) ** 3 * 0.03
            yield piece(simulate_margin, loss, ratio, *trials, place, cost=cost)
    yield piece(predict_margins, "logistic", (RATIO,), sizes.ridges, JUDGED, cost=1.0)
    place = seed_of("ridgeless", "direction", seed)
    yield piece(simulate_direction, sizes.ridges[:-1], *trials, place, cost=0.8)


def line_of_loads(count: int) -> list[float]:
    """Return loads on both sides of 1, denser near it, without 1 itself.

    They are rounded, so that one which is also judged is the same number.
    """
    near = np.geomspace(0.005, 0.3, count - count // 2)
    away = np.concatenate([near, np.linspace(0.4, np.log(8), count // 2)])
    return np.exp([*-away[::-1], *away]).round(9).tolist()


def readout_of(model: str, ridge: float, load: Numbers) -> Readout:
    """Return the readout with the square loss."""
    return Readout("square", ridge, load * WEIGHTS[model])


def predict_loads(
    model: str, ridge: float, loads: tuple[float, ...], tolerance: float
) -> Iterator[Row]:
    """Predict the square loss at loads."""
    readout = readout_of(model, ridge, np.array(loads))
    predictions = theory.predict(SQUARE, MODELS[model], readout, tolerance=tolerance)
    for load, one in zip(loads, predictions, strict=True):
        at: dict[str, Any] = {"loss": "square", "model": model, "ridge": ridge, "load": load}
        yield from (predicted(one, name, **at) for name in (*ERRORS, "susceptibility"))


def simulate_load(
    model: str, ridge: float, load: float, weights: int, trials: int, seed: int
) -> Iterator[Row]:
    """Measure the square loss and, for attention, chi where it is finite."""
    readout, given = readout_of(model, ridge, load), (SQUARE, MODELS[model])
    at: dict[str, Any] = {"loss": "square", "model": model, "ridge": ridge, "load": load}
    d = weights // WEIGHTS[model]
    sizes: dict[str, Any] = {"dimension": d, "seed": seed}
    errors = piece(simulation.simulate, *given, readout, trials=trials, rows=ERRORS, at=at, **sizes)
    yield from errors.run()
    if model == "attention" and (load > 1 or ridge > 0):
        drawn = (
            simulation.draw_training_set(*given, readout.alpha1, trial=i, **sizes)
            for i in range(trials)
        )
        chi = [_susceptibility(F, ridge, d) for F, _ in drawn]
        yield averaged(chi, "susceptibility", dimension=d, engine=REDUCED, **at)


def _susceptibility(F: np.ndarray, ridge: float, d: int) -> float:
    """Return the trace of the inverse of F^T F/n1 + ridge, over n1; F is centred first."""
    n, m = F.shape
    F = F - F.mean(axis=0)
    some = np.linalg.eigvalsh(F.T @ F / n)
    without = (d - m) / ridge if d > m else 0.0  # directions that no sample has
    return float((np.sum(1 / (some + ridge)) + without) / n)


def diverge(model: str) -> Iterator[Row]:
    """Predict chi just above the threshold, and below it with a small ridge.

    Above it (load - 1) chi tends to the mean of 1/C^2 over the law of the features.
    """
    law = feature_law(MODELS[model], SQUARE, QUERY, 8192)
    inverse = np.sum(law.weight / law.C[..., 0] ** 2, axis=1)
    error = 0.0 if law.exact else float(np.std(inverse, ddof=1) / math.sqrt(len(inverse)))
    yield Row(THEORY, "limit of (α₁ − 1) χ", float(inverse.mean()), error, {"model": model})
    for name, load, ridge, factor in (("above", NEAR, 0.0, NEAR - 1), ("below", FAR, SMALL, SMALL)):
        readout = readout_of(model, ridge, load)
        prediction = theory.predict(SQUARE, MODELS[model], readout, tolerance=LINE)
        chi = predicted(prediction, "susceptibility", model=model)
        yield chi.but(quantity=name, value=factor * chi.value)


def predict_margins(
    loss: str, ratios: Sequence[float], ridges: Sequence[float], tolerance: float
) -> Iterator[Row]:
    """Predict around the capacity; the length is |w| of the readout."""
    capacity = solved_capacity(*MARGIN)
    yield capacity
    readout = Readout(loss, np.array(ridges), np.array(ratios) * capacity.value)
    predictions = theory.predict(*MARGIN, readout, tolerance=tolerance)
    for ratio, ridge, one in zip(*np.broadcast_arrays(ratios, ridges), predictions, strict=True):
        at: dict[str, Any] = {"loss": loss, "ratio": float(ratio), "ridge": float(ridge)}
        w = one.overlaps
        yield from (predicted(one, name, **at) for name in ERRORS)
        yield Row(THEORY, "length", math.hypot(w.query, w.orthogonal, w.noise), at=at)


def simulate_margin(loss: str, ratio: float, d: int, trials: int, seed: int) -> Iterator[Row]:
    """Measure at ridge `SMALL`, which stands for 0."""
    readout = Readout(loss, SMALL, ratio * solved_capacity(*MARGIN).value)
    at = {"loss": loss, "ratio": ratio, "ridge": 0.0}
    sizes: dict[str, Any] = {"dimension": d, "trials": trials, "seed": seed}
    yield from piece(simulation.simulate, *MARGIN, readout, rows=ERRORS[::-1], at=at, **sizes).run()


def simulate_direction(ridges: tuple[float, ...], d: int, trials: int, seed: int) -> Iterator[Row]:
    """Measure 1 - cosine of the logistic and the max-margin readout on the same D1.

    Below capacity the hinge loss with ridge `SMALL` has the largest margin: its
    multipliers are bounded by 1/n1.
    """
    distances, alpha1 = [], RATIO * solved_capacity(*MARGIN).value
    for i in range(trials):
        F, y = simulation.draw_training_set(*MARGIN, alpha1, dimension=d, seed=seed, trial=i)
        fits = (("hinge", SMALL), *(("logistic", ridge) for ridge in ridges))
        weights = [fit_readout(F, y, get_loss(loss), ridge).w for loss, ridge in fits]
        units = np.array([w / np.linalg.norm(w) for w in weights])
        distances.append(0.5 * np.sum((units[1:] - units[0]) ** 2, axis=1))
    for ridge, values in zip(ridges, np.transpose(distances), strict=True):
        yield averaged(values, "distance", dimension=d, engine=REDUCED, ridge=ridge)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare at each load and ratio, and judge the peak, the divergence and the direction."""
    for row in rows.where("simulated"):
        if "loss" in row.at:
            at = _at_load if row["loss"] == "square" else _at_ratio
            yield from at(rows.where(THEORY), row)
    for model in ("attention", "pooled"):
        yield from _peak(model, rows)
        yield from _divergence(model, rows)
    yield from _direction(rows)


def _at_load(known: Rows, row: Row) -> Iterator[Comparison]:
    """Judge test error and susceptibility and, without a ridge, the training loss."""
    free, load = row["ridge"] == 0, row["load"]
    place = ("{model}", "n₁ = {load:g} × weights, λ = {ridge:g}", "load")
    if row.quantity == "test_error":
        yield compare(PEAK, known, row, *place, key=free and load in (0.8, 1.25))
    elif row.quantity == "susceptibility":
        # The mean of an inverse Wishart matrix has n1 - d - 2 where its limit has n1 - d; beyond
        # that the spread is taken to be that of test errors.
        shift = SHIFTS["test_error"]._replace(mean=2 / (load - 1) if free else 0.0)
        place = ("{model}", "α₁ = {load:g}, λ = {ridge:g}", "load")
        yield compare(DIVERGES, known, row, *place, shift=shift)
    elif free:
        # Below the threshold an exact fit, in float64.
        exact: dict[str, Any] = {"shift": NO_SHIFT, "bound": 1e-12} if load < 1 else {}
        yield compare(THRESHOLD, known, row, *place, key=load in (0.5, 2.0), **exact)


def _peak(model: str, rows: Rows) -> Iterator[Comparison]:
    """Judge by neighbours on the line of theory that it has a peak, and none with a ridge."""
    line = rows.where(THEORY, "test_error", loss="square", model=model)
    free, smooth = line.where(ridge=0.0), line.where(ridge=SMOOTH)
    true = [rise > 0 for rise in _rises(free, 0.5, 1)] + [rise < 0 for rise in _rises(free, 1)]
    name, where = "rises to the threshold, falls after it", "n₁ from 0.5 to 8 × weights"
    place = (free, f"fraction of neighbours, {where}")
    yield fraction_true(PEAK, name, true, *place, curve=model, key=True)
    # Neighbours may differ by less than the theory's own tolerance.
    true = [rise < LINE for rise in _rises(smooth, 0.5)]
    where = f"share of neighbours, λ = {SMOOTH:g}"
    yield fraction_true(PEAK, "falls throughout with a ridge", true, smooth, where, curve=model)


def _rises(line: Rows, low: float, high: float = math.inf) -> list[float]:
    """Return the differences of the values at neighbouring loads in a range."""
    values = [row.value for row in line.along("load") if low <= row["load"] < high]
    return [b - a for a, b in itertools.pairwise(values)]


def _divergence(model: str, rows: Rows) -> Iterator[Comparison]:
    limit, above, below = (
        rows.one(THEORY, name, model=model) for name in ("limit of (α₁ − 1) χ", "above", "below")
    )
    found = above.value, [above], f"α₁ = {NEAR:g}, λ = 0, against the mean of 1/C²"
    given: dict[str, Any] = {"curve": model, "expected": limit.value, "error": limit.error}
    # The next order in alpha1 - 1 = 0.001, with a factor of a few, and the nodes.
    given["allowance"] = 0.005 * limit.value
    yield against_value(DIVERGES, "(α₁ − 1) χ", *found, key=True, **given)
    found = below.value, [below], f"α₁ = {FAR:g}, λ = {SMALL:g}, against 1/α₁ − 1"
    # First order in λ, times a mean of 1/C² of at most 10 and a factor of a few.
    given = {"curve": model, "expected": 1 / FAR - 1, "allowance": 100 * SMALL}
    yield against_value(DIVERGES, "λ χ", *found, **given)


def _at_ratio(known: Rows, row: Row) -> Iterator[Comparison]:
    """Judge the training loss and, for the hinge loss below capacity, the test error."""
    loss, ratio = row["loss"], row["ratio"]
    known = known.where(loss=loss, ratio=ratio, ridge=0.0)
    if row.quantity == "training_loss":
        free: dict[str, Any] = {"key": ratio in (0.75, 1.25)}
        if ratio < 1:
            length = known.one(quantity="length").value
            free |= {"shift": NO_SHIFT, "bound": _price(loss, length)}
        claim = ZERO if ratio < 1 else POSITIVE
        yield compare(claim, known, row, "{loss}", "α₁ = {ratio:g} α*", "ratio", **free)
    elif loss == "hinge" and ratio < 1:
        place = ("hinge", "α₁ = {ratio:g} α*, hinge, against the largest margin", "ratio")
        yield compare(DIRECTION, known, row, *place, key=ratio == RATIO)


def _price(loss: str, length: float) -> float:
    """Return a bound on the training loss that a ridge of `SMALL` costs below capacity.

    The fit is no worse than c times the readout of margin 1: hinge with c = 1, and logistic
    with c = log(1/ridge), whose loss is below exp(-c).
    """
    if loss == "hinge":
        return 0.5 * SMALL * length**2
    c = math.log(1 / SMALL)
    return SMALL + 0.5 * SMALL * (c * length) ** 2


def turning(rows: Rows, quantity: str = "test_error") -> tuple[list[Row], Row]:
    """Return predictions of logistic readouts by increasing ridge, and of max-margin."""
    at = rows.where(THEORY, quantity, ratio=RATIO)
    logistic = [row for row in at.where(loss="logistic").along("ridge") if row["ridge"]]
    return logistic, at.one(loss="hinge", ridge=0.0)


def _direction(rows: Rows) -> Iterator[Comparison]:
    (last, before, *_), limit = turning(rows)
    short, long = (1 / row.value for row in turning(rows, "length")[0][:2])
    found = last.value + (last.value - before.value) * short / (long - short)
    given: dict[str, Any] = {"curve": "logistic", "expected": limit.value, "error": limit.error}
    # The gap falls as 1/|w|, with corrections of relative size 1/log(1/ridge) < 0.1 to it.
    given["allowance"] = 0.1 * abs(last.value - limit.value)
    ridges = f"{before['ridge']:g} and {last['ridge']:g}"
    where = f"theory at λ = {ridges}, extrapolated to 1/|w| = 0"
    used = (last, before, limit)
    yield against_value(DIRECTION, "test_error", found, used, where, key=True, **given)
    falling = rows.where("simulated", "distance").along("ridge")
    true = [a.value < b.value for a, b in itertools.pairwise(falling)]
    where = f"measured on the same D1, share of steps down to λ = {falling[0]['ridge']:g}"
    name = "1 − cosine with the max-margin readout falls"
    yield fraction_true(DIRECTION, name, true, falling, where, curve="logistic")


def draw(rows: Rows) -> Plot:
    """Draw test error of three models, and susceptibility of attention, against the load."""
    errors: list[Curve] = []
    for model in MODELS:
        known = rows.where(quantity="test_error", loss="square", model=model)
        # The line of the vectorized model is that of pooled.
        name = "vectorized (theory as pooled)" if model == "vectorized" else model
        errors.append(Curve(name, COLOURS[model], known.where("simulated", ridge=0.0)))
        for ridge in RIDGES if model != "vectorized" else ():
            errors += _sides("", COLOURS[model], known.where(THEORY, ridge=ridge), ridge)
    spreads: list[Curve] = []
    for ridge, (colour, _) in RIDGES.items():
        known = rows.where(quantity="susceptibility", loss="square", model="attention", ridge=ridge)
        finite = [row for row in known if row["load"] > 1 or ridge > 0 or row.engine != THEORY]
        spreads += _sides(f"λ = {ridge:g}" if ridge else "λ → 0", colour, finite, ridge)
    x = Axis("n₁ / number of weights", ticks=LOADS)
    y = Axis("test error", high=0.65)  # room for the legend above the curves
    left = Panel("load", x, y, errors, "test error, square loss", _threshold)
    title = "susceptibility of attention"
    right = Panel("load", x, Axis("susceptibility χ", log=True), spreads, title, _threshold)
    return curves([left, right], 9.6, 4.2, columns=4)


def _threshold(axes: Axes) -> None:
    axes.axvline(1.0, color="black", lw=0.9)


def _sides(name: str, colour: str, rows: Sequence[Row], ridge: float) -> list[Curve]:
    """Return a curve; without a ridge it breaks at the threshold, which has no limit."""
    parts = [[row for row in rows if (ridge > 0 or row["load"] > 1) == side] for side in (1, 0)]
    return [Curve(name, colour, part, RIDGES[ridge][1]) for part in parts if part]


def draw_capacity(rows: Rows) -> Plot:
    """Draw the training loss across the capacity, and the turn to the largest margin."""
    losses = rows.where(quantity="training_loss", ridge=0.0)
    lines = [Curve(loss, colour, losses.where(loss=loss)) for loss, colour in LOSSES.items()]
    x, y = Axis("α₁ / α*"), Axis("training loss")
    left = Panel("ratio", x, y, lines, "training loss, λ → 0", _threshold)
    followed, limit = turning(rows)
    gaps = [row.but(value=abs(row.value - limit.value)) for row in followed]
    cosines = rows.where("simulated", "distance")
    turned = [
        Curve("1 − cosine", LOSSES["logistic"], cosines, marker="o:"),
        Curve("gap of test error", GREY, gaps, look={"marker": "D", "ms": 4}),
    ]
    title = f"logistic against largest margin, α₁ = {RATIO:g} α*"
    x, y = Axis("λ", log=True), Axis("distance", log=True)
    right = Panel("ridge", x, y, turned, title, lambda axes: axes.invert_xaxis())
    marks = {"predicted capacity": {"color": "black", "lw": 0.9}}
    return curves([left, right], 9.6, 4.0, marks=marks)


FIGURES = {"ridgeless": draw, "ridgeless_capacity": draw_capacity}

EXPERIMENT = Experiment("ridgeless", SIZES, work, judge, FIGURES, version=2)
