"""Two rates: of query alignment in alpha0, and of the test error in alpha1."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import sparsetoken as st
from sparsetoken.figures.palette import COLOURS, SEQUENCE
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Overlaps
from sparsetoken.studies.claims import PAPER, PROVED, Claim, Number, predicted, row, to_infinity
from sparsetoken.studies.figure import Look, Panel
from sparsetoken.studies.study import Call, Experiment, Run, Study, measured
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
ABUNDANT_WEIGHTS = 50
NODES = 2048
FAR = 1e4
"""The number of samples over the dimension at which the theory is compared with its rate."""
ALPHA0S, SIZES, TRIALS = (10.0, 30.0, 100.0, 300.0), (200, 800), 60
"""Loads, dimensions and trials of the query."""
ALPHAS, WEIGHT_COUNTS, FITS = (5.0, 10.0, 20.0), (50, 200), 80
"""Samples per weight, weights (d, or L d of vectorised) and trials of the test error."""
POINTS = 16  # of a line
ALIGNMENT, DATA = "alignment-rate", "infinite-data-rate"
SHARED = "vectorized-and-pooled-share-the-limit"
QUERY_PANEL, ERROR_PANEL = "alignment of the query", "test error, square loss, λ → 0"
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


def _line(name: str, scale: int) -> list[float]:
    """Return the loads of a line of theory."""
    first = 2.0 * WEIGHTS[name] if name in MODELS else 1.0
    return np.geomspace(first, FAR, POINTS * scale + 1).tolist()


def _simulated(name: str) -> list[float]:
    """Return the loads of simulations."""
    return [WEIGHTS[name] * x for x in ALPHAS] if name in MODELS else list(ALPHA0S)


def _letters(name: str) -> str:
    """Return problem and steps for readers."""
    problem, steps = SETTINGS[name]
    return (
        f"{name}, L = {problem.length}, R = {problem.informative}, θ = {problem.strength:g}, "
        f"π = {problem.positive_rate:g}, {steps.loss.name} loss, η_w = η_b = {steps.eta_w:g}"
    )


def _first(name: str) -> str:
    return f"{name}, first order"


class Rates(Study):
    """How the query and the test error converge with more data."""

    name, title = "rates", "Rates of alignment and of infinite data"
    setting = (
        f"Alignment: {'; '.join(_letters(name) for name in SETTINGS)}. Infinite data: square loss, "
        f"λ = 0, L = {PROBLEM.length}, R = {PROBLEM.informative}, θ = {PROBLEM.strength:g}, "
        f"π = {PROBLEM.positive_rate:g}, query with cosine {QUERY.cosine:g} and "
        f"k = {QUERY.sharpness:g}; measured test errors minus the predicted limit."
    )
    caption = (
        "Left, 1 − |s| of the query against α₀; right, excess of the test error over its limit of "
        "infinite data against α₁; dotted, the predicted first order, C/α₀ and rate/α₁."
    )
    claims = (
        Claim(
            ALIGNMENT,
            "|s_q| = 1 − C/α₀ + o(1/α₀) with the predicted C, for queries that turn to the signal "
            "and for queries that turn away.",
            "Corollary to query alignment",
            PROVED,
            PAPER,
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
    panels = (
        Panel(QUERY_PANEL, "α₀ = n₀ / d", "1 − |s|", log={"x": (), "y": ()}),
        Panel(ERROR_PANEL, "α₁ = n₁ / d", "E − E∞", log={"x": (), "y": ()}),
    )
    looks = {name: Look(colour) for name, colour in COLOURED.items()} | {
        _first(name): Look(colour, ":", label="") for name, colour in COLOURED.items()
    }

    def theory(self, scale: int) -> Mapping[Any, Call]:
        calls: dict[Any, Call] = {}
        for name in SETTINGS:
            alpha0s = np.array([*_line(name, scale), *_simulated(name)])
            calls[name] = partial(st.align, *_steps_at(name, alpha0s))
        for name, model in MODELS.items():
            # All are on one set of nodes: their differences are then exact, far below the error
            # of the nodes themselves. The limit is also predicted with as many as it needs.
            loads = [*_line(name, scale), *_simulated(name), math.inf]
            readouts = [_readout_of(alpha1) for alpha1 in loads]
            calls[name] = partial(st.theory.predict_readouts, PROBLEM, model, readouts, nodes=NODES)
            calls["rate", name] = partial(rate_of, name)
            calls["limit", name] = partial(st.predict, PROBLEM, model, _readout_of(math.inf))
        return calls

    def simulation(self, scale: int) -> Mapping[Any, Experiment]:
        every: dict[Any, Experiment] = {}
        for name in SETTINGS:
            for alpha0 in ALPHA0S:
                align = partial(st.simulation.align, *_steps_at(name, alpha0))
                every[name, alpha0] = Experiment(align, SIZES, TRIALS * scale)
        for name, model in MODELS.items():
            per, fit = WEIGHTS[name], partial(st.simulate, PROBLEM, model)
            sizes = [weights // per for weights in WEIGHT_COUNTS]
            for load in _simulated(name):
                every[name, load] = Experiment(partial(fit, _readout_of(load)), sizes, FITS * scale)
            # At every dimension these errors have the same limit.
            for x in ABUNDANT if name in LINEAR else ():
                call = partial(fit, _readout_of(per * x))
                every["abundant", name, x] = Experiment(
                    call, (ABUNDANT_WEIGHTS // per,), 16 * scale
                )
        return every

    def rows(self, run: Run) -> Iterator[dict[str, Any]]:
        for name in SETTINGS:
            yield from _alignment(run, name)
        for name in MODELS:
            yield from _data(run, name)
        yield from _limits(run)


def _alignment(run: Run, name: str) -> Iterator[dict[str, Any]]:
    """Compare 1 - |s| with what is measured, and far away with its first order."""
    results, loads = run.theory[name], _line(name, run.scale)
    numbers = [predicted(one, "cosine") for one in results]
    numbers = [dataclasses.replace(n, value=1 - abs(n.value)) for n in numbers]
    line, rest = numbers[: len(loads)], numbers[len(loads) :]
    rate = Number(predicted(results[len(loads) - 1], "rate").value)
    place = {"panel": QUERY_PANEL, "curve": name}
    yield from _drawn(loads, line, rate, place)
    before, last = (n.times(x) for x, n in zip(loads[-2:], line[-2:], strict=True))
    # The next order in 1/alpha0 falls as 1/alpha0: from the last step of the line on, no more
    # remains than that step over (ratio of the two alpha0 - 1).
    left = 1.1 * abs(last.value - before.value) / (loads[-1] / loads[-2] - 1) + 1e-9
    where, given = f"α₀ = {FAR:g}, against C", {"claim": ALIGNMENT, "curve": name}
    yield row(rate, last, quantity="α₀ (1 − |s|)", allowance=left, where=where, key=True, **given)
    for load, known in zip(ALPHA0S, rest, strict=True):
        some = run.simulated[name, load]
        found = measured(lambda one: 1 - np.abs(one.cosine), some)
        where = f"α₀ = {load:g}, {some.experiment.where}"
        given = {"claim": ALIGNMENT, "quantity": "misalignment", "where": where} | place
        yield row(known, found, x=load, key=load == 100, **given)


def _data(run: Run, name: str) -> Iterator[dict[str, Any]]:
    """Compare the excess over the limit with what is measured, and far away with its rate."""
    loads, rate = _line(name, run.scale), run.theory["rate", name]
    *errors, limit = (predicted(one, "test_error") for one in run.theory[name])
    numbers = [dataclasses.replace(n - limit, error=0.0) for n in errors]
    line, rest = numbers[: len(loads)], numbers[len(loads) :]
    place = {"panel": ERROR_PANEL, "curve": name}
    yield from _drawn(loads, line, rate, place)
    given: dict[str, Any] = {"claim": DATA, "curve": name}
    # The next order is of relative size (weights per dimension)/alpha1 times a few; the rate
    # itself is found with other nodes, whose error is a few thousandths.
    allowed = (10 * WEIGHTS[name] / FAR + 3e-3) * rate.value
    where = f"α₁ = {FAR:g}, against the rate from first-order theory"
    given |= {"quantity": "α₁ (E − E∞)", "where": where}
    yield row(rate, line[-1].times(FAR), allowance=allowed, key=True, **given)
    far = [(math.log(x), math.log(n.value)) for x, n in zip(loads, line, strict=True)
           if x >= FAR / 10]  # fmt: skip
    x, y = np.array(far).T
    slope = Number(float(np.polyfit(x, y, 1)[0]), converged=all(n.converged for n in numbers))
    given |= {"quantity": "log-log slope", "where": f"theory, α₁ from {FAR / 10:g} to {FAR:g}"}
    # The second order is (weights per dimension)/alpha1 at most times a few.
    yield row(-1.0, slope, allowance=10 * WEIGHTS[name] / (FAR / 10), **given)
    error = predicted(run.theory["limit", name], "test_error").error
    for load, known in zip(_simulated(name), rest, strict=True):
        some = run.simulated[name, load]
        found = measured("test_error", some) - Number(limit.value)
        given = {"quantity": "excess", "where": f"α₁ = {load:g}, {some.experiment.where}"}
        yield row(
            dataclasses.replace(known, error=error), found, claim=DATA, x=load, **given | place
        )


def _drawn(
    x: list[float], line: list[Number], rate: Number, place: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield a line and its first order, rate/x."""
    for load, number in zip(x, line, strict=True):
        yield row(number, x=load, **place)
    for load in (x[0], x[-1]):
        yield row(rate.times(1 / load), x=load, **place | {"curve": _first(place["curve"])})


def _limits(run: Run) -> Iterator[dict[str, Any]]:
    """Compare the limits of the two linear models with each other, and as measured."""
    pooled, vectorized = (predicted(run.theory["limit", m], "test_error") for m in LINEAR)
    given: dict[str, Any] = {"claim": SHARED, "quantity": "test_error"}
    # Newton's last step, squared; both laws are exact.
    against = {"where": "α₁ = ∞, against pooled", "allowance": 1e-9, "key": True}
    yield row(pooled, vectorized, curve="vectorized", **against, **given)
    limits = {
        m: to_infinity(
            [measured("test_error", run.simulated["abundant", m, x]) for x in ABUNDANT], ABUNDANT
        )
        for m in LINEAR
    }
    loads = " and ".join(f"{load:g}" for load in ABUNDANT)
    given["where"] = f"n₁ = {loads} × weights, extrapolated to ∞"
    yield row(*limits.values(), curve="vectorized, pooled", **given)
    for name, found in limits.items():
        yield row(pooled, found, curve=name, **given)
