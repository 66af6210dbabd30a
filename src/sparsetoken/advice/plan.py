"""What to do with bags: model, split, sharpness, more labels; and how sure that is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence

import numpy as np

from sparsetoken.advice import text
from sparsetoken.advice.curves import AttentionSetting, Forecast, Point, better
from sparsetoken.advice.diagnosis import Estimate, MoreLabels, Setting
from sparsetoken.theory.alignment import sign_margin
from sparsetoken.theory.alignment.two_steps import align_point

__all__ = ["Plan", "estimate", "make_plan"]

_MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_FURTHEST = 64  # times the bags at hand
_CLASSIFIER_LOSS = "logistic"  # the default of the classifiers


@dataclasses.dataclass(frozen=True)
class Plan:
    """The part of a diagnosis that rests on predictions, empty by default."""

    recommended: str = "pooled"
    curves: tuple[Point, ...] = ()
    support: float = math.nan
    setting: Setting | None = None
    labels: MoreLabels | None = None
    sentences: tuple[str, ...] = ()


def estimate(values: Sequence[float] | np.ndarray) -> Estimate:
    """Return the first value with the 90% interval of the rest, without those that are nan."""
    rest = np.asarray(values[1:])[np.isfinite(values[1:])]
    if not math.isfinite(values[0]) or not rest.size:
        return Estimate(math.nan, math.nan, math.nan)
    low, high = np.percentile(rest, [5, 95])
    return Estimate(float(values[0]), float(low), float(high))


def make_plan(forecast: Forecast, samples: Sequence[Forecast | None], n: int) -> Plan:
    """Return the plan for n bags.

    Parameters
    ----------
    forecast : Forecast
        Of the bags.
    samples : sequence of Forecast or None
        Of bootstrap samples of the bags; None for those in which no signal is seen.
    n : int
    """
    here = forecast.at(n)
    near = AttentionSetting(here.attention, here.split, here.sharpness, here.cosine)
    curves = tuple(here if x == 1 else forecast.at(x * n, near=near) for x in _MULTIPLES)
    recommended = better(here, forecast.guess)
    now = [sample.fixed(n, near) if sample else None for sample in samples]
    models = [
        better(p, s.guess) if p and s else "pooled" for p, s in zip(now, samples, strict=True)
    ]
    support = models.count(recommended) / len(models)
    setting = None
    if forecast.problem.length > 1:
        setting = _setting(forecast, samples, here, n)
    labels = _more_labels(forecast, samples, now, curves, recommended, near)
    sentences = [
        text.of_model(recommended, support, here, forecast.guess, forecast.equal_sizes),
        text.of_query(setting, recommended) if setting else "",
        text.of_labels(labels, n, curves, recommended),
    ]
    return Plan(recommended, curves, support, setting, labels, tuple(sentences))


def _setting(
    forecast: Forecast, samples: Sequence[Forecast | None], here: Point, n: int
) -> Setting:
    steps = forecast.query_steps(here.split * n, _CLASSIFIER_LOSS)
    cosines = [
        align_point(one.problem, one.query_steps(here.split * n, _CLASSIFIER_LOSS)).cosine
        for one in samples
        if one
    ]
    return Setting(
        split=here.split,
        sharpness=here.sharpness,
        cosine=estimate([align_point(forecast.problem, steps).cosine, *cosines]),
        sign_margin=float(sign_margin(forecast.problem, steps)),
        away=float(np.mean(np.less(cosines, 0))) if cosines else math.nan,
    )


def _more_labels(
    forecast: Forecast,
    samples: Sequence[Forecast | None],
    now: Sequence[Point | None],
    curves: tuple[Point, ...],
    model: str,
    near: AttentionSetting,
) -> MoreLabels:
    by_n = {x: point.error(model) for x, point in zip(_MULTIPLES, curves, strict=True)}
    n = curves[_MULTIPLES.index(1.0)].n
    later = [s.error(model, 2 * n, near) if s else math.nan for s in samples]
    infinite = min(forecast.infinite(model), *by_n.values())
    return MoreLabels(
        error=estimate([by_n[1], *(p.error(model) if p else math.nan for p in now)]),
        double=estimate([by_n[2], *later]),
        fourfold=by_n[4],
        infinite=infinite,
        halfway=_halfway(forecast, model, n, by_n, (by_n[1] + infinite) / 2, near),
    )


def _halfway(
    forecast: Forecast,
    model: str,
    n: int,
    errors: dict[float, float],
    goal: float,
    near: AttentionSetting,
) -> int | None:
    """Return the n at which the error is down to the goal, between points linear in log n."""
    low, above = 1.0, errors[1.0]
    while low < _FURTHEST:
        high = 2 * low
        below = errors.get(high)
        if below is None:
            below = forecast.at(high * n, near=near).error(model)
        if below <= goal:
            part = (above - goal) / (above - below) if above > below else 0.0
            return math.ceil(low * n * 2**part)
        low, above = high, below
    return None
