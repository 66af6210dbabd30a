"""The share of separable training sets around the predicted capacity."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from sparsetoken import theory
from sparsetoken.experiments.base import Experiment, Job
from sparsetoken.experiments.claims import Claim, Statement, judge
from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.separable import separable_share
from sparsetoken.experiments.threshold import fit_threshold
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import Query

__all__ = ["CAPACITY", "CapacityProfile"]

PROBLEM = SparseTokenProblem(length=4, informative=1, strength=2.0, positive_rate=0.5)
QUERY = Query(cosine=0.8, sharpness=1.0)
MODELS = ("attention", "pooled", "vectorized")

STATEMENTS = (
    Statement(
        "capacity",
        "D1 is linearly separable in feature space below a load α*, and not above; α* is known for "
        "all three models.",
    ),
    Statement(
        "same-law",
        "The experiment can be sampled without its tokens, with the same law: real tensors and "
        "the reduced engine separate equally often.",
    ),
)


@dataclasses.dataclass(frozen=True)
class CapacityProfile:
    """Sizes of the experiment.

    Attributes
    ----------
    features : tuple of int
        Feature dimensions, the smaller first: d, or L d for the vectorized model.
    ratios : tuple of float
        Loads as multiples of the predicted capacity.
    sets : int
        Training sets at each load.
    tensors : float
        The ratio repeated with real tensors, for attention at the larger dimension.
    """

    features: tuple[int, int]
    ratios: tuple[float, ...]
    sets: int
    tensors: float = 1.0


QUICK = CapacityProfile((40, 160), (0.7, 0.8, 0.9, 0.95, 1.0, 1.05, 1.1, 1.2, 1.3), 50)
PAPER = CapacityProfile(
    (60, 240), (0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1.0, 1.05, 1.1, 1.15, 1.2, 1.25, 1.3), 100
)


def _dimension(model: str, features: int) -> int:
    return features // PROBLEM.length if model == "vectorized" else features


@functools.cache
def _predicted(model: str) -> Point:
    result = theory.capacity(model, PROBLEM, query=QUERY)
    return Point(
        model,
        "threshold",
        1.0,
        result.capacity,
        result.numerical_error,
        status=str(result.status.code),
    )


def _known(point: Point) -> list[Point]:
    return [point]


def _jobs(profile: CapacityProfile, seed: int) -> list[Job]:
    # Solved once, here: every simulation needs the number.
    thresholds = {model: _predicted(model) for model in MODELS}
    jobs = [Job(_known, (threshold,), 0.01) for threshold in thresholds.values()]
    for features in profile.features:
        cost = profile.sets * 0.03 * (features / 120) ** 2
        for model in MODELS:
            for ratio in profile.ratios:
                alpha1 = ratio * thresholds[model].value
                arguments = (model, features, alpha1, "reduced", profile.sets, seed)
                jobs.append(Job(_simulation, arguments, cost))
    alpha1 = profile.tensors * thresholds["attention"].value
    again = ("attention", profile.features[-1], alpha1, "tensors", profile.sets, seed)
    return [*jobs, Job(_simulation, again, cost)]


def _simulation(
    model: str, features: int, alpha1: float, engine: str, sets: int, seed: int
) -> list[Point]:
    point = separable_share(
        model,
        PROBLEM,
        QUERY,
        alpha1,
        dimension=_dimension(model, features),
        engine=engine,
        sets=sets,
        seed=seed,
        group=str(features),
    )
    return [point]


def _claims(profile: CapacityProfile, points: Sequence[Point]) -> list[Claim]:
    claims = []
    for model in MODELS:
        (predicted,) = select(points, curve=model, quantity="threshold")
        for features in profile.features:
            counted = select(
                points, curve=model, quantity="separable", group=str(features), source="reduced"
            )
            measured = _measured(model, counted)
            key = features == profile.features[-1]
            where = f"{features} features"
            claims.append(judge("capacity", predicted, measured, where=where, key=key))
    return [*claims, _engines(profile, points)]


def _measured(model: str, counted: Sequence[Point]) -> Point:
    fit = fit_threshold(
        [p.x for p in counted], [round(p.value * p.trials) for p in counted], counted[0].trials
    )
    first = counted[0]
    total = sum(p.trials for p in counted)
    return Point(
        model,
        "threshold",
        1.0,
        fit.middle,
        fit.standard_error,
        first.source,
        first.group,
        int(first.group),
        total,
        "converged" if fit.converged else "max_iterations",
    )


def _engines(profile: CapacityProfile, points: Sequence[Point]) -> Claim:
    """Compare the share with real tensors with the share of the reduced engine."""
    group = str(profile.features[-1])
    (tensors,) = select(points, curve="attention", quantity="separable", source="tensors")
    (reduced,) = select(
        points, curve="attention", group=group, source="reduced", quantity="separable", x=tensors.x
    )
    where = f"α₁ = {tensors.x:.4g}, two engines"
    return judge("same-law", reduced, tensors, where=where, key=True)


def _result(points: Sequence[Point], claims: Sequence[Claim]) -> str:
    found = "; ".join(
        f"{c.curve} {c.measured:.3f} ± {c.standard_error:.3f} ({c.theory:.3f} predicted)"
        for c in claims
        if c.statement == "capacity" and c.key
    )
    return f"Measured thresholds at the larger dimension: {found}."


def _setting(profile: CapacityProfile) -> str:
    small, large = profile.features
    return (
        "L = 4, R = 1, π = 0.5, θ = 2, and a query with cosine 0.8 and sharpness k = 1. "
        f"Feature dimension {small} and {large}: that is d for attention and pooled, and L d for "
        f"vectorized. {profile.sets} training sets at each load. Each is decided by a "
        "proof, a separating hyperplane or Gordan’s multipliers against one, and by linear "
        "programming where neither is found. The measured threshold is the middle of a probit "
        "curve fitted to the counts of the reduced engine. "
        f"Attention at {profile.tensors:g} α* is repeated with real tensors; its claim compares "
        "the two engines."
    )


CAPACITY = Experiment(
    "capacity",
    "Capacity",
    STATEMENTS,
    {"quick": QUICK, "paper": PAPER},
    _jobs,
    _claims,
    _setting,
    _result,
    left="60 and 240 features and twice the training sets.",
)
