"""Two rates: of query alignment in alpha0, and of the test error in alpha1."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, SHIFTS, carried_to_infinity
from sparsetoken.experiments.core.rows import REDUCED, THEORY, Row, Rows, averaged, predicted
from sparsetoken.experiments.core.rules import against_simulation, against_value, compare
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import COLOURS, SEQUENCE
from sparsetoken.model.models import Attention, Pooled, Vectorized
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import Overlaps
from sparsetoken.results.record import Numbers
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.score_law import ScoreLaw

SETTINGS = {
    "balanced": (SparseTokenProblem(10, 3, 6.0, 0.5), TwoSteps(eta_q=1.0)),
    "rare positives": (SparseTokenProblem(10, 3, 6.0, 0.2), TwoSteps(eta_q=1.0)),
    "anti-aligned": (
        SparseTokenProblem(20, 2, 3.0, 0.2),
        TwoSteps(eta_w=0.1, eta_b=0.1, eta_q=1.0, loss="square"),
    ),
}
"""Of the first rate: problems and the steps that find their query."""
PROBLEM = SparseTokenProblem(length=5, informative=2, strength=2.0, positive_rate=0.3)
QUERY = Query(cosine=0.5, sharpness=1.5)
MODELS = {"attention": Attention(QUERY), "pooled": Pooled(), "vectorized": Vectorized()}
WEIGHTS = {"attention": 1, "pooled": 1, "vectorized": PROBLEM.length}
"""Of the second rate: models, and their weights per dimension."""
LINEAR = ("pooled", "vectorized")
ABUNDANT = (200.0, 800.0)
"""Samples per weight from which test errors are extrapolated to infinite data, at any d."""
ABUNDANT_SIZES = (50, 16)
"""Weights and trials there; the errors are known to 1 part in 2000."""
NODES = 2048
FAR = 1e4
"""The number of samples over the dimension at which the theory is compared with its rate."""
ALIGNMENT, DATA = "alignment-rate", "infinite-data-rate"
SHARED = "vectorized-and-pooled-share-the-limit"
GAP, EXCESS, SLOPE = "α₀ (1 − |s|)", "α₁ (E − E∞)", "log-log slope"

SIZES = profiles(
    alpha0s=Size((10.0, 30.0, 100.0, 300.0), (10.0, 30.0, 100.0, 300.0, 1000.0)),
    dimension=Size(600, 1000),  # and trials, of the query
    trials=Size(30, 100),
    alphas=Size((5.0, 10.0, 20.0), (5.0, 10.0, 20.0, 40.0)),  # times the weights per dimension
    weights=Size(160, 400),  # and trials, of the test error
    fits=Size(75, 200),
    line_points=17,
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    for name in SETTINGS:
        yield piece(predict_gaps, name, sizes.line_points, sizes.alpha0s, cost=0.05)
        for i, alpha0 in enumerate(sizes.alpha0s):
            own = (sizes.dimension, sizes.trials, seed_of("rates", name, i, seed))
            cost = sizes.trials * alpha0 * sizes.dimension * 1.7e-7
            yield piece(simulate_gap, name, alpha0, *own, cost=cost)
    for model in MODELS:
        alphas = tuple(WEIGHTS[model] * alpha1 for alpha1 in sizes.alphas)
        cost = 0.5 if model == "attention" else 0.1
        yield piece(predict_excess, model, sizes.line_points, alphas, cost=cost)
        cost = sizes.fits * 0.045 * (sizes.weights / 200) ** 3
        for i, load in enumerate(sizes.alphas):
            own = (sizes.weights, sizes.fits, seed_of("rates", model, i, seed))
            yield piece(simulate_error, "simulated", model, load, *own, cost=cost)
    for model, (i, load) in itertools.product(LINEAR, enumerate(ABUNDANT)):
        own = (*ABUNDANT_SIZES, seed_of("rates", "abundant", model, i, seed))
        yield piece(simulate_error, "abundant", model, load, *own, cost=1.6)


def _steps(name: str, alpha0: Numbers) -> tuple[SparseTokenProblem, TwoSteps]:
    problem, steps = SETTINGS[name]
    return problem, dataclasses.replace(steps, alpha0=alpha0)


def predict_gaps(name: str, points: int, others: tuple[float, ...]) -> Iterator[Row]:
    """Predict 1 - |s| on a line, other places among it; its rate C and the cosine at the end."""
    line = sorted({*np.geomspace(1, FAR, points).tolist(), *others})
    queries = theory.align(*_steps(name, np.array(line)))
    for alpha0, at in zip(line, queries, strict=True):
        gap = predicted(at, "cosine", curve=name, load=alpha0)
        yield gap.but(quantity="misalignment", value=1 - abs(gap.value))
    yield predicted(at, "rate", curve=name)
    yield predicted(at, "cosine", curve=name)


def simulate_gap(name: str, alpha0: float, dimension: int, trials: int, seed: int) -> list[Row]:
    """Measure 1 - |s|."""
    queries = simulation.align(*_steps(name, alpha0), dimension=dimension, trials=trials, seed=seed)
    gaps = 1 - np.abs(queries.trials.cosine)
    at: dict[str, Any] = {"curve": name, "load": alpha0}
    return [averaged(gaps, "misalignment", dimension=dimension, engine=REDUCED, **at)]


def readout_of(alpha1: float) -> Readout:
    """Return the readout of a load, without a ridge."""
    return Readout("square", 0.0, alpha1)


def predict_excess(model: str, points: int, others: tuple[float, ...]) -> Iterator[Row]:
    """Predict E(alpha1) - E(inf) on a line, other places among it; the limit and the rate.

    All are on one set of nodes: their differences are then exact, far below the error of the
    nodes themselves. The limit is also predicted with as many nodes as it needs.
    """
    line = sorted({*np.geomspace(2.0 * WEIGHTS[model], FAR, points).tolist(), *others})
    readouts = [readout_of(alpha1) for alpha1 in (*line, math.inf)]
    *predictions, end = theory.predict_readouts(PROBLEM, MODELS[model], readouts, nodes=NODES)
    limit = predicted(end, "test_error", curve=model).but(quantity="limit")
    yield limit
    for alpha1, at in zip(line, predictions, strict=True):
        row = predicted(at, "test_error", curve=model, load=alpha1)
        status = row.status if limit.converged else limit.status
        yield row.but(quantity="excess", value=row.value - limit.value, error=0.0, status=status)
    query = QUERY if model == "attention" else None
    law = feature_law(MODELS[model], PROBLEM, query, 4 * NODES)
    parts = [first_order(law.part(slice(i, i + 1))) for i in range(len(law.C))]
    rates = WEIGHTS[model] * np.array(parts)
    yield Row(THEORY, "rate", rates.mean(), float(stated_error(rates)), {"curve": model})
    end = theory.predict(PROBLEM, MODELS[model], readout_of(math.inf))
    yield predicted(end, "test_error", curve=model, load=math.inf)


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
    scores = ScoreLaw.of_overlaps(law, Overlaps(x[0], x[1], 0.0, x[2]))
    mean, width = scores.mean[0], scores.width[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = mean / width
        density = weight * np.exp(-0.5 * ratio**2) / math.sqrt(2 * math.pi) / width
        mean_moved = moved @ F
        width_moved = (2 * (x * moved) @ spread + C**2 * noise) / (2 * width)
        rate = density @ (y * (ratio * width_moved - mean_moved))
    return float(rate)


def simulate_error(
    series: str, model: str, load: float, weights: int, trials: int, seed: int
) -> Rows:
    """Measure the test error at a number of samples over weights."""
    per = WEIGHTS[model]
    given = (PROBLEM, MODELS[model], readout_of(per * load))
    sizes: dict[str, Any] = {"dimension": weights // per, "trials": trials, "seed": seed}
    at, wanted = {"curve": model, "load": per * load}, ["test_error"]
    return piece(simulation.simulate, *given, **sizes, rows=wanted, series=series, at=at).run()


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare both rates, and the limits of vectorized and pooled."""
    for name in SETTINGS:
        yield from _alignment(name, rows)
    for model in MODELS:
        yield from _data(model, rows)
    pooled, vectorized = (limit_of(rows, model) for model in LINEAR)
    found = vectorized.value, [pooled, vectorized], "α₁ = ∞, against pooled"
    given: dict[str, Any] = {"curve": "vectorized", "key": True, "expected": pooled.value}
    given["allowance"] = 1e-9  # Newton's last step, squared; both laws are exact
    yield against_value(SHARED, "test_error", *found, **given)
    limits = [carried_to_infinity(rows.where("abundant", curve=m), "load") for m in LINEAR]
    loads = " and ".join(f"{load:g}" for load in ABUNDANT)
    given = {"where": f"n₁ = {loads} × weights, extrapolated to ∞", "shift": NO_SHIFT}
    yield against_simulation(SHARED, *limits, curve="vectorized, pooled", **given)
    for model, row in zip(LINEAR, limits, strict=True):
        yield against_simulation(SHARED, pooled, row, curve=model, **given)


