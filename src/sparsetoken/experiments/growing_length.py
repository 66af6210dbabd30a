"""Length in proportion to the dimension, against the theory of fixed length."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.optimize import OptimizeWarning, curve_fit

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.references import predict_references, reference_curves
from sparsetoken.experiments.core.rows import Row, Rows, predicted
from sparsetoken.experiments.core.rules import placed, report_only
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLUE, SKY
from sparsetoken.model.models import Attention
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.results import Alignment
from sparsetoken.simulation.seeds import seed_of

READOUT = Readout(alpha1=2.0)
STRENGTH = 1.5
"""In units of sqrt(2 log L)."""
ARMS = {"fixed": "α₀ = 1", "growing": "α₀ = L/10"}
"""The two laws of the first data set: the coordinate `arm`, and its name for readers."""
COLOURS = {"fixed": SKY, "growing": BLUE}
MARKERS = "os^D"
"""One for each ratio L/d."""

# Trials at d = 100, in inverse proportion to d elsewhere, at least 4; of the cosine everywhere the
# same number, as its fall with d is best known where its errors are alike.
SIZES = profiles(
    ratios=Size((0.05, 0.1), (0.05, 0.1, 0.2)),
    dimensions=Size((100, 200, 400), (100, 200, 400, 800, 1600)),
    trials=Size(32, 200),
    alignment_trials=Size(2500, 4000),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    yield piece(predict_long, round(min(sizes.ratios) * min(sizes.dimensions)), cost=0.5)
    lengths = sorted({round(ratio * d) for ratio in sizes.ratios for d in sizes.dimensions})
    for arm in ARMS:
        for L in lengths:
            yield piece(predict, arm, L, cost=0.2 + 0.015 * L)
        for i, ratio in enumerate(sizes.ratios):
            for j, d in enumerate(sizes.dimensions):
                few, many = share(sizes.trials, d), sizes.alignment_trials
                one = 0.01 + 0.1 * (d / 400) ** 3
                own = seed_of("growing-length", arm, i, j, seed)
                cost = few * one + many * 2e-4
                yield piece(simulate, arm, ratio, d, few, many, own, cost=cost)


def share(trials: int, dimension: int) -> int:
    """Return the number of trials at a dimension."""
    return max(4, trials * 100 // dimension)


def problem_of(L: int) -> SparseTokenProblem:
    """Return the problem at a length."""
    strength = STRENGTH * math.sqrt(2 * math.log(L))
    return SparseTokenProblem(length=L, informative=1, strength=strength, positive_rate=0.5)


def align(arm: str, L: int) -> Alignment:
    """Return the predicted query at eta_q = 1; its cosine is that at any eta_q."""
    return theory.align(problem_of(L), _unit_steps(arm, L))


def _unit_steps(arm: str, L: int) -> TwoSteps:
    return TwoSteps(1.0 if arm == "fixed" else L / 10, eta_q=1.0)


def steps_of(arm: str, L: int) -> TwoSteps:
    """Return the steps whose query has, in theory, sharpness sqrt(2 log L)."""
    eta_q = math.sqrt(2 * math.log(L)) / float(align(arm, L).sharpness)
    return dataclasses.replace(_unit_steps(arm, L), eta_q=eta_q)


def predict_long(shortest: int) -> Iterator[Row]:
    """Predict the cosine far beyond the lengths that are simulated."""
    for arm in ARMS:
        for L in (round(shortest * 2 ** (i / 2)) for i in range(19)):
            yield predicted(align(arm, L), "cosine", "trend", arm=arm, length=L)


def predict(arm: str, L: int) -> Iterator[Row]:
    """Predict attention and its references at a length."""
    references = predict_references(problem_of(L), steps_of(arm, L), READOUT)
    yield from (row.but(arm=arm, length=L) for row in references)
    yield predicted(align(arm, L), "cosine", "attention", arm=arm, length=L)


def simulate(arm: str, ratio: float, d: int, few: int, many: int, seed: int) -> Iterator[Row]:
    """Simulate the test error in few trials and the cosine in many."""
    L = round(ratio * d)
    at: dict[str, Any] = {"arm": arm, "ratio": ratio, "length": L}
    problem, steps = problem_of(L), steps_of(arm, L)
    given: dict[str, Any] = {"dimension": d, "seed": seed, "at": at}
    learned = (simulation.simulate, problem, Attention(steps), READOUT)
    yield from piece(*learned, trials=few, rows=["test_error"], **given).run()
    yield from piece(simulation.align, problem, steps, trials=many, rows=["cosine"], **given).run()


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Report each simulation beside the theory at its length, and each fall with d."""
    for row in rows.where("simulated"):
        where = f"{ARMS[row['arm']]}, L = {{length}}, L/d = {{ratio:g}}, d = {{dimension}}"
        comparison = report_only("growing-length", row, **placed(row, "{arm}", where, "length"))
        yield dataclasses.replace(comparison, theory=_at_length(rows, row).value)
    for (arm, _), some in lines_of(rows, "cosine"):
        power, error = _fitted_power([relative(rows, row) for row in some])
        where = f"{ARMS[arm]}, L/d = {{ratio:g}}, cosine: relative difference ∝ d^{{{{−p}}}}"
        place = placed(some[-1], "{arm}", where, "length")
        behind = some.trial_sets
        fit = some[-1].but(
            quantity="power of d", value=power, error=error, values=(), behind=behind
        )
        yield report_only("growing-length", fit, key=True, **place)


