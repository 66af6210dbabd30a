"""Excess of several training procedures over the Bayes-optimal error."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.optimize import minimize

from sparsetoken import simulation, theory
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.descents import course_row, follow_trials
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.references import PROBLEM, reference_curves
from sparsetoken.experiments.core.rows import (
    TENSORS,
    THEORY,
    Row,
    Rows,
    measured,
    predicted,
)
from sparsetoken.experiments.core.rules import compare, fraction_true
from sparsetoken.figures.curves import LOADS, Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLUE, COLOURS, GREY, VERMILION
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Attention, Pooled
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.model.training import training_of
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory.dynamics.descend import test_errors
from sparsetoken.theory.oracle import bayes_error, learning_error
from sparsetoken.theory.tuning import best_training

STAGES, DESCENT = "four stages", "constant"
"""The trainings that are searched: all choices of the four stages, and one descent, of whose
schedules this one is measured with real tokens as well."""
RESTING = "two_steps"
"""The other schedule: its query is trained first and then nearly rests, as in the four stages."""
PASSED, MEASURED = "message passing", "measured"
"""Series of real tokens."""
FARTHER = 2
"""Times the dimension at which the descent is also followed."""
ETA_Q, RIDGE = 40.0, 1e-2
"""Of the four stages whose split alone is chosen."""
TOLERANCE = 1e-3
"""Of predictions and searches, far below the differences between trainings."""
TEST_SAMPLES = 20000
"""Of message passing: by chance the share of wrong labels varies less than between trials."""
POINTS = {
    STAGES: ("four stages, all choices", BLUE, "o"),
    DESCENT: ("one descent, constant steps", VERMILION, "s"),
}

SIZES = profiles(
    # n/d of all samples, and those of them where trainings are searched, with at most so many
    # steps and so many evaluations for each schedule; replicas of the theory of what is found.
    alphas=Size((0.5, 1.0, 2.0, 4.0), (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)),
    searched=Size((0.5,), (0.5, 2.0)),
    steps=Size(16, 20),
    evaluations=Size(16, 60),
    dimension=Size(800, 1000),
    trials=Size(8, 12),
    replicas=Size(4, 16),
)


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work."""
    for alpha in sizes.alphas:
        yield piece(predict, alpha, cost=1.5)
    trials, size = sizes.trials, (sizes.dimension / 600) ** 2
    for i, alpha in enumerate(sizes.searched):
        passed, own = (
            seed_of("training-floor", name, i, seed) for name in ("message passing", "descent")
        )
        given: dict[str, Any] = {"dimension": sizes.dimension, "trials": trials}
        drawn = {**given, "seed": passed, "test_samples": TEST_SAMPLES}
        drawn |= {"rows": ("test_error",), "at": {"alpha": alpha, "engine": TENSORS}}
        drawn |= {"series": PASSED, "cost": trials * alpha * size}
        yield piece(simulation.pass_messages, PROBLEM, alpha, **drawn)
        given |= {"evaluations": sizes.evaluations, "seed": own}
        yield piece(search_stages, alpha, **given, cost=3.0 + 0.15 * sizes.evaluations)
        given |= {"steps": sizes.steps, "replicas": sizes.replicas}
        for schedule in (RESTING, DESCENT):
            cost = sizes.evaluations * 0.04 * sizes.steps
            cost += trials * size * (schedule == DESCENT)
            yield piece(search_descent, alpha, schedule, **given, cost=cost)


def predict(alpha: float) -> list[Row]:
    """Predict the levels at a load: pooled, the four stages, Bayes-optimal learner, Bayes."""
    readout = Readout(ridge=RIDGE, alpha1=alpha)
    stages = Attention(TwoSteps(alpha / 2, eta_q=ETA_Q))
    options: dict[str, Any] = {"free": ["share"], "tolerance": TOLERANCE}
    split = best_training(PROBLEM, stages, Readout(ridge=RIDGE), alpha, **options)
    levels = {
        "pooled": theory.predict(PROBLEM, Pooled(), readout, tolerance=TOLERANCE),
        "split": split.prediction,
        "floor": learning_error(PROBLEM, alpha),
        "bayes": bayes_error(PROBLEM),
    }
    return [predicted(level, "test_error", name, alpha=alpha) for name, level in levels.items()]


