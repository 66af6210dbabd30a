"""The share of bags that the theory would spend on the query."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from jaxtyping import Float

from sparsetoken.estimators.queries import Steps
from sparsetoken.estimators.readout import Samples
from sparsetoken.losses import Loss
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.design import best_split
from sparsetoken.training import FourStageTraining

__all__ = ["advised_share", "matched_problem"]

STRENGTHS = (1.0, 20.0)
SHARES = (0.1, 0.9)
TOLERANCE = 1e-2  # of the predicted test error: the best share is flat


def matched_problem(
    means: Float[np.ndarray, "n d"], sizes: Float[np.ndarray, " n"], samples: Samples
) -> SparseTokenProblem:
    """Return the sparse-token problem with one informative token that the bags look like.

    Length: the median size. Strength: the distance between the mean tokens of the two classes,
    squared and less what noise adds, times the length.
    """
    plus, share = samples.y > 0, samples.share
    rate = float(share[plus].sum())
    gap = share[plus] @ means[plus] / rate - share[~plus] @ means[~plus] / (1 - rate)
    spread = sum(_noise(means[rows], samples.take(rows)) for rows in (plus, ~plus))
    weight = samples.weight / samples.unit
    median = np.quantile(sizes, 0.5, weights=weight, method="inverted_cdf")
    length = max(2, round(float(median)))
    strength = length * math.sqrt(max(float(gap @ gap) - spread, 0.0))
    return SparseTokenProblem(
        length=length,
        informative=1,
        positive_rate=min(max(rate, 0.01), 0.99),
        strength=min(max(strength, STRENGTHS[0]), STRENGTHS[1]),
    )


def _noise(means: Float[np.ndarray, "n d"], samples: Samples) -> float:
    """Return the variance of the weighted mean of the rows, summed over columns."""
    return float(samples.parts @ np.square(means - samples.share @ means).sum(axis=1))


def advised_share(
    means: Float[np.ndarray, "n d"],
    sizes: Float[np.ndarray, " n"],
    samples: Samples,
    loss: Loss,
    steps: Steps,
) -> float:
    """Return the share of D0 that `sparsetoken.theory.design.best_split` takes, in [0.1, 0.9].

    Strength, rate and load are rounded to a few percent, and answers are kept: a search takes
    seconds, the best share is flat, and the folds of a cross-validation look alike.
    """
    problem = matched_problem(means, sizes, samples)
    problem = dataclasses.replace(
        problem,
        strength=float(np.clip(_rounded(problem.strength), *STRENGTHS)),
        positive_rate=float(np.clip(round(problem.positive_rate, 1), 0.05, 0.95)),
    )
    n, d = means.shape
    training = FourStageTraining(eta_w=steps.w, eta_b=steps.b, eta_q=steps.q, loss=loss)
    return _best_share(problem, training, _rounded(n / d))


def _rounded(value: float) -> float:
    return math.exp(round(10 * math.log(value)) / 10)


@functools.lru_cache(maxsize=256)
def _best_share(problem: SparseTokenProblem, training: FourStageTraining, load: float) -> float:
    best = best_split("attention", problem, training, load, tolerance=TOLERANCE)
    return float(np.clip(best.share, *SHARES)) if math.isfinite(best.share) else 0.5
