"""The boundary of anti-alignment, and the effect of the bias step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison, Comparisons
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.places import all_true, beside, compare, near
from sparsetoken.experiments.core.rows import THEORY, Row, Rows, measured, predicted
from sparsetoken.figures import style
from sparsetoken.figures.curves import DISC, Along, Plot, Plotted, draw_map
from sparsetoken.model import presets
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.simulation.seeds import seed_of

TINY = 1e-6
"""Steps of the first stage that stand for the limit of small steps."""
CLAIMS = {
    "rate": "anti-alignment-of-rare-positives",
    "step": "bias-step-turns-it-back",
    "small": "small-step-condition",
}
"""By panel: rate and step are the two maps, small is rate with tiny steps. A place of a panel is
`along` the boundary, the positive rate or alpha0, and `across` it, the strength or eta_b."""
AXES = {"rate": ((0.02, 0.6), (0.25, 8.0)), "step": ((0.1, 10.0), (0.1, 30.0))}
"""The ends of the maps, along and across."""
VARIED = dict.fromkeys(CLAIMS, ("positive_rate", "strength")) | {"step": ("alpha0", "eta_b")}
"""What along and across are called in the preset."""
AT_RATE = "π = {along:g}, θ = {across:.3g}"
WHERE = {"rate": AT_RATE, "step": "η_b = {across:.3g}, α₀ = {along:g}"}
WHERE["small"] = f"{AT_RATE}, steps of {TINY:g}"
SIGNS = "PuOr"
"""From orange's opposite to orange: colour-blind readers tell the ends apart."""

