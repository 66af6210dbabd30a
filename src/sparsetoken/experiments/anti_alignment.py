"""The boundary of anti-alignment, and the effect of the bias step."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.rows import THEORY, Row, Rows, measured, predicted
from sparsetoken.experiments.core.rules import against_value, compare, fraction_true
from sparsetoken.figures.curves import DISC, Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLACK
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
        yield _signs(claim, [(known.beside(row), row) for row in simulated])
        yield from [_sides(claim, some)] if panel in AXES else _small_steps(claim, some)
        place = ("query", WHERE[panel], "along")
        yield from (compare(claim, known, row, *place) for row in simulated)


def _signs(claim: str, pairs: list[tuple[Row, Row]]) -> Comparison:
    """Judge the signs of measured cosines that are predicted far enough from 0."""
    clear = [row.value * line.value > 0 for line, row in pairs if abs(line.value) > 4 * row.error]
    where = f"{len(clear)} of {len(pairs)} places, |theory| > 4 standard errors"
    name = "fraction of measured cosines with the predicted sign"
    measured = [row for _, row in pairs]
    return fraction_true(claim, name, clear, measured, where, curve="query", key=True)


def _sides(claim: str, rows: Rows) -> Comparison:
    """Judge the sign of the mapped cosines by the side of the boundary they are on."""
    x, y = zip(*((row["along"], row.value) for row in _edge(rows)), strict=True)
    cells = rows.where("map")
    across = np.array([row["across"] for row in cells])
    values = np.interp([row["along"] for row in cells], x, y, np.nan, np.nan)
    # Between two solved places the boundary is interpolated: cells within 5 % do not count.
    decided = np.abs(across / values - 1) > 0.05
    right = (np.array([row.value for row in cells]) > 0) == (across > values)
    true, where = right[decided].tolist(), f"{int(decided.sum())} cells of the map"
    name = "fraction of cells on the predicted side"
    return fraction_true(claim, name, true, cells, where, curve="query")


def _edge(rows: Rows) -> list[Row]:
    """Return the boundary of a panel where it was found."""
    return [row for row in rows.where("boundary") if row.converged]


def _small_steps(claim: str, rows: Rows) -> Iterator[Comparison]:
    for i, row in enumerate(rows.where("boundary")):
        expected = rows.where("condition").beside(row).value
        given = {"curve": "query", "x": row["along"], "key": i == 0, "expected": expected}
        given["allowance"] = 1e-4 * expected  # steps of 1e-6 move scores by about as much, times θ²
        where = f"boundary at π = {row['along']:.3g}, steps of {TINY:g}"
        yield against_value(claim, "strength", row.value, [row], where, **given)


def off(comparisons: Iterable[Comparison]) -> float:
    """Return how far measured numbers are from the theory at most, relative to it."""
    return max(c.gap / abs(c.theory) for c in comparisons)


def draw(rows: Rows) -> Plot:
    """Draw both maps with one colour for away and one for towards."""
    rate, step = (rows.where(panel=panel) for panel in AXES)
    lines = [
        Curve("boundary", BLACK, _edge(rate)),
        Curve("boundary for small steps", BLACK, rows.where("condition"), "--"),
    ]
    rates, strengths = AXES["rate"]
    loads, steps = AXES["step"]
    x, y = Axis("π, rate of positives", (), *rates), Axis("θ, strength", (), *strengths)
    left = Panel("along", x, y, lines, "bias step 0.5", cells=_cells(rate), across="across")
    x, y = Axis("η$_b$, bias step", TICKS, *steps), Axis("α₀ = n₀ / d", TICKS, *loads)
    turned = [edge.but(value=edge["along"], across=edge.value) for edge in _edge(step)]
    title, lines = "π = 0.1, θ = 2", [Curve("boundary", BLACK, turned)]
    right = Panel("across", x, y, lines, title, cells=_cells(step), across="along")
    colours, marks = {"cmap": SIGNS, "vmin": -1, "vmax": 1}, {"simulation": DISC}
    bar = "cosine of the query with the signal"
    return curves([left, right], 9.2, 4.2, colours=colours, bar=bar, marks=marks)


TICKS = (0.1, 1, 10)


def _cells(rows: Rows) -> Rows:
    return rows.where("map") + rows.where("simulated")


EXPERIMENT = Experiment("anti-alignment", SIZES, work, judge, {"anti_alignment": draw})
