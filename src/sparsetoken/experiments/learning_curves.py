"""Errors of three models against the size of the training set, and against the dimension."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, SHIFTS, carried_to_infinity
from sparsetoken.experiments.core.rows import REDUCED, TENSORS, THEORY, Row, Rows
from sparsetoken.experiments.core.rules import against_simulation, compare
from sparsetoken.figures.curves import LOADS, Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import COLOURS, PALE
from sparsetoken.model import presets
from sparsetoken.model.models import Attention
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory.oracle import learning_error

PROBLEM = presets.learning_curves().problem
ALPHA0 = presets.learning_curves().query.alpha0
LOSSES = ("logistic", "square")
MODELS = ("attention", "pooled", "vectorized")
CLAIMS = {
    "test_error": "learned-error",
    "training_loss": "learned-error",
    "training_error": "score-law",
    "auc": "score-law",
}
"""The claim on each quantity."""
STEPS = TwoSteps(alpha0=1.0, eta_q=7.0, loss="square")
READOUT = Readout("square", ridge=1e-2, alpha1=2.0)
CONVERGING = ("cosine", "test_error", "training_loss")
"""The training, and its quantities, that are measured at several dimensions."""
LIMIT, FINITE = "limit", "finite"
"""Their series: theory and simulation."""
AUC_ERROR = 1e-4  # of the rule that integrates a predicted ROC curve

SIZES = profiles(
    alphas=Size((0.5, 1.0, 2.0, 4.0), (0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)),
    vectorized=Size((0.5, 1.0, 2.0), (0.5, 1.0, 2.0, 3.0, 4.0)),  # the fit costs n1^3
    # A standard error goes as 1/sqrt(d trials), the time as d^2 trials. At d = 500 the errors
    # of shifts are still the smaller ones.
    dimension=Size(500, 1000),
    trials=Size(28, 8),
    curve_points=Size(48, 96),
    # Trials of the cosine and of the errors at d = 1000, in inverse proportion to d elsewhere.
    finite_trials=Size((800, 40), (20000, 400)),
    dimensions=Size((125, 250, 500, 1000), (125, 250, 500, 1000, 2000)),
    key=(2.0,),
    tensors=2.0,  # alpha1 of attention with real tokens, in half as many trials
    judged=1e-4,  # tolerance of the theory where it is judged
    line=1e-3,  # and on a line
    floor_points=9,
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    ends = sizes.alphas[0], sizes.alphas[-1]
    line = np.geomspace(*ends, sizes.curve_points)
    for loss in LOSSES:
        for name in MODELS:
            alphas = sizes.vectorized if name == "vectorized" else sizes.alphas
            for series, xs, tolerance, cost in (
                (THEORY, alphas, sizes.judged, 0.1),
                ("line", line, sizes.line, 0.01),
            ):
                given = {"tolerance": tolerance, "series": series, "cost": cost * len(xs)}
                yield _piece(theory.predict, name, loss, xs, **given)
            for i, alpha1 in enumerate(alphas):
                trials = {"dimension": sizes.dimension, "trials": sizes.trials}
                trials["seed"] = seed_of("learning-curves", name, loss, i, seed)
                cost = sizes.trials * _cost(name, loss, alpha1 * sizes.dimension)
                given = {**trials, "engine": REDUCED, "cost": cost}
                yield _piece(simulation.simulate, name, loss, alpha1, **given)
        trials = {"dimension": sizes.dimension, "trials": sizes.trials // 2}
        trials["seed"] = seed_of("learning-curves", "tensors", loss, seed)
        given = {**trials, "engine": TENSORS, "cost": 0.7 * sizes.trials // 2}
        yield _piece(simulation.simulate, "attention", loss, sizes.tensors, **given)
    error: dict[str, Any] = {"rows": ("test_error",)}
    for alpha1 in np.geomspace(*ends, sizes.floor_points).tolist():
        at = {"alpha1": alpha1}
        yield piece(learning_error, PROBLEM, ALPHA0 + alpha1, series="floor", at=at, **error)
    yield from _converging(sizes, seed)


def _converging(sizes: Sizes, seed: int) -> Iterator[Piece]:
    model, (cosine, *errors) = Attention(STEPS), CONVERGING
    yield piece(theory.align, PROBLEM, STEPS, rows=[cosine], series=LIMIT, cost=0.05)
    yield piece(theory.predict, PROBLEM, model, READOUT, rows=errors, series=LIMIT, cost=0.05)
    for i, d in enumerate(sizes.dimensions):
        many, few = (max(2, n * 1000 // d) for n in sizes.finite_trials)
        given: dict[str, Any] = {"dimension": d, "engine": REDUCED, "series": FINITE}
        given |= {"trials": many, "seed": seed_of("finite-size", "query", i, seed)}
        yield piece(simulation.align, PROBLEM, STEPS, rows=[cosine], cost=many * d * 1e-6, **given)
        given |= {"trials": few, "seed": seed_of("finite-size", "readout", i, seed)}
        given["cost"] = few * (0.01 + 0.2 * (d / 1000) ** 2)
        yield piece(simulation.simulate, PROBLEM, model, READOUT, rows=errors, **given)


def _piece(work: Any, name: str, loss: str, alpha1: Any, **options: Any) -> Piece:
    """Plan all quantities of a model; the coordinate of several loads comes with the result."""
    setting, at = presets.learning_curves(loss, alpha1=alpha1), {"model": name, "loss": loss}
    at |= {} if np.ndim(alpha1) else {"alpha1": alpha1}
    given = (PROBLEM, setting.models[MODELS.index(name)], setting.readout)
    return piece(work, *given, rows=tuple(CLAIMS), at=at, **options)


def _cost(name: str, loss: str, n: float) -> float:
    """Return the seconds of a trial with n training samples."""
    steps = 4 if loss == "logistic" else 1
    return 0.05 + 0.035 * steps * (n / 1000) ** (3 if name == "vectorized" else 1)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare each simulated mean with the theory, and means at several d as these go to it."""
    known = Rows(
        row.but(error=AUC_ERROR) if row.quantity == "auc" else row for row in rows.where(THEORY)
    )
    for row in rows.where("simulated"):
        claim = CLAIMS[row.quantity] if row.engine == REDUCED else "feature-law"
        found = known_to_one_sample(row) if row.quantity == "training_error" else row
        place = ("{model}", "{loss}, α₁ = {alpha1:g}, d = {dimension}", "alpha1")
        key = row["alpha1"] in sizes.key or row.engine == TENSORS
        yield compare(claim, known, found, *place, key=key)
    where = f"d = {', '.join(map(str, sizes.dimensions))}, extrapolated to infinity"
    options: dict[str, Any] = {"curve": "attention", "where": where, "shift": NO_SHIFT}
    for name in CONVERGING:
        limit = carried_to_infinity(rows.where(FINITE, name))
        yield against_simulation("finite-size", rows.one(LIMIT, name), limit, **options, key=True)


