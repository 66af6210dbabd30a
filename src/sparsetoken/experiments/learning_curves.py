"""Errors of three models against the size of the training set, and against the dimension."""

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
from sparsetoken.experiments.core.rows import REDUCED, TENSORS, THEORY, Row, Rows
from sparsetoken.experiments.core.rules import against_simulation
from sparsetoken.figures import style
from sparsetoken.figures.curves import Axis, Curve, Curves, Panel
from sparsetoken.figures.palette import COLOURS, LIGHT_GREY, PALE, SEQUENCE
from sparsetoken.model import presets
from sparsetoken.model.models import Attention
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.results import Prediction
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
CHOICES = {
    "alpha0": ("α₀", "steps as chosen, α₀ varied", (0.25, 0.5, 1.0, 2.0, 10.0)),
    "sharpness": ("k", "cosine as chosen, k varied", (0.25, 0.5, 1.0, 2.0, 4.0)),
}
"""What is changed of the query, each a series: letter, title and values."""
LOADS = (0.25, 0.5, 1, 2, 4, 8, 16)  # with a number at the axis
STEPS = TwoSteps(alpha0=1.0, eta_q=7.0, loss="square")
READOUT = Readout("square", ridge=1e-2, alpha1=2.0)
CONVERGING = ("cosine", "test_error", "training_loss")
"""The training, and its quantities, that are measured at several dimensions."""
LIMIT, FINITE = "limit", "finite"
"""Their series: theory and simulation."""
AUC_ERROR = 1e-4  # of the rule that integrates a predicted ROC curve

