"""What to do with bags: model, split, sharpness, more labels; and how sure that is."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sparsetoken.advice import text
from sparsetoken.advice.curves import Attention, Forecast, Point, better
from sparsetoken.advice.diagnosis import Estimate, MoreLabels, Setting
from sparsetoken.losses import get_loss
from sparsetoken.theory.alignment import align, sign_margin
from sparsetoken.training import FourStageTraining

__all__ = ["MULTIPLES", "NO_PLAN", "Plan", "estimate", "make_plan"]

MULTIPLES = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
_FURTHEST = 64
_QUERY_LOSS = "logistic"  # the default of the classifiers; another may turn the other way


class Plan(NamedTuple):
    """The part of a diagnosis that rests on predictions."""

    curves: tuple[Point, ...]
    recommended: str
    support: float
    setting: Setting | None
    labels: MoreLabels | None
    sentences: tuple[str, ...]


NO_PLAN = Plan((), "pooled", math.nan, None, None, ())


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
    near = Attention(here.attention, here.split, here.sharpness, here.cosine)
    curves = tuple(here if x == 1 else forecast.at(x * n, near=near) for x in MULTIPLES)
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
    return Plan(curves, recommended, support, setting, labels, tuple(sentences))


def _setting(
    forecast: Forecast, samples: Sequence[Forecast | None], here: Point, n: int
) -> Setting:
    training = _classifier_training(forecast, here.split * n)
    cosines = [
        align(one.problem, _classifier_training(one, here.split * n)).cosine
        for one in samples
        if one
    ]
    return Setting(
        split=here.split,
        sharpness=here.sharpness,
        cosine=estimate([align(forecast.problem, training).cosine, *cosines]),
        sign_margin=float(sign_margin(forecast.problem, training)),
        away=float(np.mean(np.less(cosines, 0))) if cosines else math.nan,
    )


def _classifier_training(forecast: Forecast, n0: float) -> FourStageTraining:
    return dataclasses.replace(forecast.trained_on(n0), loss=get_loss(_QUERY_LOSS))


def _more_labels(
    forecast: Forecast,
    samples: Sequence[Forecast | None],
    now: Sequence[Point | None],
    curves: tuple[Point, ...],
    model: str,
    near: Attention,
) -> MoreLabels:
    by_n = {x: point.error(model) for x, point in zip(MULTIPLES, curves, strict=True)}
    n = curves[MULTIPLES.index(1.0)].n
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
    near: Attention,
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
