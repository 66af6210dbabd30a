"""Length in proportion to the dimension: the query's distribution, and its random limit."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.figures.palette import BLUE, GREEN, ORANGE, PURPLE, SKY, VERMILION
from sparsetoken.studies.claims import (
    SMALL,
    Claim,
    Number,
    all_true,
    line,
    predicted,
    row,
    to_infinity,
)
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import Call, Experiment, Run, Study, measured
from sparsetoken.theory.query.finite_dimension import drawn_queries

READOUT = st.Readout(alpha1=2.0)
STRENGTH = 1.5
"""In units of sqrt(2 log L)."""
ARMS = {"fixed": "α₀ = 1", "growing": "α₀ = L/10"}
"""The two sizes of the first data set, and their names for readers."""
DIMENSIONS = {0.1: (50, 100, 200, 400), 1.0: (25, 50, 100, 200)}
"""By the ratio L/d."""
ERRORS = {0.1: (50, 200), 1.0: (25, 100)}
"""Those at which test errors are measured too."""
CURVES = {
    (arm, ratio): f"{text}, L = {'d' if ratio == 1 else f'{ratio:g} d'}"
    for arm, text in ARMS.items()
    for ratio in DIMENSIONS
}
STEPS = {0.5: "η_b = 0.5", 4.0: "η_b = 4"}
"""Of the bias: the default, and that at which the classes drawn do not matter."""
PAINTS = (SKY, ORANGE, BLUE, VERMILION, GREEN, PURPLE)
LOOKS = {
    name: Look(paint, label=name.replace("_b", "$_b$"))
    for name, paint in zip((*CURVES.values(), *STEPS.values()), PAINTS, strict=True)
}
LIMIT = (25, 50, 100, 200, 400)
"""Dimensions, and lengths, at which the approach to the limit is computed."""
MEASURED = (50, 200)
"""Those at which it is measured, for a line in 1/d."""
ALIGNED, ERROR, APPROACH = "cosine of the query", "test error", "approach to the limit, L = d"
QUESTION, RANDOM = "growing-length", "growing-length-alignment"


def problem_of(L: Any) -> st.SparseTokenProblem:
    """Return the problem at a length, with the least strength order that attention needs."""
    return st.SparseTokenProblem(L, 1, STRENGTH * np.sqrt(2 * np.log(L)), positive_rate=0.5)


def steps_of(arm: str, L: int) -> st.TwoSteps:
    """Return the steps whose query has, at fixed length, sharpness sqrt(2 log L)."""
    steps = st.TwoSteps(1.0 if arm == "fixed" else L / 10, eta_q=1.0)
    sharpness = float(st.align(problem_of(L), steps).sharpness)
    return dataclasses.replace(steps, eta_q=math.sqrt(2 * math.log(L)) / sharpness)


def of_cosines(problem: st.SparseTokenProblem, steps: st.TwoSteps, dimension: int) -> list[Number]:
    """Return mean and variance of the cosine over data sets at a dimension, by the theory."""
    cosine = drawn_queries(problem, steps, dimension).cosine
    some = (cosine, _squares(cosine))
    return [Number(float(v.mean()), float(v.std() / math.sqrt(len(v)))) for v in some]


def cosines_at(arm: str, L: int, dimension: int) -> list[Number]:
    """Return mean and variance of the cosine of an arm."""
    return of_cosines(problem_of(L), steps_of(arm, L), dimension)


def errors_at(arm: str, L: int, dimension: int) -> Any:
    """Return the prediction of attention with the query at a dimension."""
    model = st.Attention(steps_of(arm, L))
    return st.predict(problem_of(L), model, READOUT, dimension=dimension, tolerance=0.05)


def align(arm: str, L: int, **options: Any) -> Any:
    """Simulate the query of an arm; options are as of the simulation."""
    return st.simulation.align(problem_of(L), steps_of(arm, L), **options)


def simulate(arm: str, L: int, **options: Any) -> Any:
    """Simulate attention of an arm; options are as of the simulation."""
    return st.simulate(problem_of(L), st.Attention(steps_of(arm, L)), READOUT, **options)


def setting(eta_b: float, d: int) -> tuple[st.SparseTokenProblem, st.TwoSteps]:
    """Return the problem and the steps whose limit is known, with L = d and n0 = L d / 5."""
    return st.SparseTokenProblem(d, 2, 2.0, positive_rate=0.5), st.TwoSteps(0.2 * d, eta_b=eta_b)


def limit(eta_b: float) -> list[float]:
    """Return mean and variance over the imbalance of the classes of the limit of the cosine."""
    Z, weight = np.polynomial.hermite_e.hermegauss(80)
    cosine = st.theory.growing_length_cosine(*setting(eta_b, 100), 100, Z)
    mean = float(cosine @ weight / weight.sum())
    return [mean, float((cosine - mean) ** 2 @ weight / weight.sum())]


def _squares(values: Any) -> np.ndarray:
    """Return values whose mean is the variance."""
    values = np.asarray(values, float)
    return (values - values.mean()) ** 2 * len(values) / (len(values) - 1)


def _cosine_squares(trials: Any) -> np.ndarray:
    return _squares(trials.cosine)


MOMENTS: dict[str, Any] = {"cosine": "cosine", "variance of the cosine": _cosine_squares}


class GrowingLength(Study):
    """Attention on sequences as long as a part of the dimension."""

    name, title = "growing-length", "Length in proportion to dimension"
    setting = (
        f"R = 1, π = 0.5, θ = {STRENGTH:g} √(2 log L), logistic loss, λ = 0.01, "
        f"α₁ = {READOUT.alpha1:g}, η_w = η_b = 0.5, and η_q such that the sharpness is √(2 log L) "
        "at fixed length; theory and simulation at the same d and L. The limit: R = 2, θ = 2, "
        "n₀ = L d/5."
    )
    caption = (
        "Test error and cosine of the query where the length L grows with the dimension d, with "
        "two sizes of the first data set; right, how the mean cosine approaches its limit."
    )
    claims = (
        Claim(
            QUESTION,
            "The paper leaves open what happens if the length grows with the dimension. At L = c d "
            "the cosine of the query, its spread over data sets and the test error are those of "
            "the distribution of the query at the actual n₀, d and L.",
        ),
        Claim(
            RANDOM,
            "At L = c d two steps need n₀ = a L d samples. The cosine then has a random limit, a "
            "function of the imbalance of the classes drawn; with η_b = 4 it is not random.",
        ),
    )
    panels = (
        Panel(ERROR, "L", log={"x": (5, 10, 20, 50, 100, 200)}),
        Panel(ALIGNED, "L", log={"x": (5, 10, 20, 50, 100, 200)}),
        Panel(APPROACH, "d", "mean cosine", log={"x": LIMIT}),
    )
    looks = LOOKS

    def theory(self, scale: int) -> Mapping[Any, Call]:
        calls: dict[Any, Call] = {}
        for arm, ratio in CURVES:
            for d in DIMENSIONS[ratio]:
                calls["cosine", arm, ratio, d] = partial(cosines_at, arm, round(ratio * d), d)
            for d in ERRORS[ratio]:
                calls["error", arm, ratio, d] = partial(errors_at, arm, round(ratio * d), d)
        for eta_b in STEPS:
            calls["limit", eta_b] = partial(limit, eta_b)
            for d in LIMIT:
                calls["approach", eta_b, d] = partial(of_cosines, *setting(eta_b, d), d)
        return calls

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        every: dict[Any, Experiment] = {}
        for arm, ratio in CURVES:
            for d in DIMENSIONS[ratio]:
                call = partial(align, arm, round(ratio * d))
                every["cosine", arm, ratio, d] = Experiment(call, (d,), 1000 * scale)
            for d in ERRORS[ratio]:
                call = partial(simulate, arm, round(ratio * d))
                every["error", arm, ratio, d] = Experiment(call, (d,), 60 * scale)
        for eta_b in STEPS:
            for d in MEASURED:
                call = partial(st.simulation.align, *setting(eta_b, d))
                every["limit", eta_b, d] = Experiment(call, (d,), 1500 * scale)
        return every

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        for place, some in run.simulated.items():
            if place[0] != "limit":
                yield from self._at_dimension(run, place, some)
        for eta_b in STEPS:
            yield from self._limit(run, eta_b)

    def _at_dimension(self, run: Run, place: Any, some: Any) -> Iterator[dict[str, Any]]:
        """Compare the theory at a dimension with the simulation at the same."""
        kind, arm, ratio, d = place
        curve, L, found = CURVES[arm, ratio], round(ratio * d), run.theory[place]
        shown: dict[str, Any] = {"curve": curve, "x": L}
        given = shown | {"claim": QUESTION, "where": f"{curve}, d = {d}", "key": d == 200}
        if kind == "error":
            yield from line([L], [found], "test_error", panel=ERROR, curve=curve)
            known = predicted(found, "test_error")
            yield row(known, measured("test_error", some), panel=ERROR, **given,
                      quantity="test_error")  # fmt: skip
            return
        yield row(found[0], panel=ALIGNED, **shown)
        for known, (quantity, of) in zip(found, MOMENTS.items(), strict=True):
            panel = {"panel": ALIGNED} if quantity == "cosine" else {}
            yield row(known, measured(of, some), quantity=quantity, **given, **panel)

    def _limit(self, run: Run, eta_b: float) -> Iterator[dict[str, Any]]:
        """Compare moments of the limit with those that a line in 1/d gives."""
        curve = STEPS[eta_b]
        shown: dict[str, Any] = {"panel": APPROACH, "curve": curve}
        for d in LIMIT:
            yield row(run.theory["approach", eta_b, d][0], x=d, **shown)
        some = [run.simulated["limit", eta_b, d] for d in MEASURED]
        for d, one in zip(MEASURED, some, strict=True):
            yield row(None, measured("cosine", one), x=d, **shown)
        for known, (quantity, of) in zip(run.theory["limit", eta_b], MOMENTS.items(), strict=True):
            small, large = (measured(of, one) for one in some)
            where = f"{curve}, L = d = {', '.join(map(str, MEASURED))}"
            given: dict[str, Any] = {"claim": RANDOM, "curve": curve}
            if known < SMALL:  # what a line in 1/d leaves, of order 1/d^2, would be compared with 0
                falls = f"{quantity} falls by half or more"
                true = [large.value <= small.value / 2]
                yield all_true(true, [small, large], quantity=falls, where=where, **given)
                continue
            given |= {"where": f"{where} → ∞", "key": quantity == "cosine"}
            yield row(known, to_infinity([small, large]), quantity=quantity, **given)