def search_stages(
    alpha: float, *, evaluations: int, dimension: int, trials: int, seed: int
) -> list[Row]:
    """Search over all choices of the four stages, and train with the best."""
    stages = Attention(TwoSteps(alpha / 2, eta_q=ETA_Q))
    readout = Readout(ridge=RIDGE, alpha1=alpha / 2)
    options: dict[str, Any] = {"evaluations": evaluations, "tolerance": TOLERANCE}
    best = best_training(PROBLEM, stages, readout, alpha, **options)
    given: dict[str, Any] = {"dimension": dimension, "engine": TENSORS}
    drawn = (PROBLEM, Attention(best.steps), best.readout)
    simulated = simulation.simulate(*drawn, trials=trials, seed=seed, **given)
    numbers = (
        f"share of D0 {best.share:.2f}, η_w = {best.steps.eta_w:.2g}, "
        f"η_q = {best.steps.eta_q:.3g}, λ = {best.readout.ridge:.2g}"
    )
    at: dict[str, Any] = {"alpha": alpha, "training": STAGES, "numbers": numbers}
    worth = predicted(best.prediction, "test_error", **at)
    return [worth, measured(simulated, "test_error", MEASURED, **given, **at)]


def start_of(schedule: str, alpha: float, steps: int) -> Descent:
    """Return where the search of a schedule starts: its query is neither blunt nor hard.

    Weight decay of the readout is part of each. ``two_steps``: a step of the readout, one of the
    query, then both with momentum. ``constant``: constant step sizes and momentum.
    """
    sharp = 2.0 / theory.align(PROBLEM, TwoSteps(alpha, 0.5, 0.5, 1.0)).sharpness
    t = np.arange(steps)
    if schedule == RESTING:
        w, q = np.where(t == 0, 0.5, 1.5 * (t > 1)), np.where(t == 1, sharp, 1e-3 * (t > 1))
        momentum, decay = 0.6 * (t > 2), 0.05
    else:
        one = np.ones(steps)
        w, q, momentum, decay = 0.8 * one, 0.01 * sharp * one, 0.375 * one, 0.7
    return Descent(
        alpha=alpha,
        steps=steps,
        rates={"q": q, "w": w},
        rate_c=w,
        start=0.0,
        momentum=momentum,
        decay={"q": 0.0, "w": decay},
    )


def scaled(start: Descent, factors: Sequence[float] | np.ndarray, steps: int) -> Descent:
    """Multiply the rates of query, readout and bias, the decay and the odds of the momentum."""
    training, (q, w, c, decay, odds) = training_of(PROBLEM, start), factors
    moved = odds * training.momentum / (1 - training.momentum)
    return dataclasses.replace(
        start,
        steps=steps,
        rates=training.rates[:steps] * [q, w],
        rate_c=(c * training.rates_c[:steps]).tolist(),
        decay=decay * training.decay,
        momentum=(moved / (1 + moved))[:steps].tolist(),
    )


def best_descent(start: Descent, evaluations: int) -> Descent:
    """Search for the factors with the smallest test error, and stop where it is attained.

    What counts is the largest error of three consecutive steps: a lower one that does not last
    belongs to an oscillating descent, whose phase differs at finite dimension.
    """
    tried = []

    def lasting(logarithms: np.ndarray) -> float:
        errors = test_errors(PROBLEM, scaled(start, np.exp(logarithms), start.steps), replicas=2)
        largest = np.lib.stride_tricks.sliding_window_view(errors, 3).max(axis=1)
        known = np.where(np.isnan(largest), 1.0, largest)
        tried.append((float(known.min()), int(known.argmin()) + 2, logarithms.copy()))
        return tried[-1][0]

    bounds, sizes = [(-7.0, 7.0)] * 5, {"initial_tr_radius": 1.0, "final_tr_radius": 0.3}
    options = {"maxfev": evaluations, **sizes}
    minimize(lasting, np.zeros(5), method="COBYQA", bounds=bounds, options=options)
    _, steps, logarithms = min(tried, key=lambda one: one[0])
    return scaled(start, np.exp(logarithms), steps)


def search_descent(
    alpha: float,
    schedule: str,
    *,
    steps: int,
    dimension: int,
    trials: int,
    seed: int,
    evaluations: int,
    replicas: int,
) -> Iterator[Row]:
    """Search over the descents of a schedule on all samples; train with the best of `DESCENT`."""
    descent = best_descent(start_of(schedule, alpha, steps), evaluations)
    course = theory.descend(PROBLEM, descent, replicas=replicas, progress=False)
    at: dict[str, Any] = {"alpha": alpha, "training": schedule, "numbers": numbers_of(descent)}
    yield course_row(course, "test_error", -1, **at)
    if schedule == DESCENT:
        at["series"] = MEASURED
        for d in (dimension, FARTHER * dimension):
            sizes: dict[str, Any] = {"dimension": d, "trials": trials, "seed": seed_of(d, seed)}
            mean = follow_trials(PROBLEM, descent, [descent.steps], **sizes)
            yield mean("test_error", -1, **at)


