"""The rows of `speed.py`: which sides are compared, how often, and when they agree."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from functools import partial

import numpy as np

import speed_sides as sides
from sparsetoken import Pooled, Vectorized, networks
from sparsetoken.model.models import Model

Agreement = Callable[[list[dict], list[dict]], bool]


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    ours, other, limit : callable
        Sides; None where there is no other way, or no limit is known.
    repeats, rounds : int
        Timed actions in a process, and processes of each side, which take turns.
    warm : bool
        Whether a first action goes unmeasured.
    agree : callable
        (answers of ours, answers of the other) to whether both found the same.
    what : str
        What stands in the note.
    """

    ours: Callable[[], sides.Action]
    other: Callable[[], sides.Action] | None
    what: str
    limit: Callable[[], sides.Action] | None = None
    repeats: int = 3
    rounds: int = 3
    warm: bool = True
    agree: Agreement | None = None


def same_number(key: str, tolerance: float) -> Agreement:
    """Both sides give equal numbers, or lists of them, for equal i."""
    return lambda a, b: all(
        np.max(np.abs(np.subtract(one[key], two[key]))) <= tolerance
        for one, two in zip(a, b, strict=True)
    )


def same_mean(key: str) -> Agreement:
    """Both sides draw from one law: their means differ by at most 4 standard errors."""

    def agree(a: list[dict], b: list[dict]) -> bool:
        if len(a) < 2:
            return True  # one number has no standard error
        x, y = (np.array([answer[key] for answer in answers]) for answers in (a, b))
        error = math.hypot(*(z.std(ddof=1) / math.sqrt(len(z)) for z in (x, y)))
        return bool(abs(x.mean() - y.mean()) <= 4 * error)

    return agree


def within_errors(a: list[dict], b: list[dict]) -> bool:
    """Means of both sides differ by at most 4 of their stated errors, and 1% for finite d."""
    x, y = (np.mean([answer["test_error"] for answer in side]) for side in (a, b))
    error = math.hypot(*(np.mean([answer["error"] for answer in side]) for side in (a, b)))
    return bool(abs(x - y) <= 4 * error + 0.01 * x)


def rows(quick: bool) -> dict[str, Row]:
    """Return all rows by name; quick ones have small sizes, and each side runs once."""
    made = {**_theory(5 if quick else 50), **_weights(2 if quick else 16), **_grids(quick)}
    made |= {**_simulation(quick), **_bags(quick)}
    made["explorer_move"] = Row(
        sides.explorer_move,
        None,
        "a move of a slider after a rest, until the coarse curves are drawn, in Chromium",
        repeats=100,
        rounds=1,
    )
    if not quick:
        return made
    return {
        name: dataclasses.replace(row, repeats=1, rounds=1, warm=False)
        for name, row in made.items()
    }


def _theory(loads: int) -> dict[str, Row]:
    # The iteration stops at relative changes of 1e-7.
    same = same_number("test_error", 1e-6)
    return {
        "theory_point": Row(
            sides.point,
            partial(sides.point_damped, our_means=False),
            "attention, logistic, L = 10; against damped fixed-point iteration in NumPy: same "
            "nodes, 64 Gauss-Hermite nodes each",
            agree=same,
        ),
        "theory_point_our_means": Row(
            sides.point,
            partial(sides.point_damped, our_means=True),
            "the same against that iteration with the Gaussian means of the library",
            agree=same,
        ),
        "learning_curve_50": Row(
            partial(sides.curve, loads),
            partial(sides.curve_damped, loads),
            f"{loads} loads in one call; against that iteration with the means of the library, "
            "each point started from the last",
            repeats=1,
            rounds=1,
            agree=same,
        ),
    }


