"""Test error over the choices in training, and the best choice."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, SHIFTS
from sparsetoken.experiments.core.rows import (
    CONVERGED,
    REDUCED,
    THEORY,
    Row,
    Rows,
    averaged,
    measured,
    predicted,
)
from sparsetoken.experiments.core.rules import against_simulation, placed
from sparsetoken.figures.curves import DISC, Axis, Curve, Panel, Plot, Plotted, curves
from sparsetoken.figures.palette import GREY, RED, SEQUENCE
from sparsetoken.model.models import Attention
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory.oracle import learning_error
from sparsetoken.theory.tuning import best_training

STEPS = TwoSteps(alpha0=1.0, eta_q=25.0)
READOUT = Readout(ridge=1e-2, alpha1=2.0)
MAP, SPOT = 1e-3, 5e-4
"""Tolerances of the theory: on a map, and where it is judged."""
NEIGHBOUR = 3.0
"""Ratio of the odds of a split, or of beta, to the best beside it."""
BIAS = 9.0
"""The cosine of finite dimension differs by up to BIAS / (alpha0 d), relative: measured
36/d at alpha0 = 1/4 and 15/d at 1/2."""
PANELS = {
    "sharpness": "test-error-over-sharpness",
    "bias": "test-error-over-bias-step",
    "split": "test-error-over-split",
}
"""What is varied, as x and y: beta and alpha0; eta_b and the positive rate; the share of the
samples that find the query and alpha0 + alpha1. And the claim."""
WHERE = {
    "sharpness": "β = {x:.3g}, α₀ = {y:.3g}",
    "bias": "η_b = {x:.3g}, π = {y:.3g}",
    "split": "fraction {x:.3g} of α₀ + α₁ = {y:.3g}",
}
BEST = {"split": "best-split", "sharpness": "best-sharpness"}
FREE = {"split": "share", "sharpness": "sharpness"}

SIZES = profiles(
    across=Size(9, 19),  # values of x and of y on a map
    up=Size(8, 17),
    shares=Size(12, 25),  # on a line over the split
    totals=Size((1.0, 2.0, 4.0), (1.0, 2.0, 4.0, 8.0)),
    best_alpha0s=Size((0.25, 0.5, 1.0, 2.0, 4.0), (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0)),
    # Places that are simulated.
    spots=Size(
        {
            "sharpness": ((0.7, 0.7), (2.2, 0.7), (0.3, 2.0), (2.2, 2.0)),
            "bias": ((1.0, 0.15), (1.0, 0.35), (4.0, 0.1), (7.0, 0.25), (9.0, 0.5)),
        },
        {
            "sharpness": tuple(itertools.product((0.3, 0.7, 1.5, 3.0), (0.5, 1.0, 3.0))),
            "bias": tuple(itertools.product((1.0, 4.0, 7.0), (0.1, 0.2, 0.35, 0.5))),
        },
    ),
    dimension=Size(500, 1000),
    trials=Size(12, 16),
    neighbour_alpha0s=(0.5, 1.0, 4.0),  # where the best beta is simulated with its neighbours
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    betas, loads = np.geomspace(0.22, 4.2, sizes.across), np.geomspace(0.25, 5.0, sizes.up)
    steps, rates = np.linspace(0.0, 10.0, sizes.across), np.linspace(0.05, 0.6, sizes.up)
    shares = np.linspace(0.15, 0.95, sizes.shares) ** 2  # closer where the line is steep
    maps = (("sharpness", betas, loads), ("bias", steps, rates), ("split", shares, sizes.totals))
    for panel, xs, ys in maps:
        for y in map(float, ys):
            yield piece(predict_line, panel, tuple(xs.tolist()), y, cost=0.08 * len(xs))
    for total in sizes.totals:
        problem, at = setting("split", 0.5, total)[0], {"panel": "split", "y": total}
        known: dict[str, Any] = {"rows": ("test_error",), "series": "floor", "at": at}
        yield piece(learning_error, problem, total, **known, cost=0.4)

    def trials(*place: Any, trials: int = sizes.trials) -> dict[str, Any]:
        own = seed_of("sensitivity", *place, seed)
        return {"dimension": sizes.dimension, "trials": trials, "seed": own}

    cost = 0.3 + sizes.trials * 0.04 * (sizes.dimension / 500) ** 2
    for i, total in enumerate(sizes.totals):
        yield piece(search, "split", total, **trials("split", i), cost=1 + 2 * cost * total)
    for i, alpha0 in enumerate(sizes.best_alpha0s):
        n = sizes.trials if alpha0 in sizes.neighbour_alpha0s else 0
        own = trials("beta", i, trials=n)
        yield piece(search, "sharpness", alpha0, **own, cost=1.7 + 3 * bool(n) * cost)
    spots = [(panel, *xy) for panel, places in sizes.spots.items() for xy in places]
    for i, spot in enumerate(spots):
        yield piece(simulate_spot, *spot, **trials("spot", i), cost=cost)


def setting(panel: str, x: float, y: float) -> tuple[SparseTokenProblem, Any, Readout]:
    """Return problem, model and readout at a place of a panel."""
    rate, steps, readout = 0.5, STEPS, READOUT
    if panel == "sharpness":
        steps = dataclasses.replace(steps, beta=x, alpha0=y)
    elif panel == "bias":
        rate, steps = y, dataclasses.replace(steps, eta_b=x)
    else:
        steps = dataclasses.replace(steps, alpha0=x * y)
        readout = dataclasses.replace(readout, alpha1=(1 - x) * y)
    return SparseTokenProblem(10, 1, 5.0, rate), Attention(steps), readout


def predict_line(panel: str, xs: tuple[float, ...], y: float) -> Iterator[Row]:
    """Predict the test error, and the cosine of the query, along x."""
    for x in xs:
        problem, model, readout = setting(panel, x, y)
        at: dict[str, Any] = {"panel": panel, "x": x, "y": y}
        query = theory.align(problem, model.query).query
        prediction = theory.predict(problem, Attention(query), readout, tolerance=MAP)
        yield predicted(prediction, "test_error", **at)
        yield Row(THEORY, "cosine", float(query.cosine), at=at)


def simulate_spot(panel: str, x: float, y: float, *, dimension: int, **trials: Any) -> list[Row]:
    """Return the measurement in a setting, and its prediction.

    The prediction includes the possible effect of the finite-size bias of the query cosine.
    """
    problem, model, readout = setting(panel, x, y)
    at: dict[str, Any] = {"panel": panel, "x": x, "y": y}
    query = theory.align(problem, model.query).query
    smaller = query.cosine * (1 - BIAS / (model.query.alpha0 * dimension))
    exact, near = (
        theory.predict(problem, Attention(one), readout, tolerance=SPOT)
        for one in (query, dataclasses.replace(query, cosine=smaller))
    )
    simulated = simulation.simulate(problem, model, readout, dimension=dimension, **trials)
    return [
        measured(simulated, "test_error", dimension=dimension, **at),
        predicted(exact, "test_error", "exact", **at),
        Row("exact", "moved", float(abs(near.test_error - exact.test_error)), at=at),
    ]


def search(panel: str, y: float, dimension: int, trials: int, seed: int) -> Iterator[Row]:
    """Search the best split of a total, or the best beta at an alpha0.

    With any trials, simulate it and its two neighbours with the same random numbers.
    """
    given = setting(panel, 0.5 if panel == "split" else 1.0, y)
    steps = given[1].query
    optimum: Any = best_training(*given, free=[FREE[panel]], tolerance=MAP)
    if panel == "split":
        best, odds = optimum.share, optimum.share / (1 - optimum.share)
        near = [o / (1 + o) for o in (odds / NEIGHBOUR, odds * NEIGHBOUR)]
    else:
        # The sharpness is proportional to eta_q beta^2.
        best = steps.beta * math.sqrt(optimum.steps.eta_q / steps.eta_q)
        near = [best / NEIGHBOUR, best * NEIGHBOUR]
    best, status = float(best), str(optimum.status.code)
    sharpness = float(theory.align(given[0], setting(panel, best, y)[1].query).query.sharpness)
    at: dict[str, Any] = {"panel": panel, "x": best, "y": y, "sharpness": sharpness}
    yield predicted(optimum.prediction, "test_error", "best", **at).but(status=status)
    if not trials:
        return
    sizes = {"dimension": dimension, "trials": trials, "seed": seed}
    yield from (rows := simulate_spot(panel, best, y, **sizes))
    at_best = rows[0]
    for side, x in zip(("below", "above"), map(float, near), strict=True):
        yield from (rows := simulate_spot(panel, x, y, **sizes))
        there = rows[0]
        differences = np.subtract(at_best.values, there.values).tolist()
        gains = averaged(differences, "gain", dimension=dimension)
        fallen = [one.status for one in (at_best, there) if one.status != CONVERGED]
        status_of_both = fallen[0] if fallen else CONVERGED
        at = {"panel": panel, "x": x, "y": y, "best": best, "side": side, "search": status}
        yield gains.but(engine=REDUCED, status=status_of_both, **at)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare settings with the map, and the best one with its neighbours."""
    known, usual = rows.where("exact"), SHIFTS["test_error"]
    for panel, claim in PANELS.items():
        simulated = rows.where("simulated", "test_error", panel=panel)
        for row in simulated:
            exact, moved = (known.beside(row.but(quantity=q)) for q in ("test_error", "moved"))
            # The usual shift, and what the bias of the query's cosine moves at small alpha0 d.
            spread = math.hypot(usual.spread, moved.value * row.dimension / exact.value)
            place: dict[str, Any] = placed(row, "attention", WHERE[panel], "x")
            place["shift"] = usual._replace(spread=spread)
            yield against_simulation(claim, exact, row, key=row is simulated[0], **place)
    yield from (_no_better(row) for row in rows.where("simulated", "gain"))


