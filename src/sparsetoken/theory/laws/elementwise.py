"""The features of attention without normalisation."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
from scipy.special import log_expit, log_ndtr

from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import Elementwise
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
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
    model.check_sharpness(query.sharpness, problem.strength * abs(query.cosine))
    k, name = query.sharpness, model.activation
    phi = ACTIVATIONS[name]
    features = TokenFeatures(
        problem,
        query,
        lambda t: model.weights(k * t),
        sees_mean=True,
        vanish=name == "relu",  # all projections of a sample are negative at times, at every L
        token_weight=lambda t, _: phi(k * t) / problem.length,
    )
    law = sampled_law(features, points)
    if name in _LOG_WEIGHTS:
        log_phi = _LOG_WEIGHTS[name]
        features = dataclasses.replace(
            features, weigh=lambda t: _within_range(log_phi(k * t)), up_to_factor=True
        )
    return dataclasses.replace(law, features=features)


def _within_range(log_weights: np.ndarray) -> np.ndarray:
    """Return weights up to a factor for each sample, so that none overflows or vanishes.

    Only the direction and the norm of a feature relative to one another matter where
    samples are separated.
    """
    top = log_weights.max(axis=1, keepdims=True)
    limited = np.clip(top, -_LARGEST_LOG_WEIGHT, _LARGEST_LOG_WEIGHT)
    return np.exp(log_weights - (top - limited))


_LOG_WEIGHTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": lambda scores: math.log(2) + log_ndtr(math.sqrt(2) * scores),
    "exp": lambda scores: scores,
    "sigmoid": log_expit,
}
"""log phi, where phi spans many orders of magnitude."""
