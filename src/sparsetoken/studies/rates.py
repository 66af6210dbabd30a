"""Two rates: of query alignment in alpha0, and of the test error in alpha1."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS, SEQUENCE
from sparsetoken.figures.style import log_axis
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Overlaps
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.studies import plot
from sparsetoken.studies.compare import (
    NO_SHIFT,
    PROVED,
    REDUCED,
    SHIFTS,
    Claim,
    Comparison,
    Number,
    averaged,
    carried_to_infinity,
    compare,
    predicted,
    within,
)
from sparsetoken.studies.study import Calls, Run, Size, Sizes, Study, profiles
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.of_model import feature_law
from sparsetoken.theory.outcome.scores import ScoreDistribution

SETTINGS = {
    "balanced": (st.SparseTokenProblem(10, 3, 6.0, 0.5), st.TwoSteps(eta_q=1.0)),
    "rare positives": (st.SparseTokenProblem(10, 3, 6.0, 0.2), st.TwoSteps(eta_q=1.0)),
    "anti-aligned": (
        st.SparseTokenProblem(20, 2, 3.0, 0.2),
        st.TwoSteps(eta_w=0.1, eta_b=0.1, eta_q=1.0, loss="square"),
    ),
}
"""Of the first rate: problems and the steps that find their query."""
PROBLEM = st.SparseTokenProblem(length=5, informative=2, strength=2.0, positive_rate=0.3)
QUERY = st.Query(cosine=0.5, sharpness=1.5)
MODELS = {"attention": st.Attention(QUERY), "pooled": st.Pooled(), "vectorized": st.Vectorized()}
WEIGHTS = {"attention": 1, "pooled": 1, "vectorized": PROBLEM.length}
"""Of the second rate: models, and their weights per dimension."""
LINEAR = ("pooled", "vectorized")
ABUNDANT = (200.0, 800.0)
"""Samples per weight from which test errors are extrapolated to infinite data, at any d."""
NODES = 2048
FAR = 1e4
"""The number of samples over the dimension at which the theory is compared with its rate."""
POINTS = 17  # of a line
ALIGNMENT, DATA = "alignment-rate", "infinite-data-rate"
SHARED = "vectorized-and-pooled-share-the-limit"
GAP, EXCESS, SLOPE = "α₀ (1 − |s|)", "α₁ (E − E∞)", "log-log slope"
COLOURED = dict(zip(SETTINGS, SEQUENCE[::2], strict=True)) | {m: COLOURS[m] for m in MODELS}


def _steps_at(name: str, alpha0: Any) -> tuple[st.SparseTokenProblem, st.TwoSteps]:
    """Return a problem and its steps at a load."""
    problem, steps = SETTINGS[name]
    return problem, dataclasses.replace(steps, alpha0=alpha0)


def _readout_of(alpha1: float) -> st.Readout:
    """Return the readout of a load, without a ridge."""
    return st.Readout("square", 0.0, alpha1)


def rate_of(model: str) -> Number:
    """Return the rate of infinite data, from the laws of independent scrambles."""
    query = QUERY if model == "attention" else None
    law = feature_law(MODELS[model], PROBLEM, query, 4 * NODES)
    parts = [first_order(law.part(slice(i, i + 1))) for i in range(len(law.C))]
    rates = WEIGHTS[model] * np.array(parts)
    return Number(float(rates.mean()), float(stated_error(rates)))


def first_order(law: FeatureLaw) -> float:
    """Return the derivative of the test error in 1/alpha at alpha = inf.

    Equation: infinite-data-rate, the first order of learned-readout in 1/alpha. Given chi the
    square loss makes x = (w_1, w_2, b) solve weighted least squares with weights
    D = 1/(1 + chi C^2), where chi = 1/(alpha E[C^2]) and
    nu^2 = E[C^2 residual^2]/(alpha E[C^2]^2) to first order.
    """
    C, y, weight = law.C[0, :, 0], law.y[0], law.weight[0]
    F = np.stack([*law.a[0].T, np.ones_like(y)])
    # variances of the Gaussian features
    spread = np.stack([law.covariance[0, 0] + 0 * C, C**2, 0 * C])

    def moments(D: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        return (F * D) @ F.T + np.diag(spread @ D), F @ (D * y)

    H, g = moments(weight)
    x = np.linalg.lstsq(H, g)[0]  # without a query w_1 is free, and stays 0
    H1, g1 = moments(weight * C**2)
    size = weight @ C**2
    moved = -np.linalg.lstsq(H, g1 - H1 @ x)[0] / size
    noise = weight @ (C**2 * ((x @ F - y) ** 2 + x**2 @ spread)) / size**2
    scores = ScoreDistribution.of_overlaps(law, Overlaps(x[0], x[1], 0.0, x[2]))
    mean, width = scores.mean[0], scores.width[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean / width
        density = weight * np.exp(-0.5 * ratio**2) / math.sqrt(2 * math.pi) / width
        mean_moved = moved @ F
        width_moved = (2 * (x * moved) @ spread + C**2 * noise) / (2 * width)
        rate = density @ (y * (ratio * width_moved - mean_moved))
    return float(rate)


def _line(name: str) -> list[float]:
    """Return the loads of a line of theory."""
    first = 2.0 * WEIGHTS[name] if name in MODELS else 1.0
    return np.geomspace(first, FAR, POINTS).tolist()


def _simulated(at: Sizes, name: str) -> list[float]:
    """Return the loads of simulations."""
    return [WEIGHTS[name] * x for x in at.alphas] if name in MODELS else list(at.alpha0s)


class Rates(Study):
    """How the query and the test error converge with more data."""

    name, title = "rates", "Rates of alignment and of infinite data"
    claims = (
        Claim(
            ALIGNMENT,
            "|s_q| = 1 − C/α₀ + o(1/α₀) with the predicted C, for queries that turn to the signal "
            "and for queries that turn away.",
            "Corollary to query alignment",
            PROVED,
        ),
        Claim(
            DATA,
            "For the square loss as λ → 0, the test error of each model converges to its "
            "infinite-data limit as 1/α₁.",
        ),
        Claim(
            SHARED,
            "With infinite data, the vectorised and pooled classifiers have the same test error.",
        ),
    )
    sizes = profiles(
        alpha0s=Size((10.0, 30.0, 100.0, 300.0), (10.0, 30.0, 100.0, 300.0, 1000.0)),
        dimension=Size(600, 1000),  # and trials, of the query
        trials=Size(30, 100),
        alphas=Size((5.0, 10.0, 20.0), (5.0, 10.0, 20.0, 40.0)),  # times the weights per dimension
        weights=Size(160, 400),  # and trials, of the test error
        fits=Size(75, 200),
        # Weights and trials with abundant data; the errors are known to 1 part in 2000.
        abundant=(50, 16),
    )
    paper = "α₀ up to 1000 with 100 trials, and 400 weights with 200 trials."
    caption = (
        "Left: 1 − |s| of the query against α₀. Right: excess test error over the infinite-data "
        "limit against α₁. Lines: theory; dotted: the predicted first order, C/α₀ and rate/α₁. "
        "Points: simulation, mean and one standard error."
    )

    def theory(self, at: Sizes) -> Calls:
        calls: dict[Any, Any] = {}
        for name in SETTINGS:
            alpha0s = np.array([*_line(name), *_simulated(at, name)])
            calls[name] = partial(st.align, *_steps_at(name, alpha0s))
        for name, model in MODELS.items():
            # All are on one set of nodes: their differences are then exact, far below the error
            # of the nodes themselves. The limit is also predicted with as many as it needs.
            loads = [*_line(name), *_simulated(at, name), math.inf]
            readouts = [_readout_of(alpha1) for alpha1 in loads]
            calls[name] = partial(st.theory.predict_readouts, PROBLEM, model, readouts, nodes=NODES)
            calls["rate", name] = partial(rate_of, name)
            calls["limit", name] = partial(st.predict, PROBLEM, model, _readout_of(math.inf))
        return calls

    def simulation(self, at: Sizes, seed: int) -> Calls:
        calls: dict[Any, Any] = {}
        for name, (i, alpha0) in itertools.product(SETTINGS, enumerate(at.alpha0s)):
            align = partial(st.simulation.align, *_steps_at(name, alpha0))
            size = {"dimension": at.dimension, "trials": at.trials}
            calls[name, alpha0] = partial(align, **size, seed=seed_of("rates", name, i, seed))
        for name, (i, x) in itertools.product(MODELS, enumerate(at.alphas)):
            size = {
                "weights": at.weights,
                "trials": at.fits,
                "seed": seed_of("rates", name, i, seed),
            }
            calls[name, WEIGHTS[name] * x] = self._simulate(name, x, **size)
        for name, (i, x) in itertools.product(LINEAR, enumerate(ABUNDANT)):
            size = dict(zip(("weights", "trials"), at.abundant, strict=True))
            size["seed"] = seed_of("rates", "abundant", name, i, seed)
            calls["abundant", name, x] = self._simulate(name, x, **size)
        return calls

    def _simulate(self, name: str, load: float, weights: int, trials: int, seed: int) -> Any:
        """Return the call at a number of samples over weights."""
        per = WEIGHTS[name]
        size = {"dimension": weights // per, "trials": trials, "seed": seed}
        return partial(st.simulate, PROBLEM, MODELS[name], _readout_of(per * load), **size)

    def judge(self, run: Run) -> Iterator[Comparison]:
        for name in SETTINGS:
            yield from self._alignment(run, name)
        for name in MODELS:
            yield from self._data(run, name)
        pooled, vectorized = (predicted(run.theory["limit", m], "test_error") for m in LINEAR)
        allowed = 1e-9  # Newton's last step, squared; both laws are exact
        given: dict[str, Any] = {"curve": "vectorized", "key": True}
        given["where"] = "α₁ = ∞, against pooled"
        yield within(SHARED, "test_error", vectorized, pooled.value, allowed, **given)
        limits = {
            m: carried_to_infinity(
                [run.measured(("abundant", m, load), "test_error") for load in ABUNDANT], ABUNDANT
            )
            for m in LINEAR
        }
        loads = " and ".join(f"{load:g}" for load in ABUNDANT)
        given = {"where": f"n₁ = {loads} × weights, extrapolated to ∞", "shift": NO_SHIFT}
        both = "vectorized, pooled"
        yield compare(SHARED, "test_error", *limits.values(), curve=both, **given)
        for name, found in limits.items():
            yield compare(SHARED, "test_error", pooled, found, curve=name, **given)

    def _rate(self, run: Run, name: str) -> Number:
        """Return the predicted first order, times the load."""
        if name in MODELS:
            return run.theory["rate", name]
        return predicted(run.theory[name][POINTS - 1], "rate")

    def _known(self, run: Run, name: str) -> dict[float, Number]:
        """Return 1 - |s|, or the predicted excess of the test error, by load: first the line."""
        loads, results = [*_line(name), *_simulated(run.at, name)], run.theory[name]
        if name in SETTINGS:
            numbers = [predicted(one, "cosine") for one in results]
            numbers = [dataclasses.replace(n, value=1 - abs(n.value)) for n in numbers]
        else:
            *errors, limit = (predicted(one, "test_error") for one in results)
            numbers = [dataclasses.replace(n - limit, error=0.0) for n in errors]
        return dict(zip(loads, numbers, strict=True))

    def _measured(self, run: Run, name: str) -> dict[float, Number]:
        """Return what was measured of it, the test error minus its predicted limit."""
        loads = _simulated(run.at, name)
        if name in MODELS:
            limit = Number(float(run.theory[name][-1].test_error))
            return {x: run.measured((name, x), "test_error") - limit for x in loads}
        size: dict[str, Any] = {"dimension": run.at.dimension, "engine": REDUCED}
        queries = {load: run.simulated[name, load] for load in loads}
        return {
            load: averaged(1 - np.abs(some.trials.cosine), converged=some.converged, **size)
            for load, some in queries.items()
        }

    def _alignment(self, run: Run, name: str) -> Iterator[Comparison]:
        known, line = self._known(run, name), _line(name)
        before, last = (known[x].times(x) for x in line[-2:])
        # The next order in 1/alpha0 falls as 1/alpha0: from the last step of the line on,
        # no more remains than that step over (ratio of the two alpha0 - 1).
        left = 1.1 * abs(last.value - before.value) / (line[-1] / line[-2] - 1) + 1e-9
        where, rate = f"α₀ = {line[-1]:g}, against C", self._rate(run, name).value
        yield within(ALIGNMENT, GAP, last, rate, left, curve=name, where=where, key=True)
        for load, found in self._measured(run, name).items():
            given: dict[str, Any] = {"curve": name, "where": f"α₀ = {load:g}", "key": load == 100}
            yield compare(ALIGNMENT, "misalignment", known[load], found, **given)

    def _data(self, run: Run, name: str) -> Iterator[Comparison]:
        known, rate, line = self._known(run, name), self._rate(run, name), _line(name)
        # The next order is of relative size (weights per dimension)/alpha1 times a few; the
        # rate itself is found with other nodes, whose error is a few thousandths.
        allowed = (10 * WEIGHTS[name] / FAR + 3e-3) * rate.value
        last = dataclasses.replace(known[line[-1]].times(FAR), error=rate.error)
        where = f"α₁ = {FAR:g}, against the rate from first-order theory"
        yield within(DATA, EXCESS, last, rate.value, allowed, curve=name, where=where, key=True)
        far = [x for x in line if x >= FAR / 10]
        slope = float(np.polyfit(np.log(far), np.log([known[x].value for x in far]), 1)[0])
        found = Number(slope, converged=all(n.converged for n in known.values()))
        # The second order is (weights per dimension)/alpha1 at most times a few.
        second, where = 10 * WEIGHTS[name] / (FAR / 10), f"theory, α₁ from {FAR / 10:g} to {FAR:g}"
        yield within(DATA, SLOPE, found, -1.0, second, curve=name, where=where)
        limit = predicted(run.theory["limit", name], "test_error")
        for load, found in self._measured(run, name).items():
            at_load = dataclasses.replace(known[load], error=limit.error)
            # With infinite data the theory is exact at every d: only the excess feels d, as test
            # errors do.
            given: dict[str, Any] = {"shift": SHIFTS["test_error"], "where": f"α₁ = {load:g}"}
            yield compare(DATA, "excess", at_load, found, curve=name, **given)

    def setting(self, at: Sizes) -> str:
        return (
            f"Alignment, reduced engine, d = {at.dimension}, {at.trials} trials: balanced (L = 10, "
            "R = 3, θ = 6, π = 0.5, logistic), rare positives (the same with π = 0.2) and "
            "anti-aligned (L = 20, R = 2, θ = 3, π = 0.2, square loss), steps η_w = η_b = 0.5, and "
            "0.1 for the square loss. The comparison is of 1 − |s_q| itself. Infinite data: "
            "square loss, λ = 0, L = 5, R = 2, θ = 2, π = 0.3, query with cosine 0.5 and k = 1.5; "
            "theory on one set of quadrature nodes for all α₁, simulation with "
            f"{at.weights} weights (d, or L d for vectorised) and {at.fits} trials, minus the "
            "predicted limit. The limits of vectorised and pooled are also measured, extrapolated "
            f"linearly in 1/n₁ from 200 and 800 samples per weight, with "
            f"{at.abundant[0]} weights, {at.abundant[1]} trials."
        )

    def found(self, run: Run, comparisons: Sequence[Comparison]) -> str:
        def firsts(quantity: str) -> str:
            some = [c for c in comparisons if c.quantity == quantity]
            return ", ".join(
                f"{c.curve} {c.measured:.5g} ({c.theory:.5g} from first-order theory)" for c in some
            )

        away = [name for name in SETTINGS if run.theory[name].cosine[POINTS - 1] < 0]
        slopes = ", ".join(f"{c.measured:.4f}" for c in comparisons if c.quantity == SLOPE)
        pooled, vectorized = (float(run.theory["limit", m].test_error) for m in LINEAR)
        return (
            f"α₀ (1 − |s|) at α₀ = {FAR:g}: {firsts(GAP)}; the cosine is negative for "
            f"{', '.join(away)}.\n\nα₁ (E − E∞) at α₁ = {FAR:g}: {firsts(EXCESS)}; slopes {slopes} "
            "on logarithmic axes. The limits of vectorised and pooled are "
            f"{vectorized:.6f} and {pooled:.6f}."
        )

    def draw(self, run: Run) -> Figure:
        figure, (left, right) = plot.panels(2, 9.6, 4.2)
        for name in SETTINGS:
            self._curve(left, run, name)
        for name in MODELS:
            self._curve(right, run, name)
        left.set(title="alignment of the query", xlabel="α₀ = n₀ / d", ylabel="1 − |s|")
        right.set(title="test error, square loss, λ → 0", xlabel="α₁ = n₁ / d", ylabel="E − E∞")
        for axis in (left.xaxis, left.yaxis, right.xaxis, right.yaxis):
            log_axis(axis)
        return plot.finish(figure, columns=4)

    def _curve(self, axes: Axes, run: Run, name: str) -> None:
        line, known, found = _line(name), self._known(run, name), self._measured(run, name)
        numbers = [*(known[x] for x in line), *found.values()]
        plot.curve(axes, [*line, *found], numbers, COLOURED[name], name)
        ends, rate = (line[0], line[-1]), self._rate(run, name)
        first = [rate.times(1 / x) for x in ends]
        plot.curve(axes, ends, first, COLOURED[name], f"_{name}, first order", ":", lw=1.1)