def _no_better(row: Row) -> Comparison:
    """Judge the gain of a neighbour over the best setting; a loss counts as 0."""
    best = WHERE[row["panel"]].format(x=row["best"], y=row["y"])
    higher = f"measured error higher by {-row.value:.4f} ± {row.error:.4f}"
    place = placed(row, "{side}", f"{best}, against {{x:.3g}}: {higher}", "x")
    none, gain = Row(THEORY, "gain", 0.0, status=row["search"]), max(row.value, 0.0)
    # Both have the shift of the same training.
    place |= {"shift": NO_SHIFT, "key": row["y"] == 1.0 and row["side"] == "below"}
    return against_simulation(BEST[row["panel"]], none, row.but(value=gain), **place)


LEVELS = (0.03, 0.05, 0.08, 0.13, 0.2, 0.32)
"""The ticks of the test error."""
STAR: dict[str, Any] = {"color": RED, "marker": "*", "mec": "white", "ms": 9}


def draw_maps(rows: Rows) -> Plot:
    """Draw the maps over (beta, alpha0) and (eta_b, pi) in one colour scale."""
    best = rows.where("best", panel="sharpness").along("y")

    def chosen(axes: Axes) -> None:
        good = [row for row in best if row.converged]
        axes.plot([row["x"] for row in good], [row["y"] for row in good], **STAR, lw=1.6, zorder=4)

    def turned(axes: Axes) -> None:
        xs, ys, cosines = rows.where(THEORY, "cosine", panel="bias").grid("x", "y")
        if cosines.min() < 0 < cosines.max():  # the query turns away
            look: dict[str, Any] = {"colors": RED, "linewidths": 1.6, "linestyles": "--"}
            axes.contour(xs, ys, cosines, levels=[0.0], **look)

    ticks = (0.25, 0.5, 1, 2, 4)
    x, y = Axis("inverse temperature β", ticks), Axis("α₀ = n₀ / d", ticks)
    left = _map(rows, "sharpness", x, y, chosen)
    x, y = Axis(r"bias step $\eta_b$"), Axis("rate of positives π")
    right = _map(rows, "bias", x, y, turned)
    marks: dict[str, Any] = {"best β": STAR}
    marks["query orthogonal to the signal"] = {"color": RED, "ls": "--"}
    options: dict[str, Any] = {"bar": "test error", "levels": LEVELS}
    options["colours"] = {"norm": LogNorm(0.03, 0.32), "cmap": "viridis"}
    plot = curves([left, right], 9.6, 4.3, marks=marks | {"simulation": DISC}, **options)
    place = ("", "best β", left.x.label)
    stars = [Plotted(*place, row["x"], row, left.y.label, row["y"]) for row in best]
    return plot._replace(shown=[*plot.shown, *stars])


