"""When attention loses to mean pooling, and the effect of alignment on long sequences."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import brentq

import sparsetoken as st
from sparsetoken.figures.palette import BLACK, SEQUENCE
from sparsetoken.studies.claims import (
    MEASURED,
    PAPER,
    Claim,
    Number,
    all_true,
    predicted,
    row,
    to_infinity,
)
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import Call, Experiment, Run, Study, measured

PROBLEM = st.SparseTokenProblem(length=10, informative=1, strength=5.0, positive_rate=0.5)
SHARPNESS, RIDGE = 1.0, 1e-5
TOLERANCE = 1e-3
LENGTH, INFINITE = PROBLEM.length, math.inf
ABUNDANT = (200.0, 800.0)
"""Values of alpha1 from which test errors are extrapolated to infinite data, at any d."""
LOST, CROSSED = "misaligned-attention-loses", "crossing-at-finite-load"
FALLS = "residual-error-falls-with-alignment"
BY_LENGTH, CROSSING = "infinite data, by length", "same error as pooling"
PLACES = {
    (4, INFINITE): (BY_LENGTH, FALLS),
    (LENGTH, INFINITE): ("infinite data", LOST),
    (LENGTH, 8.0): ("α₁ = 8", CROSSED),
    (LENGTH, 2.0): ("α₁ = 2", CROSSED),
    (40, INFINITE): (BY_LENGTH, FALLS),
}
"""Lengths and loads, with the panel and the claim of each."""
LINES = {f"L = {length}": Look(SEQUENCE[i]) for i, length in enumerate((4, 10, 40))}
COSINES = {INFINITE: (0.0, 0.4, 1.0), 8.0: (0.0, 0.1, 0.35, 0.6), 2.0: (0.0, 0.1, 0.35, 0.6)}
"""Those of the simulations, which are among those of the lines, by load."""


def _setting(model: str, length: int, alpha1: float, cosine: Any = 0.0) -> tuple[Any, Any, Any]:
    """Return problem, model and readout; attention has a query of this cosine, pooling none."""
    classifier = st.Attention(st.Query(cosine, SHARPNESS)) if model == "attention" else st.Pooled()
    problem = dataclasses.replace(PROBLEM, length=length)
    return problem, classifier, st.Readout("square", RIDGE, alpha1)


def find_crossing(length: int, alpha1: float) -> tuple[Number, Number, Number]:
    """Return the cosine at which both models have the same error, and the two errors there.

    Equation: critical-cosine.
    """

    def error(model: str, s: float = 0.0) -> Number:
        given = _setting(model, length, alpha1, s)
        return predicted(st.predict(*given, tolerance=TOLERANCE / 2), "test_error")

    pooled = error("pooled")
    s = brentq(lambda s: error("attention", s).value - pooled.value, 0.0, 1.0, xtol=0.1 * TOLERANCE)
    again = error("attention", s)
    return Number(s, TOLERANCE, converged=again.converged), pooled, again


def _line(scale: int) -> np.ndarray:
    """Return the cosines of a line of theory."""
    return np.linspace(0.0, 1.0, 20 * scale + 1).round(6)


def _pooled_and(cosines: Iterable[float]) -> list[tuple[str, float]]:
    """Return pooling, which has no query, and attention with queries of these cosines."""
    return [("pooled", 0.0), *(("attention", s) for s in cosines)]


def _measured(of: str | Callable[..., Any], run: Run, place: Any, *models: Any) -> Number:
    """Return what experiments measured at a load, or extrapolated to infinite data."""
    length, alpha1 = place
    if math.isinf(alpha1):
        found = [_measured(of, run, (length, load), *models) for load in ABUNDANT]
        return to_infinity(found, ABUNDANT)
    return measured(of, *(run.simulated[length, alpha1, *model] for model in models))


class Misalignment(Study):
    """The test error of attention against the cosine of its query, and that of pooling."""

    name, title = "misalignment", "When attention loses"
    setting = (
        f"L = {LENGTH}, R = {PROBLEM.informative}, π = {PROBLEM.positive_rate:g}, "
        f"θ = {PROBLEM.strength:g}, square loss, λ = 10^{{−5}}; attention has a given query with "
        f"cosine s and sharpness k = {SHARPNESS:g}. Errors at infinite data are extrapolated "
        f"linearly in 1/α₁ from α₁ = {ABUNDANT[0]:g} and {ABUNDANT[1]:g}, at d = 10, as the "
        "theory is then exact at every d."
    )
    caption = (
        "Test error of attention with a given query, and of pooling, against the cosine of the "
        "query with the signal; pooling has no query, and its simulations are drawn at s = 0."
    )
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
            PAPER,
        ),
    )
    panels = (
        Panel("infinite data", "cosine s of the query", "test error", limits={"ylim": (0, 0.5)}),
        Panel("α₁ = 8", "cosine s of the query", limits={"ylim": (0, 0.5)}),
        Panel("α₁ = 2", "cosine s of the query", limits={"ylim": (0, 0.5)}),
        Panel(BY_LENGTH, "cosine s of the query", log={"y": (0.01, 0.02, 0.05, 0.1, 0.2, 0.5)}),
    )
    columns = 4
    looks = LINES | {CROSSING: Look(BLACK, "", "X")}

    def theory(self, scale: int) -> Mapping[Any, Call]:
        calls: dict[Any, Call] = {}
        for place in PLACES:
            calls["crossing", place] = partial(find_crossing, *place)
            for model in ("attention", "pooled"):
                given = _setting(model, *place, _line(scale))
                calls[model, place] = partial(st.predict, *given, tolerance=TOLERANCE / 2)
        return calls

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        every: dict[Any, Experiment] = {}
        for length, alpha1 in PLACES:
            infinite = math.isinf(alpha1)
            # With infinite data the theory is exact at every dimension.
            dimensions, trials = ((10,), 10) if infinite else ((100, 400), 24)
            for load in ABUNDANT if infinite else (alpha1,):
                for model, s in _pooled_and(COSINES[alpha1]):
                    call = partial(st.simulate, *_setting(model, length, load, s))
                    # Attention and pooling are compared within each trial.
                    shared = [f"L = {length}, {load:g}"]
                    one = Experiment(call, dimensions, trials * scale, shared=shared)
                    every[length, load, model, s] = one
        return every

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        for (length, alpha1), (panel, claim) in PLACES.items():
            place = length, alpha1
            yield from self._points(run, place, panel, claim)
            if length == LENGTH:
                yield from self._lines(run, place, panel, "attention")
                yield from self._winners(run, place, claim)
            if math.isinf(alpha1):
                yield from self._lines(run, place, BY_LENGTH, f"L = {length}")
                errors, where = [*self._errors(run, place)[1].values()], f"L = {length}"
                falls = [b.value < a.value for a, b in itertools.pairwise(errors)]
                given = {"curve": where, "quantity": "each step in s lowers the error", "key": True}
                yield all_true(falls, errors, claim=FALLS, where=where, **given)

    def _errors(self, run: Run, place: Any) -> tuple[Number, dict[float, Number]]:
        """Return the predicted error of pooling, and those of attention by cosine."""
        pooled, line = run.theory["pooled", place], run.theory["attention", place]
        known = zip(_line(run.scale).tolist(), line, strict=True)
        return predicted(pooled, "test_error"), {s: predicted(n, "test_error") for s, n in known}

    def _lines(self, run: Run, place: Any, panel: str, curve: str) -> Iterator[dict[str, Any]]:
        pooled, line = self._errors(run, place)
        for s, error in line.items():
            yield row(error, x=s, panel=panel, curve=curve)
        for x in (0.0, 1.0) if curve == "attention" else ():
            yield row(pooled, x=x, panel=panel, curve="pooled")
        critical, level, _ = run.theory["crossing", place]
        level = dataclasses.replace(level, converged=critical.converged)
        yield row(level, x=critical.value, panel=panel, curve=CROSSING)

    def _points(self, run: Run, place: Any, panel: str, claim: str) -> Iterator[dict[str, Any]]:
        pooled, line = self._errors(run, place)
        for model, s in _pooled_and(COSINES[place[1]]):
            attends, by_length = model == "attention", panel == BY_LENGTH
            yield row(
                line[s] if attends else pooled,
                _measured("test_error", run, place, (model, s)),
                claim=claim,
                panel="" if by_length and not attends else panel,
                curve=f"L = {place[0]}" if by_length else model,
                x=s,
                quantity="test_error",
                where=(f"s = {s:g}, " if attends else "pooled, ") + _where(run, place),
            )

    def _winners(self, run: Run, place: Any, claim: str) -> Iterator[dict[str, Any]]:
        """Compare both errors at the crossing, and judge who wins on either side of it."""
        critical, pooled, again = run.theory["crossing", place]
        given: dict[str, Any] = {"claim": claim, "curve": "attention", "where": PLACES[place][0]}
        # The slope of the error in s is below 1.5 here: what the tolerance in s allows.
        at = {"quantity": f"test_error at s = {critical.value:.4f}", "allowance": 1.5 * TOLERANCE}
        yield row(pooled.value, again, **given, **at)
        level, line = self._errors(run, place)
        # On the crossing itself the tolerance decides, not the order.
        line = {s: n for s, n in line.items() if abs(s - critical.value) > 2 * TOLERANCE}
        wins = [(n.value > level.value) == (s < critical.value) for s, n in line.items()]
        name = f"predicted model wins at {len(wins)} cosines"
        yield all_true(wins, line.values(), quantity=name, key=True, **given)
        wins, gaps = [], []
        pooling, *attention = _pooled_and(COSINES[place[1]])
        for one in attention:
            gap = _measured(lambda a, b: a.test_error - b.test_error, run, place, one, pooling)
            right = (gap.value > 0) == (one[1] < critical.value)
            wins.append(right and abs(gap.value) > 3 * gap.error)
            gaps.append(gap)
        name = f"predicted model wins by three standard errors at {len(wins)} cosines"
        given["where"] = _where(run, place)
        yield all_true(wins, [critical, *gaps], quantity=name, key=True, **given)


def _where(run: Run, place: Any) -> str:
    """Return length, load and dimensions for readers."""
    length, alpha1 = place
    if math.isinf(alpha1):
        loads = ", ".join(f"{load:g}" for load in ABUNDANT)
        return f"L = {length}, α₁ = {loads} → ∞, d = 10"
    where = run.simulated[length, alpha1, "pooled", 0.0].experiment.where
    return f"L = {length}, α₁ = {alpha1:g}, {where}"
