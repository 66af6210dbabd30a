"""The same data for the query and for the readout, against fresh data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from sparsetoken import theory
from sparsetoken.experiments.core import references as known_errors
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.descents import course_row, follow_trials
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import DIFFERENCE
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.core.rows import CONVERGED, THEORY, Row, Rows, averaged, difference
from sparsetoken.experiments.core.rules import against_simulation, compare, fraction_true, placed
from sparsetoken.figures.curves import LOADS, Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLUE, GREEN, VERMILION
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Attention
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.results import StatusCode
from sparsetoken.simulation.features import sampler_of
from sparsetoken.simulation.frames import training_size
from sparsetoken.simulation.performance import expected_performance, project
from sparsetoken.simulation.seeds import Stream, seed_of, stream
from sparsetoken.simulation.tensors import TensorEngine

FIT = 36
"""Steps of the readout after the two steps: it is then at its minimum, see `one_data_set`."""
LAST = 5  # steps whose change counts as numerical error
TOLERANCE = 3e-3  # of twice the error of the test error, far below its standard errors
QUANTITIES = ("test_error", "cosine")
TIMES = {"fresh": 1, "reused": 1, "all twice": 2}
"""How many times n0 samples the query of an arm sees."""
SPLITTING = "reuse-or-splitting"
AT_LOAD = ("n₀/d = n₁/d = {load:g}, d = {dimension}", "load")
AT_ALPHA = ("n/d = {alpha:g}, d = {dimension}", "alpha")
"""Where the arms are trained, and the descents, with the coordinate along the curve."""
LOOKS = {
    "reused": ("D0 = D1", VERMILION, "s"),
    "fresh": ("fresh D0 and D1", BLUE, "o"),
    "all twice": ("D0 ∪ D1 used twice", GREEN, "^"),
}
"""Label, colour and marker."""

SIZES = profiles(
    # The dimension is that of the arms, see `dimension_of`. Descents have as many samples at
    # each alpha, so that d is largest where alpha is small.
    loads=Size((0.5, 1.0, 2.0, 4.0), (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)),
    dimension=Size(200, 400),
    trials=Size(20, 60),
    replicas=Size(4, 16),
    samples=Size(800, 1600),
    far_trials=Size(8, 20),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    for load in sizes.loads:
        readout = Readout(alpha1=load)
        yield piece(known_errors.predict_references, PROBLEM, steps_of(load), readout, cost=0.6)
    alphas = sorted({times * load for load in sizes.loads for times in TIMES.values()})
    for i, alpha in enumerate(alphas):
        yield piece(reuse, alpha, sizes.replicas, cost=0.7 * sizes.replicas)
        own = seed_of("data-reuse", "descent", i, seed)
        cost = sizes.far_trials * (sizes.samples / 800) ** 2 / alpha
        yield piece(descend, alpha, sizes.samples, sizes.far_trials, own, cost=cost)
    for i, load in enumerate(sizes.loads):
        dimension, own = dimension_of(sizes, load), seed_of("data-reuse", i, seed)
        cost = sizes.trials * (0.2 + 0.03 * load * (dimension / 200) ** 2)
        yield piece(train, load, dimension, sizes.trials, own, cost=cost)


def dimension_of(sizes: Sizes, load: float) -> int:
    """Return the dimension of real tokens at a load.

    Finite-size effects depend on the number of samples that find the query: there are never fewer
    of them than at load 1.
    """
    return round(sizes.dimension / min(load, 1.0))


def steps_of(load: float) -> TwoSteps:
    """Return the steps that find the query at a load."""
    return TwoSteps(load, eta_q=25.0)


def one_data_set(alpha: float) -> Descent:
    """Return the two steps and then the fit of the readout, all on the same samples.

    The fit is gradient descent with momentum on the objective of `Readout`. The square root of
    the product of step size and ridge, 4 and 0.01, is the rate of descent with the best momentum,
    so that 36 steps reduce the remainder by e^-7. The bias has no ridge and the smallest curvature,
    the mean slope of the sigmoid over samples that are nearly all fitted; its steps are larger once
    the first have passed.
    """
    start = steps_of(alpha)
    eta = [1.0] * 4 + [4.0] * (FIT - 4)
    return Descent(
        alpha=alpha,
        steps=2 + FIT,
        rates={"w": [start.eta_w, 0.0, *eta], "q": [0.0, start.eta_q, *[0.0] * FIT]},
        rate_c=[start.eta_b, 0.0, *eta[:8], *[32.0] * (FIT - 8)],
        start=0.0,
        momentum=[0.0, 0.0, 0.0, *[0.7] * (FIT - 1)],
        decay={"w": Readout().ridge, "q": 0.0},
    )


def reuse(alpha: float, replicas: int) -> list[Row]:
    """Predict query and readout found on the same samples.

    The error is that over replicas, and what the last steps still changed.
    """
    path = theory.descend(PROBLEM, one_data_set(alpha), replicas=replicas)
    last, before = (
        [course_row(path, name, step, alpha=alpha) for name in QUANTITIES]
        for step in (-1, -1 - LAST)
    )
    errors = [math.hypot(a.error, a.value - b.value) for a, b in zip(last, before, strict=True)]
    status = str(StatusCode.TOLERANCE_NOT_REACHED) if 2 * errors[0] > TOLERANCE else CONVERGED
    if path.status.code is StatusCode.NO_LIMIT:
        status = str(StatusCode.NO_LIMIT)
    return [row.but(error=error, status=status) for row, error in zip(last, errors, strict=True)]


def descend(alpha: float, samples: int, trials: int, seed: int) -> list[Row]:
    """Simulate the same descent at the dimension with this number of samples."""
    descent, dimension = one_data_set(alpha), round(samples / alpha)
    sizes: dict[str, Any] = {"dimension": dimension, "trials": trials, "seed": seed}
    mean = follow_trials(PROBLEM, descent, [descent.steps], **sizes)
    at = {"arm": "descent", "alpha": alpha}
    return [mean(name, -1, series="descended", **at) for name in QUANTITIES]


def reuse_trial(load: float, dimension: int, seed: int, trial: int) -> dict[str, dict[str, float]]:
    """Train the three classifiers of a trial on D0 and D1, each of load d samples.

    The test error is its conditional expectation given a classifier. Test errors share random
    numbers, so that the differences are more precise.
    """
    engine = TensorEngine(PROBLEM, dimension, seed_of("beyond", seed, trial))
    steps, readout = steps_of(load), Readout(alpha1=load)
    sampler, n = sampler_of(Attention(steps), PROBLEM), training_size(load, dimension)
    D0, D1 = (list(engine.chunks(source, n)) for source in (Stream.D0, Stream.D1))
    arms = {"fresh": (D0, D1), "reused": (D1, D1), "all twice": (D0 + D1, D0 + D1)}
    reached = {}
    for arm, (for_query, for_readout) in arms.items():
        query = engine.train_query(steps, for_query)
        features = np.concatenate([sampler.features(X, query) for X, _ in for_readout])
        labels = np.concatenate([y for _, y in for_readout])
        fit = fit_readout(features, labels, readout.loss, readout.ridge)
        split = project(engine.frame, query, fit.w, fit.b, dimension=dimension)
        scores = sampler.scores(query, split, stream(engine.seed, Stream.TEST))
        error = expected_performance(PROBLEM.positive_rate, scores).test_error
        reached[arm] = {"test_error": error, "cosine": query.query.cosine}
    return reached


def train(load: float, dimension: int, trials: int, seed: int) -> Iterator[Row]:
    """Train all arms in all trials; the excess is the test error over that of fresh data."""
    outcomes = [reuse_trial(load, dimension, seed, trial) for trial in range(trials)]
    for arm, times in TIMES.items():
        at: dict[str, Any] = {"load": load, "arm": arm, "alpha": times * load}
        at |= {"dimension": dimension, "series": "trained"}
        for name in QUANTITIES:
            yield averaged([trial[arm][name] for trial in outcomes], name, **at)
        excess = [trial[arm]["test_error"] - trial["fresh"]["test_error"] for trial in outcomes]
        yield averaged(excess, "excess", **at)


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare with arms and descents, and measure the gain from using all samples."""
    for row in (*rows.where("trained"), *rows.where("descended")):
        if row.quantity in QUANTITIES and row["arm"] != "fresh":
            key = (row["arm"], row.quantity) == ("reused", "test_error")
            place = AT_ALPHA if row.series == "descended" else AT_LOAD
            yield compare("reuse-of-data", rows.where(THEORY), row, "{arm}", *place, key=key)
    gains = gains_of(rows)
    for gain, row in gains:
        # A difference of two test errors is off at finite d by as much as the larger one.
        options: dict[str, Any] = {"shift": DIFFERENCE, "size": _fresh(rows, row).value}
        options |= placed(row, "{arm}", *AT_LOAD)
        excess = row.but(quantity="test_error − fresh")
        yield against_simulation(SPLITTING, gain, excess, **options)
    name = "loads where it is smaller by three errors"
    true = [gain.value < -3 * gain.error for gain, _ in gains]
    where = "load " + ", ".join(f"{row['load']:g}" for _, row in gains)
    known = [gain for gain, _ in gains]
    yield fraction_true(SPLITTING, name, true, known, where, curve="theory", key=True)


