"""Anti-alignment: where the query turns away from the signal, and what the bias step does."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy import optimize

import sparsetoken as st
from sparsetoken.figures.palette import BLACK
from sparsetoken.studies.claims import PAPER, PROVED, Claim, Number, all_true, predicted, row
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import Call, Experiment, Run, Study, measured
from sparsetoken.theory import sign_margin, small_step_margin

PRESET = st.presets.anti_alignment()
PROBLEM, STEPS = PRESET.problem, PRESET.query
TINY = 1e-6
"""Steps of the first stage that stand for the limit of small steps."""
CLAIMS = {
    "rate": "anti-alignment-of-rare-positives",
    "step": "bias-step-turns-it-back",
    "small": "small-step-condition",
}
"""By map; small is rate with tiny steps, and is not drawn. A place of a map is along the boundary,
at a positive rate or alpha0, and across it, at a strength or eta_b."""
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
PLACES = [
    (name, along, factor * across)
    for name, edge in EDGES.items()
    for along, across in edge.items()
    for factor in FACTORS
]
CELLS = 16
"""Of a map, each way."""
WHERE = {"rate": "π = {:g}, θ = {:.3g}", "step": "α₀ = {:g}, η_b = {:.3g}"}
WHERE["small"] = f"{WHERE['rate']}, steps of {TINY:g}"
COLOURS: dict[str, Any] = {"cmap": "PuOr", "vmin": -1, "vmax": 1}
"""From orange at -1 to purple at 1: colour-blind readers tell the ends apart."""
PANELS = {
    "rate": Panel(
        f"bias step {STEPS.eta_b:g}",
        "π, rate of positives",
        "θ, strength",
        limits={"xlim": RATES, "ylim": STRENGTHS},
        colours=COLOURS,
    ),
    "step": Panel(
        f"π = {PROBLEM.positive_rate:g}, θ = {PROBLEM.strength:g}",
        "η$_b$, bias step",
        "α₀ = n₀ / d",
        log={"x": (0.1, 1, 10), "y": (0.1, 1, 10)},
        limits={"xlim": BIAS_STEPS, "ylim": LOADS},
        colours=COLOURS,
        bar="cosine of the query with the signal",
    ),
}
BOUNDARY, SMALL = "boundary", "boundary for small steps"


def setting(name: str, along: Any, across: Any) -> tuple[st.SparseTokenProblem, st.TwoSteps]:
    """Return the problem and the steps at a place of a map."""
    preset = st.presets.anti_alignment(**dict(zip(VARIED[name], (along, across), strict=True)))
    tiny = {"eta_w": TINY, "eta_b": TINY} if name == "small" else {}
    return preset.problem, dataclasses.replace(preset.query, **tiny)


def boundary(name: str, along: float) -> float:
    """Return the value across at which the cosine changes sign."""
    low, high = BIAS_STEPS if name == "step" else STRENGTHS

    def margin(across: float) -> float:
        return sign_margin(*setting(name, along, across))

    return float(optimize.brentq(margin, low / 4, 2 * high))


def small_step_strength(pi: float) -> float:
    """Return the strength at which the small-step margin, linear in theta^2, is 0."""
    at_0, at_1 = (small_step_margin(setting("rate", pi, theta)[0]) for theta in (0.0, 1.0))
    return math.sqrt(max(-at_0 / (at_1 - at_0), 0.0))


def _grid(name: str, scale: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the axes of a map, along and across."""
    if name == "rate":
        return np.linspace(*RATES, CELLS * scale), np.linspace(*STRENGTHS, CELLS * scale)
    return np.geomspace(*LOADS, CELLS * scale), np.geomspace(*BIAS_STEPS, CELLS * scale)


def _edges(name: str, scale: int) -> list[float]:
    """Return the places along a boundary where it is solved for."""
    if name == "step":
        return [float(alpha0) for alpha0 in np.geomspace(*LOADS, CELLS * scale)]
    # From a rate of 1/2 a query never turns away for want of positives.
    return [float(pi) for pi in np.linspace(RATES[0], 0.49, CELLS * scale)]


def _drawn(name: str, along: float, across: float) -> dict[str, Any]:
    """Return where a place of a map is drawn: the boundary of the second goes upwards."""
    if name not in PANELS:
        return {}
    x, y = (across, along) if name == "step" else (along, across)
    return {"panel": PANELS[name].name, "x": x, "y": y}


