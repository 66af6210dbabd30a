"""Capacity of the three models against cosine, strength and length."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import brentq

from sparsetoken import theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.capacity_claims import (
    STATEMENTS,
    claims_of,
    threshold_gap,
    width_power,
)
from sparsetoken.experiments.capacity_places import BASE, PLACES, Place, count, predicted
from sparsetoken.experiments.claims import Claim
from sparsetoken.experiments.points import Point, select

__all__ = ["CAPACITY_CURVES", "CapacityCurvesProfile"]

MODELS = ("attention", "pooled", "vectorized")
LINE = 1e-3
"""Relative tolerance of the theory."""


@dataclasses.dataclass(frozen=True)
class CapacityCurvesProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    features : tuple of int
        Feature dimensions: d, or L d for the vectorized model.
    steps : tuple of float
        Loads are alpha* (1 + step / sqrt(features)).
    sets : int
        Training sets at each load.
    samples : int
        Most samples of a training set; larger sets are left out.
    cosines, strengths : int
        Values on a line of theory.
    lengths : tuple of int
    """

    features: tuple[int, ...]
    sets: int
    steps: tuple[float, ...] = (-1.2, -0.6, 0.0, 0.6, 1.2)
    samples: int = 2000
    cosines: int = 41
    strengths: int = 41
    lengths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 16)


QUICK = CapacityCurvesProfile((32, 64, 128), 24)
PAPER = CapacityCurvesProfile((32, 64, 128, 256), 200, cosines=81, strengths=81)


def _jobs(profile: CapacityCurvesProfile, seed: int) -> list[Job]:
    lines = {
        "cosine": tuple(np.linspace(-1, 1, profile.cosines).tolist()),
        "strength": tuple(np.linspace(0, 5, profile.strengths).tolist()),
        "length": profile.lengths,
    }
    jobs = [Job(_line, (panel, xs), 0.1 * len(xs)) for panel, xs in lines.items()]
    jobs.append(Job(_crossings, (), 3.0))
    for place in PLACES.values():
        for model in place.models:
            jobs.append(Job(_prediction, (place.name, model), 0.05))
            jobs += _counting(profile, place, model, seed)
    return jobs


def _counting(profile: CapacityCurvesProfile, place: Place, model: str, seed: int) -> list[Job]:
    """Return one job for each number of features."""
    alpha = predicted(place.name, model).value  # solved here: the loads stand around it
    jobs = []
    for m in profile.features:
        n = alpha * place.dimension(model, m)
        if n <= profile.samples:
            loads = tuple(alpha * (1 + step / math.sqrt(m)) for step in profile.steps)
            cost = profile.sets * len(loads) * 0.024 * (m / 128) ** 1.3 * (n / m / 2.5) ** 0.4
            jobs.append(Job(count, (place.name, model, m, loads, profile.sets, seed), cost))
    return jobs


def _prediction(place: str, model: str) -> list[Point]:
    return [predicted(place, model)]


def _at(panel: str, x: float) -> Place:
    """Return the base with one coordinate changed."""
    return Place(
        "line",
        length=int(x) if panel == "length" else BASE.length,
        strength=x if panel == "strength" else BASE.strength,
        cosine=x if panel == "cosine" else BASE.cosine,
    )


def _line(panel: str, xs: Sequence[float]) -> list[Point]:
    return [_capacity(model, panel, x) for x in xs for model in MODELS]


def _capacity(model: str, panel: str, x: float) -> Point:
    at = _at(panel, x)
    result = theory.capacity(model, at.problem, query=at.query, tolerance=LINE)
    code = str(result.status.code)
    error = result.numerical_error
    return Point(model, "capacity", x, result.capacity, error, group=panel, status=code)


def _crossings() -> list[Point]:
    """Return where attention meets pooled, and where it meets vectorized."""
    return [
        _crossing("cosine", "pooled", -0.5, 0.9),
        _crossing("strength", "vectorized", 3.0, 5.0),
    ]


def _crossing(panel: str, other: str, low: float, high: float) -> Point:
    def gap(x: float) -> float:
        return _capacity("attention", panel, x).value - _capacity(other, panel, x).value

    x = float(brentq(gap, low, high, xtol=1e-4))
    step = 0.02
    slope = (gap(x + step) - gap(x - step)) / (2 * step)
    error = math.hypot(*(_capacity(m, panel, x).error for m in ("attention", other))) / abs(slope)
    return Point(other, "crossing", x, x, error, group=panel)


def _claims(profile: CapacityCurvesProfile, points: Sequence[Point]) -> list[Claim]:
    return claims_of(points)


def _setting(profile: CapacityCurvesProfile) -> str:
    sizes = ", ".join(str(m) for m in profile.features)
    return (
        f"R = 1, π = 0.5 and a query of sharpness k = 1; where nothing else is said {BASE.text}. "
        "Computed: α* along cosine, strength and length. Measured: the share of separable "
        f"training sets at {len(profile.steps)} loads around the predicted α*, {profile.sets} sets "
        f"each, reduced engine, with {sizes} features (d for attention and pooled, L d for "
        f"vectorized; no set of more than {profile.samples} samples). A probit curve fitted to the "
        "counts gives threshold and width at each size; a straight line in 1/features carries the "
        "thresholds to infinite dimension. Orders are judged at the largest size, where a "
        "difference counts when it is above three standard errors."
    )


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    (low,) = select(points, quantity="crossing", group="cosine")
    (high,) = select(points, quantity="crossing", group="strength")
    found = [c for c in claims if c.statement == "capacity-measured"]
    base = "; ".join(
        f"{c.curve} {c.measured:.3f} ± {c.standard_error:.3f} ({c.theory:.3f} predicted)"
        for c in found
        if c.key
    )
    power = width_power(points)
    under = threshold_gap(points, ("base", "pooled"), ("turned away", "attention"))
    over = threshold_gap(points, ("very strong", "attention"), ("very strong", "vectorized"))
    return (
        f"Thresholds at the base setting: {base}; the largest |z| of {len(found)} thresholds is "
        f"{max(abs(c.z) for c in found if math.isfinite(c.z)):.1f}. "
        f"Attention falls under pooled below the cosine {low.x:.3f} (measured at s = −0.6: by "
        f"{under:.1f} standard errors), and passes vectorized above θ = {high.x:.2f} (measured at "
        f"θ = 5: by {over:.1f}): a strong signal wins the softmax and stays whole "
        "in the feature, which is worth more than L times the weights. "
        f"The widths fall as features to the power {power.value:.3f} ± {power.error:.3f}."
    )


CAPACITY_CURVES = Experiment(
    "capacity-curves",
    "Capacity against cosine, strength and length",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="256 features and eight times the training sets, which divides the errors by 3.",
)
