"""When attention loses to mean pooling, and the effect of alignment on long sequences."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from scipy.optimize import brentq

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS, SEQUENCE
from sparsetoken.figures.style import log_axis
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    MEASURED,
    NO_SHIFT,
    Claim,
    Comparison,
    Number,
    all_true,
    averaged,
    carried_to_infinity,
    compare,
    largest_z,
    predicted,
    within,
)
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.studies.words import listed

LENGTH, SHARPNESS = 10, 1.0
TOLERANCE = 1e-3
ABUNDANT = (200.0, 800.0)
"""Values of alpha1 from which test errors are extrapolated to infinite data, at any d."""
SMALL = 10
"""The dimension there."""
LOST, CROSSED = "misaligned-attention-loses", "crossing-at-finite-load"
FALLS = "residual-error-falls-with-alignment"
CROSS = {"marker": "X", "color": "black", "ls": "none", "ms": 7}


def _setting(model: str, length: int, alpha1: float, cosine: Any = 0.0) -> tuple[Any, Any, Any]:
    """Return problem, model and readout; attention has a query of this cosine, pooling none."""
    classifier = st.Attention(st.Query(cosine, SHARPNESS)) if model == "attention" else st.Pooled()
    problem = st.SparseTokenProblem(length, informative=1, strength=5.0, positive_rate=0.5)
    return problem, classifier, st.Readout("square", 1e-5, alpha1)


class Crossing(NamedTuple):
    """The cosine at which attention has the error of pooling, and both errors there."""

    cosine: Number
    pooled: Number
    attention: Number


def find_crossing(alpha1: float) -> Crossing:
    """Solve for the cosine at which both models have the same error; predict attention there.

    Equation: critical-cosine.
    """

    def error(model: str, s: float = 0.0) -> Number:
        given = _setting(model, LENGTH, alpha1, s)
        return predicted(st.predict(*given, tolerance=TOLERANCE / 2), "test_error")

    pooled = error("pooled")
    s = brentq(lambda s: error("attention", s).value - pooled.value, 0.0, 1.0, xtol=0.1 * TOLERANCE)
    again = error("attention", s)
    return Crossing(Number(s, TOLERANCE, converged=again.converged), pooled, again)


def _less(first: Number, second: Number) -> Number:
    """Return a difference, within each trial where both are means over the same trials."""
    (one, *more), (other, *others) = first.values, second.values
    if more or others:
        return first - second
    return averaged(np.subtract(one, other), dimension=first.dimension, engine=first.engine)


def _line(at: Sizes, length: int) -> list[float]:
    """Return the cosines of the lines of theory: fewer at other lengths."""
    return at.line if length == LENGTH else at.line[::2]


def _load(alpha1: float) -> str:
    return "α₁ = ∞" if math.isinf(alpha1) else f"α₁ = {alpha1:g}"


def _query(model: str, s: float) -> str:
    return f"s = {s:g}, " if model == "attention" else ""


class Misalignment(Study):
    """The test error of attention against the cosine of its query, and that of pooling."""

    name, title = "misalignment", "When attention loses"
    claims = (
        Claim(
            LOST,
            "With infinite data, attention has a larger test error than mean pooling when the "
            "cosine of its query is below a critical value, and a smaller one when it is above.",
        ),
        Claim(
            CROSSED,
            "At each finite α₁ the test errors of attention and pooling also cross, at a cosine "
            "predicted by the theory.",
        ),
        Claim(
            FALLS,
            "The error at infinite data decreases with the alignment of the query, for short and "
            "for long sequences.",
            "Figure of the appendix",
            MEASURED,
        ),
    )
    # The cosines that are simulated are among those of the lines.
    sizes = profiles(
        dimension=Size(300, 1000),
        trials=Size(12, 20),
        alphas=Size((2.0, 8.0), (2.0, 4.0, 8.0, 16.0)),
        cosines=Size(
            (0.0, 0.1, 0.35, 0.6), (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5, 0.75, 1.0)
        ),
        residual=Size((0.0, 0.4, 1.0), (0.0, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)),  # at infinite data
        lengths=Size((4, LENGTH, 40), (4, LENGTH, 30, 100, 300)),
        abundant_trials=Size(10, 20),
        line=Size(*(np.linspace(0, 1, n).round(6).tolist() for n in (21, 41))),
    )
    paper = "More values of α₁, cosines and lengths, and a larger dimension."
    caption = (
        "Test error of attention with a given query, and of pooling, against the cosine of the "
        "query with the signal: with infinite data, at two finite values of α₁, and with infinite "
        "data for several lengths. Crosses: where pooling has the same test error. Pooling has no "
        "query, and its simulations are drawn at s = 0. Points: simulation, mean and one standard "
        "error."
    )

    def theory(self, at: Sizes) -> Calls:
        calls: dict[Any, Any] = {}
        infinite = [(length, math.inf) for length in at.lengths]
        for length, alpha1 in (*((LENGTH, alpha1) for alpha1 in at.alphas), *infinite):
            for model in ("attention", "pooled"):
                given = _setting(model, length, alpha1, _line(at, length))
                predict = partial(st.predict, *given, tolerance=TOLERANCE / 2)
                calls[model, length, alpha1] = predict
        crossings = {alpha1: partial(find_crossing, alpha1) for alpha1 in (*at.alphas, math.inf)}
        return calls | crossings

    def simulation(self, at: Sizes, seed: int) -> Calls:
        calls = {}

        def simulate(length: int, alpha1: float, cosines: Sequence[float], **options: Any) -> None:
            for place in self._models(cosines):
                given = _setting(place[0], length, alpha1, place[1])
                calls[length, alpha1, *place] = partial(st.simulate, *given, **options)

        for i, alpha1 in enumerate(at.alphas):
            # Attention and pooling are compared at the same load: they share the seed.
            options = {"dimension": at.dimension, "trials": at.trials}
            options["seed"] = seed_of("misalignment", i, seed)
            simulate(LENGTH, alpha1, at.cosines, **options)
        for (i, n), (j, alpha1) in itertools.product(enumerate(at.lengths), enumerate(ABUNDANT)):
            options = {"dimension": SMALL, "trials": at.abundant_trials}
            options["seed"] = seed_of("misalignment", "abundant", i, j, seed)
            simulate(n, alpha1, at.residual, **options)
        return calls

    def _models(self, cosines: Sequence[float]) -> list[tuple[str, float]]:
        """Return pooling, which has no query, and attention with each cosine."""
        return [("pooled", 0.0), *(("attention", s) for s in cosines)]

    def judge(self, run: Run) -> Iterator[Comparison]:
        at = run.at
        yield from self._crossing(LOST, run, math.inf)
        for alpha1 in at.alphas:
            yield from self._crossing(CROSSED, run, alpha1)
            found = self._measured(run, alpha1)
            yield self._winners(CROSSED, run.theory[alpha1].cosine, found, _load(alpha1))
            for (model, s), one in found.items():
                known = self._known(run, model, LENGTH, alpha1, s)
                where = f"{_query(model, s)}α₁ = {alpha1:g}, d = {at.dimension}"
                yield compare(CROSSED, "test_error", known, one, curve=model, where=where)
        yield from (self._falls(run, length) for length in at.lengths)
        for length in at.lengths:
            claim, found = LOST if length == LENGTH else FALLS, self._carried(run, length)
            for (model, s), one in found.items():
                known = self._known(run, model, length, math.inf, s)
                where = f"L = {length}, {_query(model, s)}α₁ = {listed(ABUNDANT)} → ∞"
                given: dict[str, Any] = {"curve": model, "where": where}
                # With infinite data the theory is exact at every dimension.
                yield compare(claim, "test_error", known, one, shift=NO_SHIFT, **given)
        where, critical = "extrapolated to α₁ = ∞", run.theory[math.inf].cosine
        yield self._winners(LOST, critical, self._carried(run, LENGTH), where)

    def _known(self, run: Run, model: str, length: int, alpha1: float, s: float) -> Number:
        result = run.theory[model, length, alpha1]
        one = result[_line(run.at, length).index(s)] if model == "attention" else result
        return predicted(one, "test_error")

    def _errors(self, run: Run, alpha1: float, length: int = LENGTH) -> list[Number]:
        """Return the predicted errors of attention by rising cosine."""
        return [predicted(one, "test_error") for one in run.theory["attention", length, alpha1]]

    def _measured(self, run: Run, alpha1: float) -> dict[tuple[str, float], Number]:
        places = self._models(run.at.cosines)
        return {p: run.measured((LENGTH, alpha1, *p), "test_error") for p in places}

    def _carried(self, run: Run, length: int) -> dict[tuple[str, float], Number]:
        """Return the measured test errors extrapolated to infinite data."""
        return {
            place: carried_to_infinity(
                [run.measured((length, alpha1, *place), "test_error") for alpha1 in ABUNDANT],
                ABUNDANT,
            )
            for place in self._models(run.at.residual)
        }

    def _winners(self, claim: str, critical: Number, found: Any, where: str) -> Comparison:
        """Judge which model has the smaller measured error."""
        pooled = found["pooled", 0.0]
        gaps = {s: _less(n, pooled) for (model, s), n in found.items() if model == "attention"}
        right = [
            abs(gap.value) > 3 * gap.error and (gap.value > 0) == (s < critical.value)
            for s, gap in gaps.items()
        ]
        name = "fraction of measured cosines where the predicted model wins by 3 standard errors"
        where, used = f"{len(right)} cosines, {where}", (critical, *found.values())
        return all_true(claim, name, right, used, curve="attention", where=where, key=True)

    def _crossing(self, claim: str, run: Run, alpha1: float) -> Iterator[Comparison]:
        """Compare both errors at the crossing, and judge who wins on either side of it."""
        critical, pooled, again = run.theory[alpha1]
        where = f"the crossing, s = {critical.value:.4f}, {_load(alpha1)}"
        # The slope of the error in s is below 1.5 here: what the tolerance in s allows.
        allowed, given = 1.5 * TOLERANCE, dict[str, Any](curve="attention")
        yield within(claim, "test_error", again, pooled.value, allowed, where=where, **given)
        line = zip(_line(run.at, LENGTH), self._errors(run, alpha1), strict=True)
        # On the crossing itself the tolerance decides, not the order.
        off = {s: n for s, n in line if abs(s - critical.value) > 2 * TOLERANCE}
        wins = [(n.value > pooled.value) == (s < critical.value) for s, n in off.items()]
        name = "fraction of cosines where the predicted model wins"
        where = f"{len(off)} cosines, {_load(alpha1)}"
        yield all_true(claim, name, wins, off.values(), where=where, key=True, **given)

    def _falls(self, run: Run, length: int) -> Comparison:
        curve, line = self._errors(run, math.inf, length), _line(run.at, length)
        steps = [b.value < a.value for a, b in itertools.pairwise(curve)]
        where = f"L = {length}, {len(steps)} steps from s = {line[0]:g} to {line[-1]:g}"
        name = "fraction of steps in the cosine that lower the error"
        return all_true(FALLS, name, steps, curve, curve=f"L = {length}", where=where, key=True)

    def setting(self, at: Sizes) -> str:
        return (
            "Computed: test error of attention with a given query (cosine s, sharpness k = 1) and "
            "of pooling, L = 10, R = 1, π = 0.5, θ = 5, square loss, λ = 10⁻⁵, at infinite α₁ and "
            f"at α₁ = {listed(at.alphas)}; the crossing is found as a root. The query is given, "
            "not learned, so attention may do better than any learner. The error at infinite α₁ "
            f"is also computed for L = {listed(at.lengths)}. Measured: test error at the finite "
            f"α₁, d = {at.dimension}, {at.trials} trials, reduced engine; and the errors at "
            "infinite data, extrapolated linearly in 1/α₁ from α₁ = 200 and 800 at d = 10, "
            f"{at.abundant_trials} trials: with infinite data the theory is exact at every d."
        )

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        def root(alpha1: float, digits: int) -> str:
            s = run.theory[alpha1].cosine
            return f"{s.value:.{digits}f}" if s.converged else "(not converged)"

        finite = ", ".join(f"at {root(a, 3)} for α₁ = {a:g}" for a in run.at.alphas)
        ends = {n: self._errors(run, math.inf, n) for n in run.at.lengths}
        falls = ", ".join(
            f"{line[0].value:.3f} to {line[-1].value:.4f} (L = {n})" for n, line in ends.items()
        )
        return (
            "With infinite data attention and pooling cross at the cosine "
            f"{root(math.inf, 4)}; with finite data {finite}. From s = 0 to s = 1 the error at "
            f"infinite data falls from {falls}. The largest |z| of a measured error is "
            f"{largest_z(comparisons):.1f}."
        )

    def draw(self, run: Run) -> Figure:
        figure, panels = plot.panels(4, 11.4, 3.9)
        finite = (run.at.alphas[-1], run.at.alphas[0])
        for axes, alpha1 in zip(panels, (math.inf, *finite), strict=False):
            self._draw_models(axes, run, alpha1)
        panels[0].set(title="infinite data", ylabel="test error")
        *_, last = panels
        for length, colour in zip(run.at.lengths, SEQUENCE, strict=False):
            line, errors = _line(run.at, length), self._errors(run, math.inf, length)
            plot.curve(last, line, errors, colour, f"L = {length}")
            # The errors fall with the cosine, so that the level is met once.
            level = self._known(run, "pooled", length, math.inf, 0.0).value
            values = [n.value for n in errors]
            self._mark(last, float(np.interp(-level, np.negative(values), line)), level)
        log_axis(last.yaxis, (0.01, 0.02, 0.05, 0.1, 0.2, 0.5))
        last.set(title="infinite data, by length", xlabel="cosine s of the query")
        return plot.finish(figure, {"crossing": CROSS})

    def _draw_models(self, axes: Axes, run: Run, alpha1: float) -> None:
        """Draw both models at a load, with what was simulated at a finite one."""
        line, crossing = _line(run.at, LENGTH), run.theory[alpha1]
        found = {} if math.isinf(alpha1) else self._measured(run, alpha1)
        levels = [self._known(run, "pooled", LENGTH, alpha1, 0.0)] * len(line)
        for model, known in (("attention", self._errors(run, alpha1)), ("pooled", levels)):
            some = {s: n for (one, s), n in found.items() if one == model}
            plot.curve(axes, [*line, *some], [*known, *some.values()], COLOURS[model], model)
        if crossing.cosine.converged:
            self._mark(axes, crossing.cosine.value, crossing.pooled.value)
        axes.set(title=_load(alpha1), xlabel="cosine s of the query", ylim=(0.0, 0.5))

    def _mark(self, axes: Axes, x: float, y: float) -> None:
        axes.plot([x], [y], "X", color="black", mec="white", ms=8.5, zorder=4, label="_crossing")