class AntiAlignment(Study):
    """The sign of the cosine of the query, against all that decides it."""

    name, title = "anti-alignment", "Anti-alignment"
    setting = (
        f"L = {PROBLEM.length}, R = {PROBLEM.informative}, logistic loss, η_w = {STEPS.eta_w:g}; "
        f"left, α₀ = {STEPS.alpha0:g}. Simulated at {', '.join(f'{f:g}' for f in FACTORS)} times "
        "the value at the boundary, and so for small steps, of 10^{−6}."
    )
    caption = (
        "Predicted cosine of the query with the signal, which a negative one turns away from: "
        "against the rate of positives and the strength, and against the bias step and the load of "
        "the first data set for rare positives; a disc that blends in agrees."
    )
    claims = (
        Claim(
            CLAIMS["rate"],
            "With rare positives and a weak signal, two gradient steps turn the query away from "
            "the signal; the sign condition gives the boundary.",
            "Theorem on query alignment, sign (15)",
            PROVED,
            PAPER,
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
    panels = tuple(PANELS.values())
    looks = {BOUNDARY: Look(BLACK), SMALL: Look(BLACK, "--")}  # noqa: RUF012

    def theory(self, scale: int) -> Mapping[Any, Call]:
        calls: dict[Any, Call] = {p: partial(st.align, *setting(*p)) for p in PLACES}
        for name in PANELS:
            along, across = _grid(name, scale)
            calls["map", name] = partial(st.align, *setting(name, along[:, None], across))
        for name in CLAIMS:
            for place in _edges(name, scale):
                calls["boundary", name, place] = partial(boundary, name, place)
        for pi in _edges("small", scale):
            calls["condition", pi] = partial(small_step_strength, pi)
        return calls

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        return {
            place: Experiment(
                partial(st.simulation.align, *setting(*place)), (250, 1000), 120 * scale
            )
            for place in PLACES
        }

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        for name in PANELS:
            yield from self._map(run, name)
        yield from self._small_steps(run)
        for name, claim in CLAIMS.items():
            clear, used = [], []
            for place in (place for place in PLACES if place[0] == name):
                some, known = run.simulated[place], predicted(run.theory[place], "cosine")
                found = measured("cosine", some)
                where = f"{WHERE[name].format(*place[1:])}, {some.experiment.where}"
                drawn = _drawn(*place)
                given = {"claim": claim, "curve": "query", "quantity": "cosine", "where": where}
                yield row(known, found, **given, **drawn)
                used.append(found)
                if abs(known.value) > 4 * found.error:
                    clear.append(found.value * known.value > 0)
            where = f"{len(clear)} of {len(used)} places, |theory| > 4 standard errors"
            given = {"quantity": "measured cosine has the predicted sign", "where": where}
            yield all_true(clear, used, claim=claim, curve="query", key=True, **given)

    def _map(self, run: Run, name: str) -> Iterator[dict[str, Any]]:
        """Draw a map with its boundary, and judge on which side of it each cosine is."""
        (along, across), result = _grid(name, run.scale), run.theory["map", name]
        cells = [[predicted(one, "cosine") for one in line] for line in result]
        for a, line in zip(along.tolist(), cells, strict=True):
            for b, cosine in zip(across.tolist(), line, strict=True):
                yield row(cosine, curve="query", **_drawn(name, a, b))
        edge = {a: run.theory["boundary", name, a] for a in _edges(name, run.scale)}
        for a, b in edge.items():
            place = _drawn(name, a, b)
            yield row(place.pop("y"), curve=BOUNDARY, **place)
        ratio = across / np.interp(along, list(edge), list(edge.values()), np.nan, np.nan)[:, None]
        # Between two solved places the boundary is interpolated: cells within 5 % do not count.
        decided = np.abs(ratio - 1) > 0.05
        true = ((result.cosine > 0) == (ratio > 1))[decided]
        given = {"quantity": "cosine is on the predicted side", "where": f"{len(true)} cells"}
        used = [one for line in cells for one in line]
        yield all_true(true, used, claim=CLAIMS[name], curve="query", **given)

    def _small_steps(self, run: Run) -> Iterator[dict[str, Any]]:
        """Draw the condition for small steps, and compare it with the boundary at tiny ones."""
        for i, pi in enumerate(_edges("small", run.scale)):
            expected = run.theory["condition", pi]
            yield row(expected, panel=PANELS["rate"].name, curve=SMALL, x=pi)
            yield row(
                expected,
                Number(run.theory["boundary", "small", pi]),
                claim=CLAIMS["small"],
                curve="query",
                quantity="strength",
                where=f"boundary at π = {pi:.3g}, steps of {TINY:g}",
                # Such steps move scores by about as much, times the square of the strength.
                allowance=1e-4 * expected,
                key=i == 0,
            )
