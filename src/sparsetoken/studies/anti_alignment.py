"""Anti-alignment: where the query turns away from the signal, and what the bias step does."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from scipy import optimize

import sparsetoken as st
from sparsetoken.figures.palette import BLACK
from sparsetoken.figures.style import log_axis
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    PROVED,
    Claim,
    Comparison,
    Number,
    all_true,
    compare,
    largest_z,
    predicted,
    within,
)
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.studies.words import listed, number
from sparsetoken.theory import sign_margin, small_step_margin

TINY = 1e-6
"""Steps of the first stage that stand for the limit of small steps."""
CLAIMS = {
    "rate": "anti-alignment-of-rare-positives",
    "step": "bias-step-turns-it-back",
    "small": "small-step-condition",
}
"""By panel: rate and step are the two maps, small is rate with tiny steps. A place of a panel is
along the boundary, at a positive rate or alpha0, and across it, at a strength or eta_b."""
VARIED = dict.fromkeys(CLAIMS, ("positive_rate", "strength")) | {"step": ("alpha0", "eta_b")}
RATES, STRENGTHS = (0.02, 0.6), (0.25, 8.0)
LOADS, BIAS_STEPS = (0.1, 10.0), (0.1, 30.0)
"""The ends of the maps."""
EDGES = {
    "rate": {0.06: 7.16, 0.12: 4.73, 0.2: 3.29, 0.3: 2.21},
    "step": {0.25: 3.69, 1.0: 3.81, 4.0: 3.84},
    "small": {0.06: 7.93, 0.12: 5.21, 0.2: 3.59, 0.3: 2.39},
}
"""The boundary, across, to three digits: the simulations are at multiples of it."""
FACTORS = (0.5, 0.8, 1.25, 2.0)
PLACES = {
    (panel, along, factor * across): (panel, i, j)
    for panel, edge in EDGES.items()
    for i, (along, across) in enumerate(edge.items())
    for j, factor in enumerate(FACTORS)
}
"""Those of the simulations, and the names from which their seeds come."""
WHERE = {"rate": "π = {:g}, θ = {:.3g}", "step": "α₀ = {:g}, η_b = {:.3g}"}
WHERE["small"] = f"{WHERE['rate']}, steps of {TINY:g}"
LOOK: dict[str, Any] = {"cmap": "PuOr", "vmin": -1, "vmax": 1}
"""From orange's opposite to orange: colour-blind readers tell the ends apart."""


def setting(panel: str, along: Any, across: Any) -> tuple[st.SparseTokenProblem, st.TwoSteps]:
    """Return the problem and the steps at a place of a panel."""
    preset = st.presets.anti_alignment(**dict(zip(VARIED[panel], (along, across), strict=True)))
    tiny = {"eta_w": TINY, "eta_b": TINY} if panel == "small" else {}
    return preset.problem, dataclasses.replace(preset.query, **tiny)


def small_step_strength(pi: float) -> float:
    """Return the strength at which the small-step margin, linear in theta^2, is 0."""
    at_0, at_1 = (small_step_margin(setting("rate", pi, theta)[0]) for theta in (0.0, 1.0))
    return math.sqrt(max(-at_0 / (at_1 - at_0), 0.0))


def boundary(panel: str, along: float) -> float:
    """Return the value across at which the cosine changes sign."""
    low, high = BIAS_STEPS if panel == "step" else STRENGTHS

    def margin(across: float) -> float:
        return sign_margin(*setting(panel, along, across))

    return float(optimize.brentq(margin, low / 4, 2 * high))


def _grid(panel: str, cells: int) -> tuple[Any, Any]:
    """Return the axes of a map, along and across."""
    if panel == "rate":
        return np.linspace(*RATES, cells), np.linspace(*STRENGTHS, cells)
    return np.geomspace(*LOADS, cells), np.geomspace(*BIAS_STEPS, cells)


def _edge(run: Run, panel: str) -> dict[float, Number]:
    """Return the boundary of a panel."""
    return {key[-1]: Number(root) for key, root in run.theory.items()
            if key[:-1] == ("boundary", panel)}  # fmt: skip