def _map(rows: Rows, panel: str, x: Axis, y: Axis, also: Callable[[Axes], None]) -> Panel:
    errors = rows.where(quantity="test_error", panel=panel)
    cells = errors.where(THEORY) + errors.where("simulated")
    return Panel("x", x, y, [], also=also, cells=cells, across="y")


def draw_split(rows: Rows) -> Plot:
    """Draw the test error against the split, a line for each total, the best marked."""
    errors = rows.where(panel="split", quantity="test_error")
    lines: list[Curve] = []
    colours = [SEQUENCE[i] for i in (0, 1, 3, 4)]
    for total, colour in zip(sorted(errors.distinct("y")), colours, strict=False):
        some = errors.where(y=total)
        known = some.where(THEORY)
        level = [floor.but(x=row["x"]) for floor in some.where("floor") for row in known]
        under = [row.but(value=0.86 * row.value) for row in some.where("best")]
        lines += [
            Curve(f"α₀ + α₁ = {total:g}", colour, known + some.where("simulated")),
            Curve("", colour, level, "-."),
            Curve("", colour, under, "none", look={"marker": "^", "ms": 7}),
        ]
    marks: dict[str, Any] = {"best": {"ls": "none", "marker": "^", "color": GREY}}
    marks["Bayes-optimal learner"] = {"ls": "-.", "color": GREY}
    x = Axis("fraction of samples for the query, α₀ / (α₀ + α₁)")
    y = Axis("test error", ticks=(0.02, 0.03, 0.05, 0.1, 0.2, 0.4))
    return curves([Panel("x", x, y, lines)], 6.6, 4.0, columns=3, marks=marks)


FIGURES = {"sensitivity_maps": draw_maps, "sensitivity_split": draw_split}

EXPERIMENT = Experiment("sensitivity", SIZES, work, judge, FIGURES, version=2)