def limit_of(rows: Rows, model: str) -> Row:
    """Return the predicted test error of infinite data."""
    return rows.one(THEORY, "test_error", curve=model, load=math.inf)


def _alignment(name: str, rows: Rows) -> Iterator[Comparison]:
    known = rows.where(THEORY, "misalignment", curve=name)
    before, last = known[-2:]
    scaled_before, scaled = (row["load"] * row.value for row in (before, last))
    # The next order in 1/alpha0 falls as 1/alpha0: from the last step of the line on,
    # no more remains than that step over (ratio of the two alpha0 - 1).
    left = 1.1 * abs(scaled - scaled_before) / (last["load"] / before["load"] - 1) + 1e-9
    given: dict[str, Any] = {"curve": name, "expected": rows.one(THEORY, "rate", curve=name).value}
    where = f"α₀ = {last['load']:g}, against C"
    yield against_value(ALIGNMENT, GAP, scaled, [last], where, allowance=left, key=True, **given)
    for row in rows.where("simulated", "misalignment", curve=name):
        key = row["load"] == 100
        yield compare(ALIGNMENT, known, row, name, "α₀ = {load:g}", "load", key=key)


def _data(model: str, rows: Rows) -> Iterator[Comparison]:
    known, rate = rows.where(THEORY, "excess", curve=model), rows.one(THEORY, "rate", curve=model)
    last = known[-1]
    given: dict[str, Any] = {"curve": model, "expected": rate.value, "error": rate.error}
    # The next order is of relative size (weights per dimension)/alpha1 times a few; the
    # rate itself is found with other nodes, whose error is a few thousandths.
    given["allowance"] = (10 * WEIGHTS[model] / last["load"] + 3e-3) * rate.value
    where = f"α₁ = {last['load']:g}, against the rate from first-order theory"
    yield against_value(DATA, EXCESS, last["load"] * last.value, [last], where, key=True, **given)
    far = [row for row in known if row["load"] >= FAR / 10]
    x, y = np.log([row["load"] for row in far]), np.log([row.value for row in far])
    found = float(np.polyfit(x, y, 1)[0]), known, f"theory, α₁ from {FAR / 10:g} to {FAR:g}"
    # The second order is (weights per dimension)/alpha1 at most times a few.
    second = 10 * WEIGHTS[model] / (FAR / 10)
    yield against_value(DATA, SLOPE, *found, curve=model, expected=-1.0, allowance=second)
    error, shift = limit_of(rows, model).error, SHIFTS["test_error"]
    known = Rows(row.but(error=error) for row in known)
    # With infinite data the theory is exact at every d: only the excess feels d, as test errors do.
    for row in excesses(rows).where(curve=model):
        yield compare(DATA, known, row, model, "α₁ = {load:g}", "load", shift=shift)