class AntiAlignment(Study):
    """The sign of the cosine of the query, against all that decides it."""

    name, title = "anti-alignment", "Anti-alignment"
    claims = (
        Claim(
            CLAIMS["rate"],
            "With rare positives and a weak signal, two gradient steps turn the query away from "
            "the signal; the sign condition gives the boundary.",
            "Theorem on query alignment, sign (15)",
            PROVED,
        ),
        Claim(
            CLAIMS["step"],
            "A larger bias step η_b, which offsets the label imbalance, turns such a query back "
            "towards the signal.",
        ),
        Claim(
            CLAIMS["small"],
            "For small steps the query turns towards the signal if and only if "
            "π θ² R (1 − R/L) > (1 − 2π)(L − 1).",
        ),
    )
    sizes = profiles(cells=Size(12, 61), trials=Size(48, 64), dimension=1000)  # cells each way
    paper = "Finer maps and more trials."
    caption = (
        "Predicted cosine of the query with the signal; a negative query turns away. Left: against "
        "the rate of positives and the strength. Right: against the bias step and the load α₀ of "
        "the first data set, for rare positives. Lines: where the cosine is 0. Discs: simulation, "
        "filled with the colour of the measured mean, so that a disc that blends in agrees."
    )

    def theory(self, at: Sizes) -> Calls:
        calls: dict[Any, Any] = {p: partial(st.align, *setting(*p)) for p in PLACES}
        for panel in ("rate", "step"):
            along, across = _grid(panel, at.cells)
            calls["map", panel] = partial(st.align, *setting(panel, along[:, None], across))
        for pi in np.linspace(RATES[0], 0.49, at.cells).tolist():
            calls["boundary", "rate", pi] = partial(boundary, "rate", pi)
            calls["boundary", "small", pi] = partial(boundary, "small", pi)
            calls["condition", pi] = partial(small_step_strength, pi)
        for alpha0 in np.geomspace(*LOADS, at.cells).tolist():
            calls["boundary", "step", alpha0] = partial(boundary, "step", alpha0)
        return calls

    def simulation(self, at: Sizes, seed: int) -> Calls:
        size = {"dimension": at.dimension, "trials": at.trials}
        return {
            place: partial(
                st.simulation.align,
                *setting(*place),
                **size,
                seed=seed_of("anti-alignment", *name, seed),
            )
            for place, name in PLACES.items()
        }

    def judge(self, run: Run) -> Iterator[Comparison]:
        for panel, claim in CLAIMS.items():
            places = [place for place in PLACES if place[0] == panel]
            pairs = [
                (predicted(run.theory[place], "cosine"), run.measured(place, "cosine"))
                for place in places
            ]
            yield self._signs(claim, pairs)
            yield from self._small_steps(run) if panel == "small" else [self._sides(run, panel)]
            for (_, *place), pair in zip(places, pairs, strict=True):
                where = WHERE[panel].format(*place)
                yield compare(claim, "cosine", *pair, curve="query", where=where)

    def _signs(self, claim: str, pairs: Sequence[tuple[Number, Number]]) -> Comparison:
        """Judge the signs of measured cosines that are predicted far enough from 0."""
        clear = [
            found.value * known.value > 0
            for known, found in pairs
            if abs(known.value) > 4 * found.error
        ]
        where = f"{len(clear)} of {len(pairs)} places, |theory| > 4 standard errors"
        name = "fraction of measured cosines with the predicted sign"
        used = [found for _, found in pairs]
        return all_true(claim, name, clear, used, curve="query", where=where, key=True)

    def _sides(self, run: Run, panel: str) -> Comparison:
        """Judge the sign of the mapped cosines by the side of the boundary they are on."""
        (along, across), edge = _grid(panel, run.at.cells), _edge(run, panel)
        solved = [root.value for root in edge.values()]
        ratio = across / np.interp(along, list(edge), solved, np.nan, np.nan)[:, None]
        # Between two solved places the boundary is interpolated: cells within 5 % do not count.
        decided, result = np.abs(ratio - 1) > 0.05, run.theory["map", panel]
        true = ((result.cosine > 0) == (ratio > 1))[decided]
        name, where = "fraction of cells on the predicted side", f"{len(true)} cells of the map"
        used = [predicted(one, "cosine") for row in result for one in row]
        return all_true(CLAIMS[panel], name, true, used, curve="query", where=where)

    def _small_steps(self, run: Run) -> Iterator[Comparison]:
        found = {place[1]: place for place in run.theory if place[0] == "condition"}
        for i, (pi, place) in enumerate(found.items()):
            root = Number(run.theory["boundary", "small", pi])
            expected = run.theory[place]
            allowed = 1e-4 * expected  # steps of 1e-6 move scores by about as much, times θ²
            where = f"boundary at π = {pi:.3g}, steps of {TINY:g}"
            given: dict[str, Any] = {"curve": "query", "where": where, "key": i == 0}
            yield within(CLAIMS["small"], "strength", root, expected, allowed, **given)

    def setting(self, at: Sizes) -> str:
        return (
            "L = 10, R = 3, logistic loss, η_w = 0.5. Computed: the cosine of the query on two "
            "grids, over π and θ at α₀ = 2 and η_b = 0.5, and over η_b and α₀ at π = 0.1 and "
            "θ = 2; the boundary is the root of the sign condition along one axis. Simulated: the "
            f"cosine at d = {at.dimension}, {at.trials} trials, reduced engine, at "
            f"{listed(FACTORS)} times the boundary value, and with steps of {number(TINY)} at the "
            "same multiples of the strength of the small-step condition."
        )

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        cosines, (rates, strengths) = run.theory["map", "rate"].cosine, _grid("rate", run.at.cells)
        i, j = np.unravel_index(np.argmin(cosines), cosines.shape)
        edge = [root.value for root in _edge(run, "step").values()]
        small = [c for c in comparisons if c.quantity == "strength"]
        off = max(abs(c.measured - c.theory) / c.theory for c in small)
        return (
            f"The query turns away from the signal in {100 * np.mean(cosines < 0):.0f} % of the "
            f"first map; the lowest cosine there is {cosines[i, j]:.2f}, at π = {rates[i]:.2f} and "
            f"θ = {strengths[j]:.2f}. With π = 0.1 and θ = 2 a bias step between {min(edge):.2f} "
            f"and {max(edge):.2f}, depending on α₀, turns it back. With steps of {number(TINY)} "
            f"the boundary agrees with the small-step condition to a relative error of "
            f"{number(off)}. The largest |z| of a measured cosine is {largest_z(comparisons):.1f}."
        )

    def draw(self, run: Run) -> Figure:
        figure, (left, right) = plot.panels(2, 9.2, 4.2)
        maps = {panel: run.theory["map", panel].cosine for panel in ("rate", "step")}
        discs = [(*place, run.measured(place, "cosine")) for place in PLACES]
        rate, step = ([(*place, n) for one, *place, n in discs if one == panel] for panel in maps)
        plot.colour_map(left, *_grid("rate", run.at.cells), maps["rate"].T, rate, **LOOK)
        edge = _edge(run, "rate")
        plot.curve(left, list(edge), list(edge.values()), BLACK, "boundary")
        pis = [place[1] for place in run.theory if place[0] == "condition"]
        small = [Number(run.theory["condition", pi]) for pi in pis]
        plot.curve(left, pis, small, BLACK, "boundary for small steps", "--")
        left.set(xlim=RATES, ylim=STRENGTHS, title="bias step 0.5")
        left.set(xlabel="π, rate of positives", ylabel="θ, strength")
        # Here the boundary is a value across, drawn along the horizontal axis.
        loads, steps = _grid("step", run.at.cells)
        turned = [(across, along, n) for along, across, n in step]
        mesh = plot.colour_map(right, steps, loads, maps["step"], turned, **LOOK)
        edge = _edge(run, "step")
        x = [root.value for root in edge.values()]
        plot.curve(right, x, [Number(alpha0) for alpha0 in edge], BLACK, "boundary")
        for axis in (right.xaxis, right.yaxis):
            log_axis(axis, (0.1, 1, 10))
        right.set(xlim=BIAS_STEPS, ylim=LOADS, title="π = 0.1, θ = 2")
        right.set(xlabel="η$_b$, bias step", ylabel="α₀ = n₀ / d")
        figure.colorbar(mesh, ax=right, label="cosine of the query with the signal")
        return plot.finish(figure, {"simulation": plot.DISC})
