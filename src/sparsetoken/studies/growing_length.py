"""Length in proportion to the dimension, against the theory of fixed length."""

from __future__ import annotations

import dataclasses
import itertools
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import OptimizeWarning, curve_fit

import sparsetoken as st
from sparsetoken.figures.palette import BLUE, SKY
from sparsetoken.figures.style import log_axis
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    MEASURED,
    OWN,
    Claim,
    Comparison,
    Number,
    predicted,
    report_only,
)
from sparsetoken.studies.references import (
    draw_references,
    known,
    reference_calls,
    reference_errors,
    standing,
)
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.studies.words import listed, pm

READOUT = st.Readout(alpha1=2.0)
STRENGTH = 1.5
"""In units of sqrt(2 log L)."""
ARMS = {"fixed": "α₀ = 1", "growing": "α₀ = L/10"}
"""The two laws of the first data set, and their names for readers."""
COLOURS = {"fixed": SKY, "growing": BLUE}
MARKERS = "oD^v"
"""One for each ratio L/d."""
QUESTION = "growing-length"
POWER = "power of d"


def problem_of(L: Any) -> st.SparseTokenProblem:
    """Return the problem at a length."""
    return st.SparseTokenProblem(L, 1, STRENGTH * np.sqrt(2 * np.log(L)), positive_rate=0.5)


def _unit_steps(arm: str, L: Any) -> st.TwoSteps:
    """Return the steps with eta_q = 1; the cosine of their query is that at any eta_q."""
    return st.TwoSteps(1.0 if arm == "fixed" else L / 10, eta_q=1.0)


def steps_of(arm: str, L: int) -> st.TwoSteps:
    """Return the steps whose query has, in theory, sharpness sqrt(2 log L)."""
    steps = _unit_steps(arm, L)
    sharpness = float(st.align(problem_of(L), steps).sharpness)
    return dataclasses.replace(steps, eta_q=math.sqrt(2 * math.log(L)) / sharpness)


def references_at(arm: str, L: int) -> dict[str, Any]:
    """Return the predictions of attention and its references at a length."""
    calls = reference_calls(problem_of(L), steps_of(arm, L), READOUT)
    return {name: call() for name, call in calls.items()}


def simulate(arm: str, L: int, **options: Any) -> Any:
    """Simulate attention at a length; options are as of the simulation."""
    return st.simulate(problem_of(L), st.Attention(steps_of(arm, L)), READOUT, **options)


def _fitted_decay(numbers: Sequence[Number]) -> Number:
    """Return p of ``number = a d^-p`` with its standard error; nan without a fit."""

    def law(u: np.ndarray, a: float, p: float) -> np.ndarray:
        return a * u**-p

    def slopes(u: np.ndarray, a: float, p: float) -> np.ndarray:
        return np.column_stack([u**-p, -a * u**-p * np.log(u)])

    u = np.array([n.dimension / numbers[0].dimension for n in numbers])
    value, errors = np.array([(n.value, n.error) for n in numbers]).T
    given: dict[str, Any] = {"p0": (value[0], 0.5), "absolute_sigma": True, "jac": slopes}
    with warnings.catch_warnings():
        warnings.simplefilter("error", OptimizeWarning)
        try:
            (_, power), covariance = curve_fit(law, u, value, sigma=errors, **given)
            error = math.sqrt(covariance[1, 1])
        except (RuntimeError, OptimizeWarning):
            power = error = math.nan
    behind = tuple(values for n in numbers for values in n.values)
    return dataclasses.replace(numbers[-1], value=float(power), error=error, values=behind)


