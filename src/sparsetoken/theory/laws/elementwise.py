"""The features of attention without normalisation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from scipy.special import log_ndtr

from sparsetoken.attention import ACTIVATIONS, check_exponent
from sparsetoken.models import Elementwise
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Query
from sparsetoken.theory.feature_law import FeatureLaw, TokenFeatures, sampled_law

_LARGEST_LOG_WEIGHT = 300.0  # squares are finite


def elementwise_law(
    model: Elementwise, problem: SparseTokenProblem, query: Query, points: int
) -> FeatureLaw:
    """Return the law of (1/L) X^T phi(beta X q).

    Raises
    ------
    InvalidInput
        If exponential weights overflow.
    """
    check_exponent(model.activation, query.sharpness, problem.strength * abs(query.cosine))
    L, k, name = problem.length, query.sharpness, model.activation
    phi = ACTIVATIONS[name]
    # Weights that pass through 0 do so in L dimensions; 1 + erf(k t) falls as e^(-k^2 t^2).
    vanishing = {"tanh": L <= 2, "linear": L <= 2 and k > 0}.get(name, False)
    features = TokenFeatures(
        problem,
        query,
        lambda t: phi(k * t) / L,
        sees_mean=True,
        needs_bias=not vanishing,
        infinite_cost=vanishing or (name == "erf" and 4 * k**2 >= L),
        token_weight=lambda t, _: phi(k * t) / L,
    )
    law = sampled_law(features, points)
    if name in _LOG_WEIGHTS:
        log_phi = _LOG_WEIGHTS[name]
        features = dataclasses.replace(
            features, weigh=lambda t: _within_range(log_phi(k * t)), up_to_factor=True
        )
    # All projections are negative at times, at every L: relu then weighs all tokens with 0.
    return dataclasses.replace(law, features=features, vanishes=name == "relu" or law.featureless)


def _within_range(log_weights: np.ndarray) -> np.ndarray:
    """Return weights up to a factor for each sample, so that none overflows or vanishes.

    Only the direction and the length of a feature relative to one another matter where
    samples are separated.
    """
    top = log_weights.max(axis=1, keepdims=True)
    limited = np.clip(top, -_LARGEST_LOG_WEIGHT, _LARGEST_LOG_WEIGHT)
    return np.exp(log_weights - (top - limited))


_LOG_WEIGHTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": lambda scores: math.log(2) + log_ndtr(math.sqrt(2) * scores),
    "exp": lambda scores: scores,
}
"""log phi, where phi spans many orders of magnitude."""