def _weights(trials: int) -> dict[str, Row]:
    deep = networks.Transformer(3)
    return {
        "descent_12": Row(
            partial(sides.descent, networks.Softmax(), None, None),
            partial(sides.descent, networks.Softmax(), None, trials),
            f"12 steps on all weights, default tolerance; against {trials} trials with real "
            "tensors, d = 1000",
            repeats=1,
            agree=within_errors,
        ),
        "descent_three_layers": Row(
            partial(sides.descent, deep, 2e-3, None),
            partial(sides.descent, deep, None, trials),
            f"the same for three layers of ten columns, to 0.002; against {trials} trials",
            repeats=1,
            agree=within_errors,
        ),
        "minimum": Row(
            partial(sides.minimum, None),
            partial(sides.minimum, trials),
            f"the joint minimum, L = 5; against {trials} data sets with simulated tokens, d = 400",
            repeats=1,
            agree=within_errors,
        ),
    }


def _grids(quick: bool) -> dict[str, Row]:
    once = {"repeats": 1, "rounds": 1, "warm": False}
    side = 6 if quick else 50
    trials = 2 if quick else 32
    return {
        "phase_diagram_50x50": Row(
            partial(sides.phase_diagram, side),
            None,
            f"`sparsetoken predict`, {side} strengths by {side} loads, on two processes",
            **once,
        ),
        "kept_cheap_trials": Row(
            partial(sides.cheap_grid, trials),
            partial(sides.cheap_loop, trials),
            f"{625 * trials} cheap trials, each kept, one process; against a plain loop",
            **once,
        ),
        "cold_predict": Row(
            sides.cold_predict,
            None,
            "whole process of `sparsetoken predict`",
            warm=False,
        ),
    }


def _simulation(quick: bool) -> dict[str, Row]:
    d = 200 if quick else 1000

    def trial(model: Model, loss: str, limit: Callable | None = None) -> Row:
        return Row(
            partial(sides.trial, model, loss, d),
            partial(sides.trial_direct, model, loss, d),
            f"{model.name}, {loss}: d = {d}, n0 = 2 d, n1 = 4 d, L = 10, against simulated tokens",
            limit=limit,
            agree=same_mean("test_error"),
        )

    huge = 10**4 if quick else 10**6
    return {
        "trial_attention_logistic": trial(
            sides.ATTENTION, "logistic", partial(sides.trial_limit, d)
        ),
        "trial_attention_square": trial(sides.ATTENTION, "square"),
        "trial_pooled_logistic": trial(Pooled(), "logistic"),
        "trial_vectorized_logistic": trial(Vectorized(), "logistic"),
        "alignment_1e6": Row(
            partial(sides.alignment, huge), None, f"stages 1-3 at d = {huge}, n0 = 2 d", rounds=1
        ),
    }


def _bags(quick: bool) -> dict[str, Row]:
    few = (200, 20, 64) if quick else (2000, 20, 128)
    many = (500, 20, 64) if quick else (10_000, 50, 384)
    shown = "{} bags of {} x {}"
    found = {
        "estimator_fit": Row(
            partial(sides.bag_fit, "attention", few),
            partial(sides.bag_fit, "mean, logistic", few),
            f"AttentionClassifier, {shown.format(*few)}; against mean pooling and "
            "LogisticRegressionCV of scikit-learn",
            rounds=1,
        ),
        "estimator_predict": Row(
            partial(sides.bag_predict, "attention", few),
            partial(sides.bag_predict, "mean, logistic", few),
            "the same, predict; limit: one product with all tokens",
            limit=partial(sides.product, few),
            rounds=1,
        ),
        "many_bags_predict": Row(
            partial(sides.bag_predict, "bag", many),
            None,
            f"BagClassifier, {shown.format(*many)}, predict; limit: one product with all tokens",
            limit=partial(sides.product, many),
            rounds=1,
        ),
    }
    for name in ("bag", "attention", "pooled"):
        found[f"many_bags_fit_{name}"] = Row(
            partial(sides.bag_fit, name, many),
            None,
            f"{name}, default parameters, {shown.format(*many)}, fit",
            repeats=1,
            rounds=1,
            warm=False,
        )
    return found
