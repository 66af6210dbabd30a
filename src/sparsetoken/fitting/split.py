"""The share of bags to spend on the query: the one place where a fit asks the theory."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.fitting.queries import StepSizes
from sparsetoken.fitting.samples import Samples
from sparsetoken.losses import Loss
from sparsetoken.models import Attention
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Readout, TwoSteps

STRENGTHS = (1.0, 20.0)
SHARES = (0.1, 0.9)
TOLERANCE = 1e-2  # of the predicted test error: the best share is flat


def matched_problem(
    means: Float[np.ndarray, "n d"], sizes: Int[np.ndarray, " n"], samples: Samples
) -> SparseTokenProblem:
    """Return the sparse-token problem with one informative token that the bags look like.

    Length: the median size. Strength: the distance between the mean tokens of the two classes,
    squared and less what noise adds, times the length.
    """
    plus, share = samples.y > 0, samples.share
    rate = float(share[plus].sum())
    gap = share[plus] @ means[plus] / rate - share[~plus] @ means[~plus] / (1 - rate)
    noise = sum(_noise(means[rows], samples.take(rows)) for rows in (plus, ~plus))
    median = np.quantile(sizes, 0.5, weights=samples.copies, method="inverted_cdf")
    length = max(2, round(float(median)))
    strength = length * math.sqrt(max(float(gap @ gap) - noise, 0.0))
    return SparseTokenProblem(
        length=length,
        informative=1,
        positive_rate=min(max(rate, 0.01), 0.99),
        strength=min(max(strength, STRENGTHS[0]), STRENGTHS[1]),
    )


def _noise(means: Float[np.ndarray, "n d"], samples: Samples) -> float:
    """Return the variance of the weighted mean of the rows, summed over columns."""
    centred = means - samples.share @ means
    return float(samples.variance_share @ np.square(centred).sum(axis=1))


def advised_share(
    means: Float[np.ndarray, "n d"],
    sizes: Int[np.ndarray, " n"],
    samples: Samples,
    loss: Loss,
    steps: StepSizes,
) -> float:
    """Return the share of D0 that the theory finds best, in [0.1, 0.9].

    Strength, rate and n/d are rounded to a few percent, and answers are kept: a search takes
    seconds, the best share is flat, and the folds of a cross-validation look alike.
    """
    problem = matched_problem(means, sizes, samples)
    problem = dataclasses.replace(
        problem,
        strength=float(np.clip(_rounded(problem.strength), *STRENGTHS)),
        positive_rate=float(np.clip(round(problem.positive_rate, 1), 0.05, 0.95)),
    )
    n, d = means.shape
    return _best_share(problem, steps, loss, _rounded(n / d))


def _rounded(value: float) -> float:
    return math.exp(round(10 * math.log(value)) / 10)


@functools.lru_cache(maxsize=256)
def _best_share(problem: SparseTokenProblem, steps: StepSizes, loss: Loss, total: float) -> float:
    """Return the best share of a total of n/d; the cache is keyed by values."""
    # Imported here, so that fits which do not ask the theory need not load it.
    from sparsetoken.theory.tuning import best_split

    query = TwoSteps(eta_w=steps.w, eta_b=steps.b, eta_q=steps.q, loss=loss)
    best = best_split(problem, Attention(query), Readout(loss), total, tolerance=TOLERANCE)
    return float(np.clip(best.share, *SHARES)) if math.isfinite(best.share) else 0.5
