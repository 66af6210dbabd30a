"""Test error and AUC of a given readout, without drawing new tokens.

Given the few scalars of a new sample its score is Gaussian: mean m, width T. Averaging
Phi(-y m / T) over draws of the scalars has far less variance than counting errors.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import rankdata

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.design import Split
from sparsetoken.simulation.scalars import draw_scalars
from sparsetoken.training import Query

__all__ = ["Merit", "conditional_merit", "counted_merit"]

DRAWS = 2**16
ENUMERATED = 5000


class Merit(NamedTuple):
    """Quality on new data."""

    test_error: float
    auc: float


class ScoreLaw(NamedTuple):
    """Gaussian scores of one class: means m and widths T, one for each draw."""

    m: np.ndarray
    T: np.ndarray


def conditional_merit(
    model: str,
    problem: SparseTokenProblem,
    query: Query,
    split: Split,
    bias: float,
    activation: str,
    rng: np.random.Generator,
) -> Merit:
    """Return test error and AUC given the readout.

    Pooled is exact. Vectorized is exact where the sets of positions are few. Otherwise
    the mean runs over 65536 draws per class.
    """
    if model == "vectorized":
        plus, minus = _vectorized_laws(problem, split, bias, rng)
    elif model == "pooled":
        plus, minus = _pooled_laws(problem, split, bias)
    else:
        laws = (
            _queried_law(model, problem, query, split, bias, activation, rng, positive)
            for positive in (True, False)
        )
        plus, minus = laws
    pi = problem.positive_rate
    error = pi * _above_zero(-plus.m, plus.T) + (1 - pi) * _above_zero(minus.m, minus.T)
    return Merit(error, _above_zero(plus.m - minus.m, np.hypot(plus.T, minus.T)))


def _above_zero(m: np.ndarray, T: np.ndarray) -> float:
    """Return the mean of P(m + T g > 0); a tie counts one half."""
    sure = np.where(m == 0, 0.5, m > 0)
    return float(np.mean(np.where(T > 0, ndtr(m / np.where(T > 0, T, 1.0)), sure)))


def _queried_law(
    model: str,
    problem: SparseTokenProblem,
    query: Query,
    split: Split,
    bias: float,
    activation: str,
    rng: np.random.Generator,
    positive: bool,
) -> ScoreLaw:
    """Scores are N(w_1 (theta s A + B) + w_2 theta sqrt(1-s^2) A + b, C^2 tau^2)."""
    (w_1, w_2), theta, s = split.named, problem.strength, query.cosine
    classes = np.full(DRAWS, positive)
    A, B, C = draw_scalars(model, problem, query, classes, activation, rng)
    m = w_1 * (theta * s * A + B) + w_2 * theta * np.sqrt(1 - s**2) * A + bias
    return ScoreLaw(m, C * np.hypot(w_2, split.rest))


def _pooled_laws(
    problem: SparseTokenProblem, split: Split, bias: float
) -> tuple[ScoreLaw, ScoreLaw]:
    _, theta, R, L = problem.letters
    T = np.array([np.hypot(split.named[0], split.rest) / np.sqrt(L)])
    return (
        ScoreLaw(theta * R / L * split.named + bias, T),
        ScoreLaw(np.array([float(bias)]), T),
    )


def _vectorized_laws(
    problem: SparseTokenProblem, split: Split, bias: float, rng: np.random.Generator
) -> tuple[ScoreLaw, ScoreLaw]:
    m = problem.strength * (_positions(problem, rng) @ split.named) + bias
    T = np.full(len(m), np.hypot(np.linalg.norm(split.named), split.rest))
    return ScoreLaw(m, T), ScoreLaw(np.full(len(m), float(bias)), T)


def _positions(problem: SparseTokenProblem, rng: np.random.Generator) -> np.ndarray:
    """Return all sets of positions if they are few and equally likely, else draws."""
    L, R = problem.length, problem.informative
    if problem.position_law is not None or math.comb(L, R) > ENUMERATED:
        return problem.sample_positions(DRAWS, rng)
    sets = list(itertools.combinations(range(L), R))
    v = np.zeros((len(sets), L), dtype=bool)
    np.put_along_axis(v, np.array(sets), True, axis=1)
    return v


def counted_merit(scores: np.ndarray, labels: np.ndarray) -> Merit:
    """Return the share of wrong signs and the AUC (by ranks) on a sample."""
    error = 0.5 * float(np.mean(1 - labels * np.sign(scores)))
    positive = labels == 1
    plus, minus = np.count_nonzero(positive), np.count_nonzero(~positive)
    if plus == 0 or minus == 0:
        return Merit(error, float("nan"))
    ranks = rankdata(scores)[positive].sum()
    return Merit(error, float((ranks - plus * (plus + 1) / 2) / (plus * minus)))