SIZES = profiles(
    quick=dict(
        alphas=(0.5, 1.0, 2.0, 4.0),
        vectorized=(0.5, 1.0, 2.0),
        # A standard error goes as 1/sqrt(d trials), the time as d^2 trials. At d = 500 the errors
        # of shifts are still the smaller ones.
        dimension=500,
        trials=28,
        curve_points=48,
        # Trials of the cosine and of the errors at d = 1000, in inverse proportion to d elsewhere.
        finite_trials=(800, 40),
        dimensions=(125, 250, 500, 1000),
    ),
    paper=dict(
        alphas=(0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0),
        vectorized=(0.5, 1.0, 2.0, 3.0, 4.0),  # the fit costs n1^3
        dimension=1000,
        trials=8,
        curve_points=96,
        finite_trials=(20000, 400),
        dimensions=(125, 250, 500, 1000, 2000),
    ),
    key=(2.0,),
    tensors=2.0,  # alpha1 of attention with real tokens, in half as many trials
    judged=1e-4,  # tolerance of the theory where it is judged
    line=1e-3,  # and on a line
    choice_points=7,
    floor_points=9,
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    ends = sizes.alphas[0], sizes.alphas[-1]
    line = np.geomspace(*ends, sizes.curve_points)
    for loss in LOSSES:
        for name in MODELS:
            alphas = sizes.vectorized if name == "vectorized" else sizes.alphas
            yield _predicted(THEORY, name, loss, alphas, sizes.judged, cost=0.1)
            yield _predicted("line", name, loss, line, sizes.line, cost=0.01)
            for i, alpha1 in enumerate(alphas):
                own = seed_of("learning-curves", name, loss, i, seed)
                yield _simulated(sizes, name, loss, alpha1, REDUCED, sizes.trials, own)
        own = seed_of("learning-curves", "tensors", loss, seed)
        yield _simulated(sizes, "attention", loss, sizes.tensors, TENSORS, sizes.trials // 2, own)
    error: dict[str, Any] = {"rows": ("test_error",)}
    for alpha1 in np.geomspace(*ends, sizes.floor_points).tolist():
        at = {"alpha1": alpha1}
        yield piece(learning_error, PROBLEM, ALPHA0 + alpha1, series="floor", at=at, **error)
    few = np.geomspace(*ends, sizes.choice_points)
    for varied, (_, _, values) in CHOICES.items():
        for value in values:
            own_choice = {varied: value, "series": varied, "at": {"choice": value}, **error}
            yield piece(predict_choice, few, sizes.line, cost=0.4, **own_choice)
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


def _predicted(
    series: str, name: str, loss: str, alphas: Any, tolerance: float, cost: float
) -> Piece:
    setting = presets.learning_curves(loss, alpha1=alphas)
    return piece(
        theory.predict,
        *(PROBLEM, setting.models[MODELS.index(name)], setting.readout),
        tolerance=tolerance,
        rows=tuple(CLAIMS),
        series=series,
        at={"model": name, "loss": loss},
        cost=cost * len(alphas),
    )


def _simulated(
    sizes: Sizes, name: str, loss: str, alpha1: float, engine: str, trials: int, seed: int
) -> Piece:
    setting, n = presets.learning_curves(loss, alpha1=alpha1), alpha1 * sizes.dimension
    steps = 4 if loss == "logistic" else 1
    cost = 0.05 + 0.035 * steps * (n / 1000) ** (3 if name == "vectorized" else 1)
    return piece(
        simulation.simulate,
        *(PROBLEM, setting.models[MODELS.index(name)], setting.readout),
        dimension=sizes.dimension,
        trials=trials,
        seed=seed,
        engine=engine,
        rows=tuple(CLAIMS),
        at={"model": name, "loss": loss, "alpha1": alpha1},
        cost=trials * (0.7 if engine == TENSORS else cost),
    )


def predict_choice(
    alphas: np.ndarray,
    tolerance: float,
    alpha0: float = ALPHA0,
    sharpness: float | None = None,
) -> Prediction:
    """Predict attention with a query from another amount of data, or of another sharpness."""
    setting = presets.learning_curves("logistic", alpha0, alphas)
    model = setting.models[0]
    if sharpness is not None:
        model = Attention(Query(theory.align(PROBLEM, setting.query).cosine, sharpness))
    return theory.predict(PROBLEM, model, setting.readout, tolerance=tolerance)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare each simulated mean with the theory, and means at several d as these go to it."""
    for row in rows.where("simulated"):
        theory = rows.where(THEORY).beside(row, "model", "loss", "alpha1")
        yield against_simulation(
            CLAIMS[row.quantity] if row.engine == REDUCED else "feature-law",
            theory.but(error=AUC_ERROR) if row.quantity == "auc" else theory,
            known_to_one_sample(row) if row.quantity == "training_error" else row,
            curve=row["model"],
            where=f"{row['loss']}, α₁ = {row['alpha1']:g}, d = {row.dimension}",
            x=row["alpha1"],
            group=row["loss"],
            key=row["alpha1"] in sizes.key or row.engine == TENSORS,
        )
    where = f"d = {', '.join(map(str, sizes.dimensions))}, extrapolated to infinity"
    options: dict[str, Any] = {"curve": "attention", "where": where, "shift": NO_SHIFT}
    for name in CONVERGING:
        found = carried_to_infinity(rows.where(FINITE, name))
        yield against_simulation("finite-size", rows.one(LIMIT, name), found, **options, key=True)


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


def words(sizes: Sizes, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the values for the page."""
    at_two = rows.where("simulated", "test_error", loss="logistic", alpha1=2.0, engine=REDUCED)
    far = sum(abs(c.z) > 2 for c in comparisons)
    fits = [[shrinkage(rows, name, p) for p in (1.0, 0.5)] for name in CONVERGING]
    return {"at_two": at_two, "comparisons": len(comparisons), "far": far, "fits": fits}


def _panel(loss: str, quantity: str) -> Panel:
    name = quantity.replace("_", " ")
    curves = [Curve(name, COLOURS[name], {"model": name, "loss": loss}) for name in MODELS]
    falls = quantity == "training_loss" and loss == "logistic"  # never reaching 0
    return Panel(
        "alpha1",
        Axis("α₁ = n₁ / d", ticks=LOADS),
        Axis(name, log=True) if falls else Axis(name, low=0.0),
        [*curves, Curve("floor", COLOURS["floor"], {"series": "floor"}, "-.")],
        lines=lambda rows: rows.where(quantity=quantity, engine=THEORY),
        points=lambda rows: rows.where("simulated", quantity),
        title=f"{name}, {loss} loss",
    )


def draw_choices(rows: Rows) -> Figure:
    """Draw the predicted test error of attention for several choices of the query."""
    figure, panels = style.new_figure(8.6, 4.1, 2)
    for axes, (varied, (letter, title, values)) in zip(panels, CHOICES.items(), strict=True):
        for value, colour in zip(values, SEQUENCE, strict=True):
            line = rows.where(varied, choice=value).along("alpha1")
            style.predicted(axes, line, colour)
            chosen = " (chosen)" if value == 1 else ""
            axes.plot([], [], color=colour, label=f"{letter} = {value:g}{chosen}")
        style.load_axis(axes, [x for x, _ in line])
        style.axis_text(axes, x="α₁ = n₁ / d", y="test error, attention", title=title)
        # Below the axes, where no line can run through it.
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=3)
    top = max(axes.get_ylim()[1] for axes in panels)
    for axes in panels:
        axes.set_ylim(0, top)
    return figure


def draw_converging(rows: Rows) -> Figure:
    """Draw measured - theory against d, the fits c/d and c/sqrt(d), and the c of other settings."""
    figure, panels = style.new_figure(9.6, 3.6, 3)
    for axes, name in zip(panels, CONVERGING, strict=True):
        limit, used = rows.one(LIMIT, name).value, SHIFTS[name]
        found = rows.where(FINITE, name).along("dimension")
        d = np.geomspace(found[0][0], found[-1][0], 100)
        low, high = ((used.mean + sign * 2 * used.deviation) * limit / d for sign in (-1, 1))
        axes.fill_between(d, low, high, color=PALE, lw=0, label="c of other settings")
        axes.axhline(0, color="black", lw=0.8)
        for power, line, label in ((1.0, "-", "c / d"), (0.5, "--", "c / √d")):
            law = shrinkage(rows, name, power).value / d**power
            axes.plot(d, law, line, color=LIGHT_GREY, lw=1.2, label=label)
        less = [(x, row.but(value=row.value - limit)) for x, row in found]
        look = {"fmt": "o", "color": COLOURS["attention"], "label": "measured − theory"}
        style.mean_points(axes, less, **look)
        style.log_ticks(axes, x=[x for x, _ in found])
        style.axis_text(axes, x="d", y="", title=name.replace("_", " "))
    style.joint_legend(figure, ncols=4)
    return figure


FIGURES = {
    f"learning_curves_{loss}": Curves(
        [_panel(loss, "test_error"), _panel(loss, "training_loss")], width=8.6
    )
    for loss in LOSSES
} | {"training_choice": draw_choices, "finite_size": draw_converging}

EXPERIMENT = Experiment("learning-curves", SIZES, work, judge, FIGURES, words)