def numbers_of(descent: Descent) -> str:
    """Return the numbers of a descent for readers, schedules by their first and last numbers."""
    training = training_of(PROBLEM, descent)
    words = [f"{descent.steps} steps"]
    eta_q, eta_w = training.rates.T
    schedules = {"η_w": eta_w, "η_q": eta_q, "η_b": training.rates_c, "momentum": training.momentum}
    for name, values in schedules.items():
        own = list(dict.fromkeys(f"{value:.2g}" for value in values.tolist()))
        own = own if len(own) <= 3 else [*own[:2], "...", own[-1]]
        words.append(f"{name} = {', '.join(own)}")
    return ", ".join([*words, f"decay {training.decay[1]:.2g}"])


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare message passing with its limit, and the best trainings with simulations."""
    passed, where = rows.where(PASSED), ("n/d = {alpha:g}, d = {dimension}", "alpha")
    floor, split, bayes, known = (rows.where(name) for name in ("floor", "split", "bayes", THEORY))
    for row in passed:
        yield compare("learning-floor", floor, row, PASSED, *where, key=True)
    yield _loses_less(floor, split, bayes, curve="theory", where=_loads(floor), key=True)
    given = {"curve": f"{PASSED}, {STAGES}", "where": f"{_loads(passed)}, real tokens"}
    trained = rows.where(MEASURED, training=STAGES)
    stages, least = ([some.beside(row) for row in passed] for some in (trained, bayes))
    yield _loses_less(passed, stages, least, **given)
    for row in rows.where(MEASURED):
        key = row["training"] == DESCENT
        yield compare("best-training", known, row, "{training}", *where, key=key)
    steady = known.where(training=DESCENT)
    stages, resting = (
        [known.one(training=name, alpha=row["alpha"]) for row in steady]
        for name in (STAGES, RESTING)
    )
    yield _better("best-training", "loads where one descent is better", steady, stages)
    name = "loads where constant steps are better"
    yield _better("best-schedule", name, steady, resting, key=True)


def _loads(rows: Sequence[Row]) -> str:
    return "n/d = " + ", ".join(f"{row['alpha']:g}" for row in rows)


def _loses_less(
    best: Sequence[Row], stages: Sequence[Row], bayes: Sequence[Row], **given: Any
) -> Comparison:
    """Judge that the Bayes-optimal learner has under half the excess of the four stages."""
    cases = list(zip(best, stages, bayes, strict=True))
    true = [a.value - least.value < 0.5 * (b.value - least.value) for a, b, least in cases]
    name, used = "loads where training accounts for more", (*best, *stages, *bayes)
    return fraction_true("loss-of-training", name, true, used, **given)


def _better(claim: str, name: str, steady: Rows, others: list[Row], **key: bool) -> Comparison:
    """Judge by theory that descents with constant steps are better than other trainings."""
    true = [a.value + 3 * a.error < b.value for a, b in zip(steady, others, strict=True)]
    return fraction_true(claim, name, true, steady + others, _loads(steady), curve="theory", **key)


def draw(rows: Rows) -> Plot:
    """Draw the test errors against the load: crosses are predicted, points measured."""
    lines = reference_curves(rows, ("pooled", "floor", "bayes"))
    split = rows.where("split")
    lines.append(Curve("four stages, best split, theory", COLOURS["attention"], split))
    for training, (label, colour, marker) in POINTS.items():
        points = rows.where(MEASURED, training=training)
        points = points.where(dimension=min(points.distinct("dimension"), default=0))
        known = rows.where(THEORY, training=training)
        lines.append(Curve("", colour, known, "none", look={"marker": "x", "ms": 9}))
        lines.append(Curve(label, colour, points, marker=marker))
    lines.append(Curve(PASSED, GREY, rows.where(PASSED), marker="^"))
    x = Axis("n / d, all samples", ticks=LOADS)
    y = Axis("test error", ticks=(0.02, 0.03, 0.05, 0.1, 0.2, 0.4))
    marks = {"theory of the best found": {"marker": "x", "color": GREY, "ls": "none", "ms": 7}}
    return curves([Panel("alpha", x, y, lines)], 7.6, 4.6, columns=3, marks=marks)


EXPERIMENT = Experiment("training-floor", SIZES, work, judge, {"training_floor": draw}, version=5)