def known_to_one_sample(share: Row) -> Row:
    """Return a share of training samples with an error of one sample at least.

    A count of no errors has spread 0; it is still known only to one sample among all.
    """
    return share.but(error=max(share.error, 1 / (share.trials * share["alpha1"] * share.dimension)))


def shrinkage(rows: Rows, quantity: str, power: float) -> Row:
    """Fit measured - theory = c / d^power by weighted least squares.

    The row of c has the power and the misfit among its coordinates: chi-square, with one degree
    of freedom less than there are dimensions.
    """
    limit = rows.one(LIMIT, quantity)
    fitted = [
        (row.dimension**-power, row.value - limit.value, math.hypot(row.error, limit.error))
        for row in rows.where(FINITE, quantity)
    ]
    information = math.fsum((u / e) ** 2 for u, _, e in fitted)
    c = math.fsum(u * difference / e**2 for u, difference, e in fitted) / information
    misfit = math.fsum(((difference - c * u) / e) ** 2 for u, difference, e in fitted)
    return Row("fit", quantity, c, information**-0.5, {"power": power, "misfit": misfit})


def draw_loss(rows: Rows, loss: str) -> Plot:
    """Draw test error and training loss of all models, against the load."""
    return curves([_panel(rows, loss, name) for name in ("test_error", "training_loss")], 8.6)


def _panel(rows: Rows, loss: str, quantity: str) -> Panel:
    name = quantity.replace("_", " ")
    shown, floor = rows.where(quantity=quantity, loss=loss), rows.where("floor", quantity)
    lines = [Curve(model, COLOURS[model], shown.where(model=model)) for model in MODELS]
    best = Curve("Bayes-optimal learner", COLOURS["floor"], floor, "-.")
    lines += [best] if floor else []
    falls = quantity == "training_loss" and loss == "logistic"  # never reaching 0
    y = Axis(name, log=True) if falls else Axis(name, low=0.0)
    return Panel("alpha1", Axis("α₁ = n₁ / d", ticks=LOADS), y, lines, f"{name}, {loss} loss")


def draw_converging(rows: Rows) -> Plot:
    """Draw measured - theory against d, beside c/d with the c of other settings."""
    sizes = rows.where(FINITE).distinct("dimension")
    d = np.geomspace(min(sizes), max(sizes), 100)
    return curves([_gap(rows, name, d) for name in CONVERGING], 9.6, 3.6, marks=ASSUMED)


ASSUMED = {"c of other settings": {"color": PALE, "lw": 6}}


def _gap(rows: Rows, name: str, d: np.ndarray) -> Panel:
    limit, used = rows.one(LIMIT, name).value, SHIFTS[name]

    def assumed(axes: Axes) -> None:
        low, high = ((used.mean + sign * 2 * used.deviation) * limit / d for sign in (-1, 1))
        axes.fill_between(d, low, high, color=PALE, lw=0)
        axes.axhline(0, color="black", lw=0.8)

    less = [row.but(value=row.value - limit) for row in rows.where(FINITE, name)]
    lines = [Curve("measured − theory", COLOURS["attention"], less, marker="o")]
    ticks = sorted(rows.where(FINITE).distinct("dimension"))
    return Panel("dimension", Axis("d", ticks), Axis(""), lines, name.replace("_", " "), assumed)


FIGURES: dict[str, Callable[[Rows], Plot]] = {
    f"learning_curves_{loss}": functools.partial(draw_loss, loss=loss) for loss in LOSSES
} | {"finite_size": draw_converging}

EXPERIMENT = Experiment("learning-curves", SIZES, work, judge, FIGURES)