def lines_of(rows: Rows, quantity: str) -> list[tuple[Any, Rows]]:
    """Return the simulated rows at each (arm, ratio), in order of dimension."""
    return list(rows.where("simulated", quantity).by("arm", "ratio"))


def _at_length(rows: Rows, row: Row) -> Row:
    return rows.where("attention").beside(row)


def relative(rows: Rows, row: Row) -> Row:
    """Return measured / theory - 1."""
    expected = _at_length(rows, row).value
    return row.but(value=row.value / expected - 1, error=row.error / abs(expected))


def _fitted_power(line: Sequence[Row]) -> tuple[float, float]:
    """Return p of difference = a d^-p with its standard error; nan without a fit."""

    def law(u: np.ndarray, a: float, p: float) -> np.ndarray:
        return a * u**-p

    def slopes(u: np.ndarray, a: float, p: float) -> np.ndarray:
        return np.column_stack([u**-p, -a * u**-p * np.log(u)])

    u = np.array([row.dimension / line[0].dimension for row in line])
    value, error = np.array([(row.value, row.error) for row in line]).T
    with warnings.catch_warnings():
        warnings.simplefilter("error", OptimizeWarning)
        try:
            (_, power), covariance = curve_fit(
                law, u, value, (value[0], 0.5), error, absolute_sigma=True, jac=slopes
            )
        except (RuntimeError, OptimizeWarning):
            return math.nan, math.nan
    return float(power), float(np.sqrt(covariance[1, 1]))


def draw(rows: Rows) -> Plot:
    """Draw test error (left), cosine (middle), its relative difference to theory (right)."""
    errors, cosines = (rows.where("simulated", name) for name in ("test_error", "cosine"))
    known = reference_curves(rows.where(arm="growing"), ("pooled", "floor", "bayes"))
    left = [*known, *_theory(rows.where("attention", "test_error")), *_measured(errors)]
    middle = [*_theory(rows.where("trend")), *_measured(cosines)]
    right = _measured(Rows(relative(rows, row) for row in cosines), "-")
    L, d = (Axis(x, sorted(errors.distinct(n))) for x, n in (("L", "length"), ("d", "dimension")))
    title, zero = "cosine, measured / theory − 1", dict[str, Any](color="black", lw=0.8)
    panels = [
        Panel("length", L, Axis(""), left, "test error"),
        Panel("length", Axis("L", log=True), Axis(""), middle, "cosine of the query"),
        Panel("dimension", d, Axis(""), right, title, lambda axes: axes.axhline(0, **zero)),
    ]
    return curves(panels, 11.0, 4.2, columns=4)


def _theory(rows: Rows) -> list[Curve]:
    return [
        Curve(f"attention, {name}, theory", COLOURS[arm], rows.where(arm=arm))
        for arm, name in ARMS.items()
    ]


def _measured(rows: Rows, dashes: str = "") -> list[Curve]:
    lines = []
    for ratio, marker in zip(sorted(rows.distinct("ratio")), MARKERS, strict=False):
        for arm, name in ARMS.items():
            some, label = rows.where(arm=arm, ratio=ratio), f"{name}, L/d = {ratio:g}"
            lines.append(Curve(label, COLOURS[arm], some, marker=marker + dashes))
    return lines


EXPERIMENT = Experiment("growing-length", SIZES, work, judge, {"growing_length": draw})