def expected(rows: Rows, row: Row) -> Row:
    """Return the prediction of a measured row."""
    return _fresh(rows, row) if row["arm"] == "fresh" else rows.where(THEORY).beside(row)


def _fresh(rows: Rows, row: Row) -> Row:
    return rows.one("attention", "test_error", load=row["load"])


def gains_of(rows: Rows) -> list[tuple[Row, Row]]:
    """Return the excess test error of all samples twice over fresh data, predicted and measured."""
    excesses = rows.where("trained", "excess", arm="all twice")
    twice = [rows.one(THEORY, "test_error", alpha=row["alpha"]) for row in excesses]
    pairs = zip(twice, excesses, strict=True)
    return [(difference(error, _fresh(rows, row)), row) for error, row in pairs]


def draw(rows: Rows) -> Plot:
    """Draw the test error (left) and the cosine of the query (right)."""
    error = Axis("test error", ticks=(0.02, 0.03, 0.05, 0.1, 0.2, 0.4), low=0.015)
    known = known_errors.reference_curves(rows, ("pooled", "floor", "bayes"))
    known += [Curve("", BLUE, rows.where("attention"))]
    left = _panel(rows, "test_error", error, "test error", known)
    right = _panel(rows, "cosine", Axis(""), "cosine of the query")
    return curves([left, right], 8.8, 4.2, columns=3)


def _panel(rows: Rows, name: str, y: Axis, title: str, known: Sequence[Curve] = ()) -> Panel:
    arms = []
    for arm, (label, colour, marker) in LOOKS.items():
        trained = rows.where("trained", name, arm=arm)
        if arm != "fresh":
            theory = [expected(rows, row).but(load=row["load"]) for row in trained]
            arms.append(Curve("", colour, theory))
        arms.append(Curve(label, colour, trained, marker=marker))
    return Panel("load", Axis("load n₀/d = n₁/d", ticks=LOADS), y, [*known, *arms], title)


EXPERIMENT = Experiment("data-reuse", SIZES, work, judge, {"data_reuse": draw}, version=3)
