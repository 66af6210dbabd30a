"""The places of the capacity curves that are measured, and the thresholds found there."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence

from sparsetoken import theory
from sparsetoken.experiments.points import Point, select
from sparsetoken.experiments.separable import separable_share
from sparsetoken.experiments.threshold import Threshold, fit_threshold, limit_of
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import Query

__all__ = ["BASE", "PLACES", "Place", "count", "fits", "measured", "predicted", "thresholds"]

SHARPNESS = 1.0
ALL = ("attention", "pooled", "vectorized")


@dataclasses.dataclass(frozen=True)
class Place:
    """One setting: R = 1, pi = 1/2, k = 1.

    Attributes
    ----------
    name : str
    length, strength, cosine
        L, theta and s.
    models : tuple of str
        The models measured there.
    """

    name: str
    length: int = 4
    strength: float = 2.0
    cosine: float = 0.8
    models: tuple[str, ...] = ALL

    @property
    def problem(self) -> SparseTokenProblem:
        """The task."""
        return SparseTokenProblem(self.length, 1, self.strength, 0.5)

    @property
    def query(self) -> Query:
        """The query of attention."""
        return Query(self.cosine, SHARPNESS)

    def dimension(self, model: str, features: int) -> int:
        """Return the d of a model with so many features."""
        return features // self.length if model == "vectorized" else features

    @property
    def text(self) -> str:
        """The setting, for readers."""
        return f"L = {self.length}, θ = {self.strength:g}, s = {self.cosine:g}"


BASE = Place("base")
PLACES = {
    place.name: place
    for place in (
        BASE,
        Place("turned away", cosine=-0.6, models=("attention",)),
        Place("not aligned", cosine=0.0, models=("attention",)),
        Place("half aligned", cosine=0.5, models=("attention",)),
        Place("no signal", strength=0.0),
        Place("strong", strength=3.0),
        Place("very strong", strength=5.0, models=("attention", "vectorized")),
        Place("two tokens", length=2),
        Place("eight tokens", length=8, models=("attention", "pooled")),
    )
}


@functools.cache
def predicted(place: str, model: str) -> Point:
    """Return the predicted capacity at a place."""
    at = PLACES[place]
    result = theory.capacity(model, at.problem, query=at.query, tolerance=1e-3)
    return Point(
        model,
        "threshold",
        0.0,
        result.capacity,
        result.numerical_error,
        group=place,
        status=str(result.status.code),
    )


def count(
    place: str, model: str, features: int, loads: Sequence[float], sets: int, seed: int
) -> list[Point]:
    """Count separable training sets at each load; y is the number of features."""
    at = PLACES[place]
    d = at.dimension(model, features)
    points = [
        separable_share(
            model,
            at.problem,
            at.query,
            load,
            dimension=d,
            engine="reduced",
            sets=sets,
            seed=seed,
            group=place,
        )
        for load in loads
    ]
    return [dataclasses.replace(point, y=float(features)) for point in points]


def fits(points: Sequence[Point], place: str, model: str) -> dict[int, Threshold]:
    """Return the fitted transition by number of features."""
    counted = select(points, group=place, curve=model, quantity="separable")
    return {int(m): _fit([p for p in counted if p.y == m]) for m in sorted({p.y for p in counted})}


def _fit(counted: Sequence[Point]) -> Threshold:
    counts = [round(p.value * p.trials) for p in counted]
    return fit_threshold([p.x for p in counted], counts, counted[0].trials)


def measured(points: Sequence[Point], place: str, model: str) -> Point:
    """Return the threshold in infinite dimension: a line in 1/features through the fits."""
    found = fits(points, place, model)
    good = {m: fit for m, fit in found.items() if fit.converged}
    trials = sum(p.trials for p in select(points, group=place, curve=model, quantity="separable"))
    point = Point(
        model,
        "threshold",
        0.0,
        float("nan"),
        float("nan"),
        "reduced",
        place,
        max(found, default=0),
        trials,
        "max_iterations",
    )
    if len(good) < len(found) or len(found) < 2:
        return point
    limit = limit_of(
        list(good), [f.middle for f in good.values()], [f.standard_error for f in good.values()]
    )
    return dataclasses.replace(point, value=limit.value, error=limit.error, status="converged")


def thresholds(points: Sequence[Point]) -> list[Point]:
    """Return all measured thresholds in infinite dimension."""
    return [
        measured(points, place.name, model) for place in PLACES.values() for model in place.models
    ]
