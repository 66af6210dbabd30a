"""The rows of `speed.py`: which sides are compared, how often, and when they agree."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np

from sparsetoken import Pooled, Vectorized
from sparsetoken.model.models import Model
from speed_sides import (
    ATTENTION,
    BAGS,
    DIMENSION,
    LENGTH,
    WIDTH,
    Action,
    alignment_ours,
    bag_fit,
    bag_predict,
    cold_first,
    cold_second,
    corner,
    corner_of_capacity,
    corner_of_covariance,
    curve_damped,
    curve_ours,
    diagram_ours,
    fitted_attention,
    fitted_pooled,
    floor,
    grows,
    point_damped,
    point_ours,
    pooled_adaptive,
    pooled_ours,
    trial_direct,
    trial_ours,
)


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table.

    Attributes
    ----------
    ours, other : callable
        Sides; other may be None where nothing else can do it.
    repeats, rounds : int
        Timed actions in a process, and processes of each side, which take turns.
    warm : bool
        Whether a first action goes unmeasured.
    agree : callable
        (answers of ours, answers of the other) to whether both found the same.
    what : str
        What stands in the note.
    """

    ours: Callable[[], Action]
    other: Callable[[], Action] | None
    what: str
    repeats: int = 3
    rounds: int = 3
    warm: bool = True
    agree: Callable[[list[dict], list[dict]], bool] | None = None


def same_number(key: str, tolerance: float) -> Callable[[list[dict], list[dict]], bool]:
    """Both sides give equal numbers, or lists of them, for equal i."""
    return lambda a, b: all(
        np.max(np.abs(np.subtract(one[key], two[key]))) <= tolerance
        for one, two in zip(a, b, strict=True)
    )


def same_mean(key: str) -> Callable[[list[dict], list[dict]], bool]:
    """Both sides draw from one law: their means differ by at most 4 standard errors."""

    def agree(a: list[dict], b: list[dict]) -> bool:
        x, y = (np.array([answer[key] for answer in answers]) for answers in (a, b))
        error = math.hypot(*(z.std(ddof=1) / math.sqrt(len(z)) for z in (x, y)))
        return bool(abs(x.mean() - y.mean()) <= 4 * error)

    return agree


def _trial(model: Model, loss: str = "logistic") -> Row:
    return Row(
        trial_ours(model, loss),
        trial_direct(model, loss),
        f"{model.name}, {loss}: d = {DIMENSION}, n0 = 2 d, n1 = 4 d, L = 10, against real tensors",
        agree=same_mean("test_error"),
    )


def _corner(side: Callable[[], Action], what: str) -> Row:
    return Row(side, None, what, rounds=1)


ROWS = {
    "theory_point": Row(
        point_ours,
        point_damped(compiled=False),
        "attention, logistic, L = 10; against damped fixed-point iteration in NumPy: same nodes, "
        "64 Gauss-Hermite nodes each",
        # the iteration stops at relative changes of 1e-7
        agree=same_number("test_error", 1e-6),
    ),
    "theory_point_compiled": Row(
        point_ours,
        point_damped(compiled=True),
        "the same against that iteration with our compiled Gaussian means",
        agree=same_number("test_error", 1e-6),
    ),
    "theory_point_adaptive": Row(
        pooled_ours,
        pooled_adaptive,
        "pooled, logistic; against nested adaptive quadrature and a root finder",
        agree=same_number("test_error", 1e-6),
    ),
    "corner_long": _corner(corner(length=1000), "attention, logistic, L = 1000"),
    "corner_long_square": _corner(corner("square", length=1000), "the same, square"),
    "corner_longest": _corner(corner(length=10_000), "the same, logistic, L = 10 000"),
    "corner_weak_ridge": _corner(corner(ridge=1e-8), "attention, logistic, L = 10, ridge 1e-8"),
    "corner_no_ridge": _corner(corner(ridge=0.0), "the same, ridge 0"),
    "corner_no_ridge_hinge": _corner(corner("hinge", ridge=0.0), "the same, hinge"),
    "corner_all_informative": _corner(
        corner(length=5, informative=5), "attention, logistic, L = R = 5: a test error of 5e-4"
    ),
    "corner_sharp_capacity": _corner(corner_of_capacity, "capacity at sharpness 1000"),
    "corner_covariance": _corner(corner_of_covariance(False), "a spectrum of d = 300"),
    "corner_effect": _corner(
        corner_of_covariance(True), "the same with an effect of bags that does not commute"
    ),
    "learning_curve_50": Row(
        curve_ours,
        curve_damped,
        "50 loads in one call; against that iteration with compiled means, each point started from "
        "the last",
        repeats=1,
        rounds=1,
        agree=same_number("test_error", 1e-6),
    ),
    "phase_diagram_50x50": Row(
        diagram_ours,
        None,
        "sweep, strength 1..6 by alpha1 0.25..10, on two processes with their start",
        repeats=1,
        rounds=1,
        warm=False,
    ),
    "cold_predict_second": Row(
        cold_second,
        cold_first,
        "whole process of `sparsetoken predict`; other: with an empty cache",
        warm=False,
    ),
    "trial_attention_logistic": _trial(ATTENTION),
    "trial_attention_square": _trial(ATTENTION, "square"),
    "trial_pooled_logistic": _trial(Pooled()),
    "trial_vectorized_logistic": _trial(Vectorized()),
    "trial_floor": Row(
        trial_ours(ATTENTION),
        floor,
        "other: the normals and the products that the trial needs",
        repeats=5,
    ),
    "alignment_1e6": Row(
        alignment_ours(10**6), None, "stages 1-3 at d = 10^6, n0 = 2 10^6", rounds=1
    ),
    "scale_alignment": Row(
        grows([10**3, 10**4, 10**5, 10**6], alignment_ours),
        None,
        "stages 1-3, d = 10^3 .. 10^6",
        repeats=1,
        rounds=1,
    ),
    "scale_trial": Row(
        grows([1000, 2000, 5000, 10_000], lambda d: trial_ours(ATTENTION, "logistic", d)),
        None,
        "attention, logistic, d = 10^3 .. 10^4, n1 = 4 d",
        repeats=1,
        rounds=1,
        warm=False,
    ),
    "estimator_fit": Row(
        bag_fit(fitted_attention),
        bag_fit(fitted_pooled),
        f"AttentionClassifier, {BAGS} bags of {LENGTH} x {WIDTH}; against mean pooling and "
        "LogisticRegressionCV of scikit-learn",
        rounds=1,
    ),
    "estimator_predict": Row(
        bag_predict(fitted_attention),
        bag_predict(fitted_pooled),
        "the same, predict",
        rounds=1,
    ),
}
