"""Networks trained by descent on all weights, compared on the same labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy import optimize

from sparsetoken import theory
from sparsetoken.base.machine import need_jax
from sparsetoken.experiments.core.claims import Comparison
from sparsetoken.experiments.core.descents import course_row, follow_trials
from sparsetoken.experiments.core.experiment import Experiment, Piece, Size, Sizes, piece, profiles
from sparsetoken.experiments.core.finite_dimension import SHIFTS
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.core.rows import THEORY, Row, Rows
from sparsetoken.experiments.core.rules import compare, fraction_true, placed, report_only
from sparsetoken.figures.curves import Axis, Curve, Panel, Plot, curves
from sparsetoken.figures.palette import BLUE, COLOURS, GREEN, GREY, PURPLE, VERMILION
from sparsetoken.model.concepts import ConceptProblem
from sparsetoken.model.descent import Descent
from sparsetoken.model.networks import Architecture, Gated, Pooled, SelfAttention, Softmax
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.task_law import Problem
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.theory.oracle import learning_error

POOLED, SOFTMAX, HEADS = "mean pooling", "softmax", "two heads"
GATED, SELF, MANY_HEADS = "gated, 2 units", "self-attention", "three heads"
_OF_GATED = {"v": 0.35, "g": 2.8, "w": 0.2}, 3.0
NETWORKS: dict[str, tuple[Architecture, dict[str, float], float]] = {
    POOLED: (Pooled(), {"w": 0.7}, 8.0),
    SELF: (SelfAttention(rank=1), {"Q": 0.12, "K": 5.2, "V": 0.4}, 1.9),
    "gated, 1 unit": (Gated(hidden=1), *_OF_GATED),
    GATED: (Gated(hidden=2), *_OF_GATED),
    "gated, 3 units": (Gated(hidden=3), *_OF_GATED),
    "gated, 4 units": (Gated(hidden=4), *_OF_GATED),
    SOFTMAX: (Softmax(), {"q": 0.5, "w": 0.2}, 2.0),
    HEADS: (Softmax(heads=2), {"q": 0.9, "w": 0.2}, 3.5),
    MANY_HEADS: (Softmax(heads=3), {"q": 0.9, "w": 0.2}, 3.5),
}
"""With step sizes of the columns and of the further weights that a search of the least test error
found at alpha = 2 in 45 descents, rounded; gated attention has those of two units, and three heads
have those of two. (With four units the search ends near instability, where trials at finite d
differ.)
"""
GATES = tuple(name for name in NETWORKS if name.startswith("gated"))
LEAST = {
    SOFTMAX: (0.05, 0.05, 0.6, 0.6, -1.0),
    HEADS: (0.8, -0.3, -0.3, 0.8, 0.35, 0.0, 0.0, 0.35, -2.4),
}
"""Where the search for the least test error begins: overlaps of queries and readouts, and bias."""
_SEARCH = {"maxfev": 600, "xatol": 1e-3, "fatol": 1e-4}
MEETING_W, MEETING_C = 0.25, 4.0
"""Step sizes of readouts and of further weights where both signals must meet; all others are 1."""
SPARSE, SHARED, FALLING, STEEP = "sparse token", "bag effects", "falling spectrum", "steep spectrum"
BOTH, STRENGTHS = "both, equal", (5.0, 5.0)
BETWEEN, POWERS = 0.5, {FALLING: 0.25, STEEP: 1.0}
OVERLAP = 0.1
"""Of queries with a signal at the start, with two signals by turns, and of self-attention: a
symmetry that the limit keeps, and every finite dimension breaks, is then broken in both."""
STEEP_STEPS, STEEP_SLOWER = 32, 0.5
"""Steps along a steep spectrum, and their size: large eigenvalues make larger ones unstable."""
QUANTITIES = ("test_error", "training_loss", "attended")
DESCENT, FAILURE = "network-descent", "one-head-fails"
FEWER, FINDS, TOKENS = "gated-attention", "token-found", "networks-and-tokens"

SIZES = profiles(
    alphas=Size((0.5, 2.0, 8.0), (0.5, 1.0, 2.0, 4.0, 8.0)),
    networks=Size((POOLED, GATED, SOFTMAX), tuple(name for name in NETWORKS if name != MANY_HEADS)),
    at_one_load=Size((SELF, "gated, 1 unit", "gated, 4 units", HEADS), (MANY_HEADS,)),
    unmeasured=Size(("gated, 1 unit", "gated, 4 units"), ()),
    # Where both signals must meet.
    meeting=Size((SOFTMAX, HEADS), (GATED, SOFTMAX, HEADS, MANY_HEADS)),
    meeting_alphas=Size((2.0, 8.0, 32.0), (2.0, 4.0, 8.0, 16.0, 32.0)),
    meeting_at_one_load=Size((GATED,), ("gated, 4 units",)),
    covariances=Size(
        {SHARED: (POOLED, GATED, SOFTMAX)},
        {SHARED: (POOLED, GATED, SOFTMAX, HEADS), FALLING: (POOLED, GATED, SOFTMAX)},
    ),
    steep=Size((POOLED, GATED, SOFTMAX), (POOLED, GATED, SOFTMAX, HEADS)),
    steps=Size(20, 24),
    replicas=Size(2, 4),
    bags=Size(2**15, 2**17),
    dimension=Size(300, 600),
    trials=Size(5, 12),
)
LOAD, MEETING_LOAD = 2.0, 8.0
"""n/d where networks are trained with real tokens too."""


def work(sizes: Sizes, seed: int) -> Iterator[Piece]:
    """Plan the work; each network in each setting has independent data."""
    for alpha in sizes.alphas:
        at = {"setting": SPARSE, "network": "Bayes-optimal learner", "alpha": alpha}
        known: dict[str, Any] = {"rows": ("test_error",), "series": "floor", "at": at}
        yield piece(learning_error, PROBLEM, alpha, **known, cost=0.5)
    for name in LEAST:
        yield piece(least_error, name, sizes.bags, cost=10.0)
    for i, (setting, name, alpha) in enumerate(_places(sizes)):
        trained = alpha == (MEETING_LOAD if setting == BOTH else LOAD)
        trained = trained and name not in sizes.unmeasured
        given = {"steps": sizes.steps + 4 * (setting == BOTH), "replicas": sizes.replicas}
        given |= {"dimension": sizes.dimension, "trials": sizes.trials * trained}
        given["seed"] = seed_of("networks", i, seed)
        cost = sizes.replicas * (sizes.steps / 16) ** 2 * (4.0 if setting == FALLING else 1.0)
        cost += 0.3 * sizes.trials * trained * (sizes.dimension / 400) ** 2
        yield piece(follow, setting, name, alpha, **given, cost=cost)
    for i, name in enumerate(sizes.steep):
        own = seed_of("networks", "steep", i, seed)
        yield piece(train_steep, name, sizes.dimension, sizes.trials, own, cost=4.0)


def _places(sizes: Sizes) -> Iterator[tuple[str, str, float]]:
    yield from ((SPARSE, name, alpha) for name in sizes.networks for alpha in sizes.alphas)
    yield from ((SPARSE, name, LOAD) for name in sizes.at_one_load)
    for setting, names in sizes.covariances.items():
        yield from ((setting, name, LOAD) for name in names)
    yield from ((BOTH, name, alpha) for name in sizes.meeting for alpha in sizes.meeting_alphas)
    yield from ((BOTH, name, MEETING_LOAD) for name in sizes.meeting_at_one_load)


def task_of(setting: str, dimension: int) -> Problem:
    """Return the task of a setting.

    The signal has projections of all sizes on the eigenvectors, whose mean is 1.
    """
    if setting == BOTH:
        kinds = [[1, 1], [0, 0], [1, 0], [0, 1]]
        return ConceptProblem(5, STRENGTHS, kinds, [0.4, 0.2, 0.2, 0.2], [1, 0, 0, 0])
    if setting == SPARSE:
        return PROBLEM
    j = np.arange(dimension)
    signal: np.ndarray = np.cos(1.7 * j)
    within = (j + 1.0) ** -POWERS.get(setting, 0.0)
    tokens = TokenCovariance(
        within / within.mean(),
        np.full(dimension, BETWEEN) if setting == SHARED else None,
        signal=signal / np.linalg.norm(signal),
    )
    return SparseTokenProblem(PROBLEM.length, 1, PROBLEM.strength, tokens=tokens)


def descent_of(setting: str, name: str, alpha: float, steps: int) -> Descent:
    """Return the descent of a network in a setting."""
    network, rates, rate_c = NETWORKS[name]
    if setting == BOTH:
        rates = {stem: MEETING_W if stem == "w" else 1.0 for stem in rates}
        rate_c = MEETING_C
    slower = STEEP_SLOWER if setting == STEEP else 1.0
    given: dict[str, Any] = {"rates": {stem: slower * rate for stem, rate in rates.items()}}
    if setting == BOTH or name == SELF:
        signals = len(STRENGTHS) if setting == BOTH else 1
        overlaps = [_overlaps(column)[:signals] for column in network.column_names(outputs=1)]
        given["start_overlaps"] = np.array(overlaps)
    return Descent(network, alpha=alpha, steps=steps, rate_c=slower * rate_c, **given)


def _overlaps(column: str) -> tuple[float, float]:
    """Return the overlaps of a column at the start, of odd queries with the first signal."""
    if column[0] in "wV":
        return 0.0, 0.0
    return (OVERLAP, 0.0) if int(column[1:] or 1) % 2 else (0.0, OVERLAP)


def least_error(name: str, bags: int) -> list[Row]:
    """Search for the least test error of all weights where both signals must meet.

    Weights beside the signals bring noise alone, so that tokens have the two dimensions of the
    signals. Half of the bags are searched on, and the error is that of the others.
    """
    need_jax()
    import jax

    network, first = NETWORKS[name][0], np.array(LEAST[name])
    task, rng = task_of(BOTH, 2), np.random.default_rng(0)
    X, labels = task.sample(2 * bags, np.eye(2), rng, np.float32)
    score = jax.jit(jax.vmap(lambda H, c: network.scores(H, c, 1)[0], in_axes=(0, None)))

    def wrong(x: np.ndarray, bags: slice) -> np.ndarray:
        U, c = x[:-1].reshape(-1, 2).astype(np.float32), x[-1:].astype(np.float32)
        return np.asarray((score(X[bags] @ U.T, c) > 0) != labels[bags])

    def worth(x: np.ndarray) -> float:
        return float(wrong(x, slice(bags)).mean())

    optimum = optimize.minimize(worth, first, method="Nelder-Mead", options=_SEARCH)
    errors = wrong(optimum.x, slice(bags, None))
    at: dict[str, Any] = {"setting": BOTH, "network": name}
    error = float(errors.std() / np.sqrt(bags))
    return [Row("least", "test_error", float(errors.mean()), error, at)]


def follow(
    setting: str, name: str, alpha: float, *, steps: int, replicas: int, **sizes: Any
) -> Iterator[Row]:
    """Predict at the step with the least test error; measure there with real tokens, if asked."""
    task, descent = task_of(setting, sizes["dimension"]), descent_of(setting, name, alpha, steps)
    course = theory.descend(task, descent, replicas=replicas)
    best = int(course.best_step)
    at: dict[str, Any] = {"setting": setting, "network": name, "alpha": alpha, "step": best}
    yield from (course_row(course, quantity, best, **at) for quantity in QUANTITIES)
    if sizes["trials"]:
        mean = follow_trials(task, descent, [best], **sizes)
        yield from (mean(quantity, best, **at) for quantity in QUANTITIES)


def train_steep(name: str, dimension: int, trials: int, seed: int) -> list[Row]:
    """Measure where few directions carry most of the noise, at the step that is best."""
    task, descent = task_of(STEEP, dimension), descent_of(STEEP, name, LOAD, STEEP_STEPS)
    sizes: dict[str, Any] = {"dimension": dimension, "trials": trials, "seed": seed}
    steps = range(0, STEEP_STEPS + 1, 4)
    mean = follow_trials(task, descent, steps, **sizes)
    place: dict[str, Any] = {"setting": STEEP, "network": name, "alpha": LOAD}
    means = (mean("test_error", step, **place, step=step) for step in steps)
    return [min((row for row in means if np.isfinite(row.value)), key=lambda row: row.value)]


def judge(sizes: Sizes, rows: Rows) -> Iterator[Comparison]:
    """Compare with real tokens, and see whether one head stays above its least error."""
    for row in rows.where("simulated"):
        yield from _of_row(rows.where(THEORY), row)
    errors = rows.where(THEORY, "test_error", setting=BOTH)
    one, two = (errors.where(network=name) for name in (SOFTMAX, HEADS))
    where = "n/d = " + ", ".join(f"{row['alpha']:g}" for row in one)
    bound = rows.one("least", network=SOFTMAX)
    least = bound.value - 3 * bound.error
    above = [row.value + 3 * row.error > least for row in one]
    name = "one head stays above its smallest error"
    yield fraction_true(FAILURE, name, above, one + two, where, curve="theory")
    below = [row.value + 3 * row.error < least for row in two if row["alpha"] >= MEETING_LOAD]
    name = "two heads go below it"
    yield fraction_true(FAILURE, name, below, one + two, where, curve="theory", key=True)


def _of_row(known: Rows, row: Row) -> Iterator[Comparison]:
    """Compare what was measured with the limit, and report it as an answer to the questions."""
    setting, network, finds = row["setting"], row["network"], row.quantity == "attended"
    place = ("{network}", "{setting}, n/d = {alpha:g}, step {step}, d = {dimension}", "alpha")
    if setting != STEEP and not (finds and network == POOLED):
        key = setting == SPARSE and row.quantity == "test_error"
        # What is not attended is an error of a kind, off at finite d as a test error is.
        lacks: dict[str, Any] = {"shift": SHIFTS["test_error"], "size": 1 - known.beside(row).value}
        yield compare(DESCENT, known, row, *place, key=key, **(lacks if finds else {}))
    if setting == SPARSE and network != POOLED and row.quantity != "training_loss":
        claim = FINDS if finds else FEWER
        yield report_only(claim, row, **placed(row, *place), key=network == GATED)
    if setting in (SHARED, FALLING, STEEP) and row.quantity == "test_error":
        key = setting == STEEP and network == SOFTMAX
        yield report_only(TOKENS, row, **placed(row, *place), key=key)


def errors_at(rows: Rows, setting: str) -> dict[str, Row]:
    """Return the test errors in a setting at `LOAD` by network, along a steep spectrum measured."""
    series = "simulated" if setting == STEEP else THEORY
    errors = rows.where(series, "test_error", setting=setting, alpha=LOAD)
    return {row["network"]: row for row in errors}


LOOKS = {
    POOLED: (COLOURS["pooled"], "-"),
    SELF: (VERMILION, "-"),
    "gated, 1 unit": (GREEN, ":"),
    GATED: (GREEN, "-"),
    "gated, 3 units": (GREEN, "-."),
    "gated, 4 units": (GREEN, "--"),
    SOFTMAX: (BLUE, "-"),
    HEADS: (PURPLE, "-"),
    MANY_HEADS: (PURPLE, "--"),
    "Bayes-optimal learner": (COLOURS["floor"], "-."),
}
"""Colour and dashes."""


def draw(rows: Rows) -> Plot:
    """Draw test errors and the attended share over the loads, and where both signals must meet."""
    # A line needs two loads, a point a measurement.
    errors = rows.where(quantity="test_error")
    shown = [name for name, some in errors.by("network") if len(some) > 1]
    finding = [name for name in shown if name not in (POOLED, "Bayes-optimal learner")]
    error = Axis("test error", ticks=(0.02, 0.03, 0.05, 0.1, 0.2, 0.4))
    share, meeting = Axis("share of bags", low=0.8, high=1.0), Axis("test error", low=0.0)
    x, least = Axis("n / d", (0.5, 1, 2, 4, 8, 16, 32)), rows.one("least", network=SOFTMAX)
    bounds = {BOTH: lambda axes: axes.axhline(least.value, color=GREY, linestyle=":")}
    panels = []
    for setting, quantity, names, y, title in (
        (SPARSE, "test_error", shown, error, "one sparse token"),
        (SPARSE, "attended", finding, share, "the most attended token is informative"),
        (BOTH, "test_error", shown, meeting, "both signals must meet"),
    ):
        known = Rows(row for row in rows.where(quantity=quantity) if "alpha" in row.at)
        lines = [
            Curve(name, colour, known.where(setting=setting, network=name), line)
            for name, (colour, line) in LOOKS.items()
            if name in names
        ]
        panels.append(Panel("alpha", x, y, lines, title, bounds.get(setting)))
    marks = {"smallest error found for one head": {"color": GREY, "ls": ":"}}
    return curves(panels, 13.0, 4.4, columns=5, marks=marks)


EXPERIMENT = Experiment("networks", SIZES, work, judge, {"networks": draw}, version=4)
