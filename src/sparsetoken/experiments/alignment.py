"""Query alignment: the cosines of query and readout after two gradient steps."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, carried_to_infinity
from sparsetoken.experiments.core.places import compare, near
from sparsetoken.experiments.core.rows import REDUCED, TENSORS, THEORY, Row, Rows
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import COLOURS
from sparsetoken.model import presets
from sparsetoken.model.stages import TwoSteps
from sparsetoken.results import FoundQuery
from sparsetoken.results.record import Numbers
from sparsetoken.simulation.seeds import seed_of

PROBLEM, STEPS = presets.alignment().problem, presets.alignment().query
QUANTITIES = ("cosine", "readout_cosine")
CHOICES = ((1.0, 1.0), (0.1, 1.0), (10.0, 1.0), (1.0, 0.1), (1.0, 10.0))
"""Choices of eta_q and beta; the others are compared with the first."""
CHOICE_SIZES = (200, 3)
"""Dimension and trials with real tokens there: each trial must show it, so that few will do."""
ROUNDING = 1e-12  # of the few dozen operations that find a query

SIZES = profiles(
    alphas=Size(
        (0.25, 0.5, 1.0, 2.0, 5.0, 10.0),
        (0.25, 0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8, 4.0, 5.0, 7.0, 10.0),
    ),
    dimensions=Size((500, 1000, 2000), (1000, 2000, 4000)),
    trials=Size(400, 2000),  # at d = 1000; in inverse proportion to d elsewhere
    key=(0.5, 2.0, 10.0),
    tensors=(2.0, 1000, 10),  # alpha0, dimension and trials with real tokens
    curve_points=40,
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    line = np.geomspace(sizes.alphas[0], sizes.alphas[-1], sizes.curve_points)
    loads = np.union1d(line, [*sizes.alphas, sizes.tensors[0]])
    yield piece(theory.align, PROBLEM, steps_at(loads), rows=QUANTITIES, cost=0.05)
    yield piece(vary_steps, *CHOICE_SIZES, seed_of("alignment", "steps", seed), cost=0.5)
    for i, alpha0 in enumerate(sizes.alphas):
        for d in sizes.dimensions:
            trials, own = sizes.trials * 1000 // d, seed_of("alignment", i, d, seed)
            yield _simulated(alpha0, d, trials, own, REDUCED, cost=trials * 0.0013)
    alpha0, d, trials = sizes.tensors
    own = seed_of("alignment", "tensors", seed)
    yield _simulated(alpha0, d, trials, own, TENSORS, cost=trials * alpha0 * 0.5)


def steps_at(alpha0: Numbers, eta_q: float = 1.0, beta: float = 1.0) -> TwoSteps:
    """Return the steps at a load."""
    return dataclasses.replace(STEPS, alpha0=alpha0, eta_q=eta_q, beta=beta)


def _simulated(alpha0: float, d: int, trials: int, seed: int, engine: str, cost: float) -> Piece:
    sizes: dict[str, Any] = {"dimension": d, "trials": trials, "seed": seed, "engine": engine}
    wanted: dict[str, Any] = {"rows": QUANTITIES, "at": {"alpha0": alpha0}, "cost": cost}
    return piece(simulation.align, PROBLEM, steps_at(alpha0), **sizes, **wanted)


def vary_steps(dimension: int, trials: int, seed: int) -> Iterator[Row]:
    """Predict and simulate all choices of eta_q and beta, on the same real tokens."""
    steps = [steps_at(2.0, *choice) for choice in CHOICES]
    sizes: dict[str, Any] = {"dimension": dimension, "trials": trials, "engine": TENSORS}
    yield from _changes(THEORY, [theory.align(PROBLEM, one) for one in steps])
    taken = [simulation.align(PROBLEM, one, seed=seed, **sizes).trials for one in steps]
    yield from _changes(TENSORS, taken)


def _changes(engine: str, queries: Sequence[FoundQuery]) -> Iterator[Row]:
    """Return the distances of the queries of the other choices from the first, in all trials."""
    cosines = np.stack([np.atleast_1d(a.cosine) for a in queries])
    norms = np.stack([np.atleast_1d(a.norm) for a in queries])
    scaled = norms / np.array([[eta_q * beta] for eta_q, beta in CHOICES])  # sharpness: beta |q|
    moved = float(np.max(np.abs(cosines - cosines[0])))
    ratio = float(np.max(scaled.max(axis=0) / scaled.min(axis=0)))
    yield Row("other steps", "moved cosine", moved, engine=engine)
    yield Row("other steps", "sharpness over η_q β²", ratio, engine=engine)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare at each load, and the choices of the steps."""
    for _, some in at_places(rows):
        yield from (_against_theory(sizes, rows, some.where(quantity=n)) for n in QUANTITIES)
    for row in rows.where("other steps"):
        trials = ", every trial" * (row.engine == TENSORS)
        place = ([row], f"{len(CHOICES) - 1} choices of η_q and β{trials}")
        given: dict[str, Any] = {"curve": "query", "key": True, "allowance": ROUNDING}
        given["expected"] = 0.0 if row.quantity == "moved cosine" else 1.0
        yield near("steps-set-sharpness-only", row.quantity, row.value, *place, **given)


def at_places(rows: Rows) -> list[tuple[Any, Rows]]:
    """Return the simulated rows at each (engine, alpha0), in order of dimension."""
    simulated = Rows(sorted(rows.where("simulated"), key=lambda row: row.dimension))
    return sorted(simulated.by("engine", "alpha0"), key=lambda pair: pair[0][1])


def _against_theory(sizes: Sizes, rows: Rows, simulated: Rows) -> Comparison:
    """Compare the cosine extrapolated from several dimensions, or that at a single one."""
    several, first = len(simulated) > 1, simulated[0]
    dimensions = ", ".join(str(row.dimension) for row in simulated) + " → ∞" * several
    options: dict[str, Any] = {"shift": NO_SHIFT} if several else {}
    options["key"] = first["alpha0"] in sizes.key or first.engine == TENSORS
    place = ("{quantity}", f"α₀ = {{alpha0:g}}, d = {dimensions}", "alpha0")
    row = carried_to_infinity(simulated) if several else first
    return compare("query-alignment", rows.where(THEORY), row, *place, **options)


def draw(rows: Rows) -> Plot:
    """Draw both cosines against the load, simulated at the largest dimensions."""
    largest = [row for _, some in at_places(rows) for row in some[-2:]]
    shown = rows.where(THEORY) + largest
    curve_of = {"cosine": "query, cos(q₂, ξ)", "readout_cosine": "readout, cos(w₁, ξ)"}
    lines = [Curve(n, COLOURS[name], shown.where(quantity=name)) for name, n in curve_of.items()]
    x = Axis("α₀ = n₀ / d", ticks=(0.25, 0.5, 1, 2, 5, 10))
    panel = Panel("alpha0", x, Axis("cosine with the signal", high=1.0), lines)
    return curves([panel], columns=2)


EXPERIMENT = Experiment("alignment", SIZES, work, judge, {"alignment": draw})