# `cells` of a map along each axis; places of simulations are at `factors` times the boundary.
SIZES = profiles(
    cells=Size(21, 61),
    trials=Size(16, 64),
    dimension=1000,
    rates=(0.06, 0.12, 0.2, 0.3),
    alpha0s=(0.25, 1.0, 4.0),
    factors=(0.5, 0.8, 1.25, 2.0),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    for panel in AXES:
        yield piece(predict_map, panel, sizes.cells, cost=0.0013 * sizes.cells**2)
    yield piece(solve_boundaries, sizes.cells, cost=0.045 * sizes.cells)
    places = {"rate": sizes.rates, "step": sizes.alpha0s, "small": sizes.rates}
    for panel, along in places.items():
        for i, at in enumerate(along):
            for j, factor in enumerate(sizes.factors):
                name = "small steps" if panel == "small" else panel
                own = seed_of("anti-alignment", name, i, j, seed)
                drawn = (sizes.dimension, sizes.trials, own)
                yield piece(simulate, panel, at, factor, *drawn, cost=0.003 * sizes.trials)


def setting(panel: str, along: float, across: float) -> tuple[SparseTokenProblem, TwoSteps]:
    """Return the problem and the steps at a point."""
    preset = presets.anti_alignment(**dict(zip(VARIED[panel], (along, across), strict=True)))
    tiny = {"eta_w": TINY, "eta_b": TINY} if panel == "small" else {}
    return preset.problem, dataclasses.replace(preset.query, **tiny)


def predict_map(panel: str, cells: int) -> Iterator[Row]:
    """Predict on a map, even in the positive rate and the strength, else in ratios."""
    space = np.linspace if panel == "rate" else np.geomspace
    first, second = (space(*ends, cells).tolist() for ends in AXES[panel])
    for along in first:
        for across in second:
            query = theory.align(*setting(panel, along, across))
            yield predicted(query, "cosine", "map", panel=panel, along=along, across=across)


def boundary(panel: str, along: float) -> Row:
    """Solve for the strength, or the bias step, at which the cosine changes its sign."""
    low, high = AXES.get(panel, AXES["rate"])[1]
    root = theory.sign_boundary(*setting(panel, along, 1.0), VARIED[panel][1], low / 4, 4 * high)
    return predicted(root, "value", "boundary", panel=panel, along=along)


def solve_boundaries(cells: int) -> Iterator[Row]:
    """Solve for both boundaries, and for the limit of small steps."""
    for pi in np.linspace(AXES["rate"][0][0], 0.49, cells).tolist():
        yield boundary("rate", pi)
        yield boundary("small", pi)
        at = {"panel": "small", "along": pi}
        yield Row("condition", "value", small_step_strength(pi), at=at)
    for alpha0 in np.geomspace(*AXES["step"][0], cells).tolist():
        yield boundary("step", alpha0)


def small_step_strength(pi: float) -> float:
    """Return the strength at which the small-step margin, linear in theta^2, is 0."""
    at_0, at_1 = (theory.small_step_margin(setting("rate", pi, theta)[0]) for theta in (0.0, 1.0))
    return math.sqrt(max(-at_0 / (at_1 - at_0), 0.0))


def simulate(
    panel: str, along: float, factor: float, dimension: int, trials: int, seed: int
) -> Iterator[Row]:
    """Predict and simulate at a multiple of the boundary, of the small-step condition if small."""
    edge = small_step_strength(along) if panel == "small" else boundary(panel, along).value
    at: dict[str, Any] = {"panel": panel, "along": along, "across": factor * edge}
    place = setting(**at)
    simulated = simulation.align(*place, dimension=dimension, trials=trials, seed=seed)
    yield predicted(theory.align(*place), "cosine", **at)
    yield measured(simulated, "cosine", dimension=dimension, **at)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Judge signs and sides of the boundary, and compare at each point."""
    for panel, claim in CLAIMS.items():
        some = rows.where(panel=panel)
        known, simulated = some.where(THEORY), some.where("simulated")
        yield _signs(claim, [(beside(known, row), row) for row in simulated])
        yield from [_sides(claim, some)] if panel in AXES else _small_steps(claim, some)
        place = ("query", WHERE[panel], "along")
        yield from (compare(claim, known, row, *place) for row in simulated)


def _signs(claim: str, pairs: list[tuple[Row, Row]]) -> Comparison:
    """Judge the signs of measured cosines that are predicted far enough from 0."""
    clear = [row.value * line.value > 0 for line, row in pairs if abs(line.value) > 4 * row.error]
    where = f"{len(clear)} of {len(pairs)} places, |theory| > 4 standard errors"
    name = "fraction of measured cosines with the predicted sign"
    measured = [row for _, row in pairs]
    return all_true(claim, name, clear, measured, where, curve="query", key=True)


def _sides(claim: str, rows: Rows) -> Comparison:
    """Judge the sign of the mapped cosines by the side of the boundary they are on."""
    x, y = _edge(rows)
    cells = rows.where("map")
    across = np.array([row["across"] for row in cells])
    values = np.interp([row["along"] for row in cells], x, y, np.nan, np.nan)
    # Between two solved places the boundary is interpolated: cells within 5 % do not count.
    decided = np.abs(across / values - 1) > 0.05
    right = (np.array([row.value for row in cells]) > 0) == (across > values)
    true, where = right[decided].tolist(), f"{int(decided.sum())} cells of the map"
    name = "fraction of cells on the predicted side"
    return all_true(claim, name, true, cells, where, curve="query")


def _edge(rows: Rows) -> tuple[list[float], list[float]]:
    """Return where the boundary of a panel is, along and across."""
    edge = [row for row in rows.where("boundary") if row.converged]
    return [row["along"] for row in edge], [row.value for row in edge]


def _small_steps(claim: str, rows: Rows) -> Iterator[Comparison]:
    for i, row in enumerate(rows.where("boundary")):
        expected = rows.where("condition").beside(row, "along").value
        given = {"curve": "query", "x": row["along"], "key": i == 0, "expected": expected}
        given["allowance"] = 1e-4 * expected  # steps of 1e-6 move scores by about as much, times θ²
        where = f"boundary at π = {row['along']:.3g}, steps of {TINY:g}"
        yield near(claim, "strength", row.value, [row], where, **given)


def words(sizes: Sizes, rows: Rows, comparisons: Comparisons) -> dict[str, Any]:
    """Return the values for the page."""
    cells = rows.where("map", panel="rate")
    edge = _edge(rows.where(panel="step"))[1]
    small = [c for c in comparisons if c.quantity == "strength"]
    return {
        "away": 100 * float(np.mean([row.value < 0 for row in cells])),
        "lowest": min(cells, key=lambda row: row.value),
        "fixed": presets.anti_alignment().problem,
        "steps": (min(edge), max(edge)),
        "off": max(abs(c.measured / c.theory - 1) for c in small),
    }


RATE, STRENGTH = Along("along", "π, rate of positives"), Along("across", "θ, strength")
BIAS, LOAD = Along("across", "η$_b$, bias step"), Along("along", "α₀ = n₀ / d")


def draw(rows: Rows) -> Plot:
    """Draw both maps with one colour for away and one for towards."""
    figure, (first, second) = style.new_figure(9.2, 4.2, 2)
    _, left = _map(first, rows.where(panel="rate"), RATE, STRENGTH, "bias step 0.5")
    mesh, right = _map(second, rows.where(panel="step"), BIAS, LOAD, "π = 0.1, θ = 2")
    condition = rows.where("condition")
    first.plot([row["along"] for row in condition], [row.value for row in condition], "k--", lw=1.5)
    first.set(xlim=AXES["rate"][0], ylim=AXES["rate"][1])
    style.log_ticks(second, x=(0.1, 1, 10), y=(0.1, 1, 10))
    second.set(xlim=AXES["step"][1], ylim=AXES["step"][0])
    bar = figure.colorbar(mesh, ax=[first, second], pad=0.02)
    bar.set_label("cosine of the query with the signal")
    marks: dict[str, Any] = {
        "boundary": {"color": "black"},
        "boundary for small steps": {"color": "black", "ls": "--"},
        "simulation, filled by its cosine": DISC,
    }
    style.legend(figure, marks)
    return Plot(figure, [*left, *right])


def _map(axes: Axes, rows: Rows, x: Along, y: Along, title: str) -> tuple[Any, list[Plotted]]:
    """Draw the map of a panel, its boundary, and trials."""
    edge = dict(zip(("along", "across"), _edge(rows), strict=True))
    axes.plot(edge[x.coordinate], edge[y.coordinate], "-", color="black", lw=1.5)
    cells, points = rows.where("map"), rows.where("simulated")
    return draw_map(axes, cells, points, x, y, title, cmap=SIGNS, vmin=-1, vmax=1)


EXPERIMENT = Experiment("anti-alignment", SIZES, work, judge, {"anti_alignment": draw}, words)