def excesses(rows: Rows) -> Rows:
    """Return the measured test errors minus their predicted limits."""
    limits = {row["curve"]: row.value for row in rows.where(THEORY, "limit")}
    return Rows(
        row.but(quantity="excess", value=row.value - limits[row["curve"]])
        for row in rows.where("simulated", "test_error")
    )


def draw(rows: Rows) -> Plot:
    """Draw 1 - |s| and the excess error with their predicted asymptotes, on logarithmic axes."""
    gaps = _curves(rows, "misalignment", dict(zip(SETTINGS, SEQUENCE[::2], strict=True)))
    losses = _curves(rows + excesses(rows), "excess", {model: COLOURS[model] for model in MODELS})
    x, y = Axis("α₀ = n₀ / d", log=True), Axis("1 − |s|", log=True)
    left = Panel("load", x, y, [*gaps], "alignment of the query")
    x, y = Axis("α₁ = n₁ / d", log=True), Axis("E − E∞", log=True)
    right = Panel("load", x, y, [*losses], "test error, square loss, λ → 0")
    return curves([left, right], 9.6, 4.2, columns=4)


def _curves(rows: Rows, quantity: str, colours: Mapping[str, str]) -> Iterator[Curve]:
    for name, colour in colours.items():
        curve = rows.where(quantity=quantity, curve=name)
        known, rate = curve.where(THEORY), rows.one(THEORY, "rate", curve=name)
        rates = [row.but(value=rate.value / row["load"]) for row in (known[0], known[-1])]
        yield Curve(name, colour, curve)
        yield Curve("", colour, rates, ":", look={"lw": 1.1})


EXPERIMENT = Experiment("rates", SIZES, work, judge, {"rates": draw})
