"""Test error and AUC of a given readout, without drawing new tokens.

Given the few scalars of a new sample its score is Gaussian: mean m, width T. Averaging
Phi(-y m / T) over draws of the scalars has far less variance than counting errors.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr
from scipy.stats import rankdata

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.budget import chunk_sizes, scalar_rows
from sparsetoken.simulation.design import Split
from sparsetoken.simulation.scalars import draw_positions, draw_scalars
from sparsetoken.stages import Query

__all__ = ["Merit", "conditional_merit", "counted_merit"]

DRAWS = 2**16
ENUMERATED = 5000


class Merit(NamedTuple):
    """Quality on new data."""

    test_error: float
    auc: float


class NormalScores(NamedTuple):
    """Gaussian scores of one class: means m and widths T, one for each draw."""

    m: np.ndarray
    T: np.ndarray


Classes = tuple[NormalScores, NormalScores]
"""Scores of positives and of negatives."""


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
    the mean runs over 65536 draws per class, chunk by chunk.
    """
    if model == "vectorized":
        chunks = _vectorized(problem, split, bias, rng)
    elif model == "pooled":
        chunks = iter([_pooled(problem, split, bias)])
    else:
        chunks = _queried(model, problem, query, split, bias, activation, rng)
    pi, total, count = problem.positive_rate, np.zeros(2), 0
    for plus, minus in chunks:
        missed, wrong = _above_zero(-plus.m, plus.T), _above_zero(minus.m, minus.T)
        auc = _above_zero(plus.m - minus.m, np.hypot(plus.T, minus.T))
        total += len(plus.m) * np.array([pi * missed + (1 - pi) * wrong, auc])
        count += len(plus.m)
    error, auc = total / count
    return Merit(float(error), float(auc))


def _above_zero(m: np.ndarray, T: np.ndarray) -> float:
    """Return the mean of P(m + T g > 0); a tie counts one half."""
    sure = np.where(m == 0, 0.5, m > 0)
    return float(np.mean(np.where(T > 0, ndtr(m / np.where(T > 0, T, 1.0)), sure)))


def _queried(
    model: str,
    problem: SparseTokenProblem,
    query: Query,
    split: Split,
    bias: float,
    activation: str,
    rng: np.random.Generator,
) -> Iterator[Classes]:
    """Scores are N(w_1 (theta s A + B) + w_2 theta sqrt(1-s^2) A + b, C^2 tau^2)."""
    (w_1, w_2), theta, s = split.named, problem.strength, query.cosine

    def scores(positive: bool, n: int) -> NormalScores:
        A, B, C = draw_scalars(model, problem, query, np.full(n, positive), activation, rng)
        m = w_1 * (theta * s * A + B) + w_2 * theta * np.sqrt(1 - s**2) * A + bias
        return NormalScores(m, C * np.hypot(w_2, split.rest))

    for n in chunk_sizes(DRAWS, scalar_rows(problem.length)):
        yield scores(True, n), scores(False, n)


def _pooled(problem: SparseTokenProblem, split: Split, bias: float) -> Classes:
    _, theta, R, L = problem.letters
    T = np.array([np.hypot(split.named[0], split.rest) / np.sqrt(L)])
    return (
        NormalScores(theta * R / L * split.named + bias, T),
        NormalScores(np.array([float(bias)]), T),
    )


def _vectorized(
    problem: SparseTokenProblem, split: Split, bias: float, rng: np.random.Generator
) -> Iterator[Classes]:
    width = np.hypot(np.linalg.norm(split.named), split.rest)
    for positions in _positions(problem, rng):
        T = np.full(len(positions), width)
        m = problem.strength * (positions @ split.named) + bias
        yield NormalScores(m, T), NormalScores(np.full(len(T), float(bias)), T)


def _positions(problem: SparseTokenProblem, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield all sets of positions if they are few and equally likely, else draws."""
    L, R = problem.length, problem.informative
    if problem.position_law is not None or math.comb(L, R) > ENUMERATED:
        yield from draw_positions(problem, DRAWS, rng)
        return
    sets = itertools.combinations(range(L), R)
    while some := list(itertools.islice(sets, scalar_rows(L))):
        v = np.zeros((len(some), L), dtype=bool)
        np.put_along_axis(v, np.array(some), True, axis=1)
        yield v


def counted_merit(scores: np.ndarray, labels: np.ndarray) -> Merit:
    """Return the share of wrong signs and the AUC (by ranks) on a sample."""
    error = 0.5 * float(np.mean(1 - labels * np.sign(scores)))
    positive = labels == 1
    plus, minus = np.count_nonzero(positive), np.count_nonzero(~positive)
    if plus == 0 or minus == 0:
        return Merit(error, float("nan"))
    ranks = rankdata(scores)[positive].sum()
    return Merit(error, float((ranks - plus * (plus + 1) / 2) / (plus * minus)))