class GrowingLength(Study):
    """Attention on sequences as long as a part of the dimension."""

    name, title = "growing-length", "Length in proportion to dimension"
    claims = (
        Claim(
            QUESTION,
            "The theory holds L fixed as d grows. If L grows with d at fixed L/d, do simulations "
            "still approach its prediction at the actual L, and how fast?",
            OWN,
            MEASURED,
            open=True,
        ),
    )
    # Trials at d = 100, in inverse proportion to d elsewhere, at least 4; of the cosine everywhere
    # the same number, as its fall with d is best known where its errors are alike.
    sizes = profiles(
        ratios=Size((0.1,), (0.05, 0.1, 0.2)),
        dimensions=Size((50, 100, 200, 400), (100, 200, 400, 800, 1600)),
        trials=Size(24, 200),
        alignment_trials=Size(1500, 4000),
    )
    paper = "Larger dimensions, L/d = 0.05 and 0.2, and more trials."
    caption = (
        "Simulations with L growing with d at fixed L/d; means over trials with one standard "
        "error. Left: test error, with the theory at each L as a line. Points tend to lie above "
        "their line because at finite d the cosine of the query is below its limit, most at small "
        "d. Middle: cosine of the two-step query; the theory extends far beyond the simulated "
        "lengths. Right: relative difference of the cosine from the theory against d."
    )

    def theory(self, at: Sizes) -> Calls:
        calls: dict[Any, Any] = {}
        for arm in ARMS:
            trend = self._trend(at)
            calls["trend", arm] = partial(st.align, problem_of(trend), _unit_steps(arm, trend))
            for L in self._lengths(at):
                calls["test_error", arm, L] = partial(references_at, arm, L)
                calls["cosine", arm, L] = partial(st.align, problem_of(L), _unit_steps(arm, L))
        return calls

    def simulation(self, at: Sizes, seed: int) -> Calls:
        calls: dict[Any, Any] = {}
        places = itertools.product(ARMS, enumerate(at.ratios), enumerate(at.dimensions))
        for arm, (i, ratio), (j, d) in places:
            L, own = round(ratio * d), seed_of("growing-length", arm, i, j, seed)
            size = {"dimension": d, "trials": max(4, at.trials * 100 // d), "seed": own}
            calls["test_error", arm, ratio, d] = partial(simulate, arm, L, **size)
            align = partial(st.simulation.align, problem_of(L), _unit_steps(arm, L))
            size = {"dimension": d, "trials": at.alignment_trials, "seed": own}
            calls["cosine", arm, ratio, d] = partial(align, **size)
        return calls

    def _lengths(self, at: Sizes) -> list[int]:
        return sorted({round(ratio * d) for ratio in at.ratios for d in at.dimensions})

    def _trend(self, at: Sizes) -> np.ndarray:
        """Return lengths far beyond those that are simulated."""
        shortest = self._lengths(at)[0]
        return np.array([round(shortest * 2 ** (i / 2)) for i in range(19)])

    def _known(self, run: Run, quantity: str, arm: str, L: int) -> Number:
        if quantity == "cosine":
            return predicted(run.theory["cosine", arm, L], "cosine")
        return self._errors(run, arm, L)["attention"]

    def _errors(self, run: Run, arm: str, L: int) -> dict[str, Number]:
        return reference_errors(run.theory["test_error", arm, L])

    def _measured(self, run: Run, quantity: str, arm: str, ratio: float) -> dict[int, Number]:
        """Return what was measured at a ratio L/d, by dimension."""
        places = {d: (quantity, arm, ratio, d) for d in run.at.dimensions}
        return {d: run.measured(place, quantity) for d, place in places.items()}

    def _relative(self, run: Run, quantity: str, arm: str, ratio: float) -> list[Number]:
        """Return measured / theory - 1 at a ratio L/d, in order of dimension."""
        some = self._measured(run, quantity, arm, ratio)
        limits = {d: self._known(run, quantity, arm, round(ratio * d)).value for d in some}
        return [
            dataclasses.replace(n, value=n.value / limits[d] - 1, error=n.error / abs(limits[d]))
            for d, n in some.items()
        ]

    def judge(self, run: Run) -> Iterator[Comparison]:
        places = [(arm, ratio) for arm in ARMS for ratio in run.at.ratios]
        for arm, ratio in places:
            for quantity in ("test_error", "cosine"):
                for d, found in self._measured(run, quantity, arm, ratio).items():
                    L = round(ratio * d)
                    where = f"{ARMS[arm]}, L = {L}, L/d = {ratio:g}, d = {d}"
                    one = report_only(QUESTION, quantity, found, curve=arm, where=where)
                    limit = self._known(run, quantity, arm, L).value
                    yield dataclasses.replace(one, theory=limit)
        for arm, ratio in places:
            power = _fitted_decay(self._relative(run, "cosine", arm, ratio))
            where = f"{ARMS[arm]}, L/d = {ratio:g}, cosine: relative difference ∝ d^{{−p}}"
            yield report_only(QUESTION, POWER, power, curve=arm, where=where, key=True)

    def setting(self, at: Sizes) -> str:
        return (
            f"R = 1, π = 0.5, θ = {STRENGTH:g} √(2 log L); L/d = {listed(at.ratios)}; "
            f"d = {listed(at.dimensions)}. Logistic loss, λ = 0.01, α₁ = {READOUT.alpha1:g}, "
            "η_w = η_b = 0.5, β = 1; η_q is chosen at each L so that the predicted sharpness is "
            "k = √(2 log L), the best at that order of θ. The first data set has one of two sizes: "
            f"α₀ = 1, or α₀ = L/10. Reduced engine; {at.trials} trials at d = 100, otherwise "
            f"inversely proportional to d but at least 4, and {at.alignment_trials} for the "
            "cosine. Each simulation is compared with the theory at its own L, and the relative "
            "differences of the cosine are fitted by a power law d^{−p} at each L/d."
        )

    def answers(self, run: Run, comparisons: Sequence[Comparison]) -> Mapping[str, str]:
        powers = [c for c in comparisons if c.quantity == POWER]
        sure = all(c.measured >= 2 * c.standard_error for c in powers)
        p = [c.measured for c in powers]
        text = (
            f"{'Yes' if sure else 'Unclear'}: the difference of the cosine decreases as d^{{−p}} "
            f"with p from {min(p):.2f} to {max(p):.2f}, where fixed L has p = 1."
        )
        return {QUESTION: text}

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        places = {(arm, ratio): f"{ARMS[arm]}, L/d = {ratio:g}" for arm in ARMS
                  for ratio in run.at.ratios}  # fmt: skip
        parts = []
        for title, quantity in (("cosine", "cosine"), ("test error", "test_error")):
            lines = [
                f"{', '.join(pm(n.times(100), 1, '+') for n in self._relative(run, quantity, *at))}"
                f" ({text})"
                for at, text in places.items()
            ]
            parts.append(
                f"The relative difference of the {title} from the theory at the actual L, in "
                f"percent and in order of increasing d, is {'; '.join(lines)}."
            )
        powers = [c for c in comparisons if c.quantity == POWER]
        fitted = ", ".join(
            f"{c.measured:.2f} ± {c.standard_error:.2f} ({text})"
            for c, text in zip(powers, places.values(), strict=True)
        )
        parts.append(
            "The difference of the cosine decreases as d^{−p}, where p would be 1 at fixed length "
            f"and 0 if the theory were wrong; the fitted p is {fitted}."
        )
        return "\n\n".join(parts + [self._longest(run, arm) for arm in ARMS])

    def _longest(self, run: Run, arm: str) -> str:
        """Return in words how attention does at the largest length, and what is predicted on."""
        ratio, d = max(run.at.ratios), max(run.at.dimensions)
        L, found = round(ratio * d), self._measured(run, "test_error", arm, ratio)[d]
        errors = self._errors(run, arm, L)
        cosines = zip(self._trend(run.at), run.theory["trend", arm].cosine, strict=True)
        trend = ", ".join(f"{s:.3f} at L = {length}" for length, s in list(cosines)[::6])
        return (
            f"With {ARMS[arm]}, at L = {L} ({known(errors)}), attention reaches "
            f"{standing(errors, found)}; the predicted cosine of the query is {trend}."
        )

    def draw(self, run: Run) -> Figure:
        figure, (left, middle, right) = plot.panels(3, 11.0, 4.2)
        lengths, trend = self._lengths(run.at), self._trend(run.at)
        errors = {arm: [self._errors(run, arm, L) for L in lengths] for arm in ARMS}
        draw_references(left, lengths, errors["growing"], ("pooled", "bayes", "oracle"))
        for arm, name in ARMS.items():
            given = COLOURS[arm], f"attention, {name}, theory"
            plot.curve(left, lengths, [some["attention"] for some in errors[arm]], *given)
            cosines = [predicted(one, "cosine") for one in run.theory["trend", arm]]
            plot.curve(middle, trend, cosines, *given)
        self._draw_measured(left, run, "test_error")
        self._draw_measured(middle, run, "cosine")
        for ratio, marker in zip(run.at.ratios, MARKERS, strict=False):
            for arm, name in ARMS.items():
                numbers = self._relative(run, "cosine", arm, ratio)
                label = f"{name}, L/d = {ratio:g}"
                x = run.at.dimensions
                plot.curve(right, x, numbers, COLOURS[arm], label, marker=f"{marker}-")
        right.axhline(0, color="black", lw=0.8)
        log_axis(left.xaxis, lengths)
        log_axis(middle.xaxis, (5, 20, 100, 500, 2000))
        log_axis(right.xaxis, run.at.dimensions)
        left.set(title="test error", xlabel="L")
        middle.set(title="cosine of the query", xlabel="L")
        right.set(title="cosine, measured / theory − 1", xlabel="d")
        return plot.finish(figure, columns=4)

    def _draw_measured(self, axes: Axes, run: Run, quantity: str) -> None:
        for ratio, marker in zip(run.at.ratios, MARKERS, strict=False):
            for arm, name in ARMS.items():
                found = self._measured(run, quantity, arm, ratio)
                x, label = [round(ratio * d) for d in found], f"{name}, L/d = {ratio:g}"
                plot.curve(axes, x, list(found.values()), COLOURS[arm], label, marker=marker)
