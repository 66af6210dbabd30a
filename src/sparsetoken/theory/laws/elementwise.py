"""The features of attention without normalisation."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
from scipy.special import log_expit, log_ndtr, ndtri

from sparsetoken.model.models import Elementwise
from sparsetoken.model.pooling import ACTIVATIONS, check_exponent
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.numerics.quadrature import sobol_sequence
from sparsetoken.theory.feature_law import (
    SCRAMBLES,
    SEED,
    FeatureLaw,
    Layout,
    TokenFeatures,
    refuse_many_tokens,
    sampled_law,
)
from sparsetoken.theory.readout.nodes import FeatureNodes

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
    features = TokenFeatures(
        problem,
        query,
        lambda t: phi(k * t) / L,
        sees_mean=True,
        vanish=name == "relu",  # all projections of a sample are negative at times, at every L
        token_weight=lambda t, _: phi(k * t) / L,
    )
    law = sampled_law(features, points)
    if name in _LOG_WEIGHTS:
        log_phi = _LOG_WEIGHTS[name]
        features = dataclasses.replace(
            features, weigh=lambda t: _within_range(log_phi(k * t)), up_to_factor=True
        )
    return dataclasses.replace(law, features=features)


def elementwise_nodes_with_effect(
    model: Elementwise,
    problem: SparseTokenProblem,
    shift: float,
    effect: float,
    sharpness: float,
    points: int,
) -> FeatureNodes:
    """Return nodes of ``a = phi(k (shift v + g + effect zeta)) / L`` with one zeta for all tokens.

    The directions are those of the signal, of a token's noise along the query and of the effect;
    the amplitudes are the length of the weights and their sum. `shift` and `effect` are what the
    signal, and one standard deviation of the effect, add to projections. Points are those of each
    class and scramble, a power of two.

    Raises
    ------
    InvalidInput
        If exponential weights overflow, or there are more tokens than Sobol sequences have
        dimensions.
    """
    width = math.hypot(1.0, effect)
    check_exponent(model.activation, sharpness * width, abs(shift) / width)
    pi, theta, R, L = problem.letters
    refuse_many_tokens(L)
    phi, rng = ACTIVATIONS[model.activation], np.random.default_rng(SEED)
    scrambles = []
    for _ in range(SCRAMBLES):
        classes = []
        for label, informative, chance in ((1.0, R, pi), (-1.0, 0, 1 - pi)):
            uniforms = np.clip(sobol_sequence(L + 1, rng).random(points), 1e-300, 1 - 1e-16)
            zeta, logs = ndtri(uniforms[:, 0]), np.log(uniforms[:, 1:])
            columns = functools.partial(np.take, logs, axis=1)
            groups = Layout(informative, L - informative, most=L).groups(columns, columns)
            g = np.concatenate([group.largest for group in groups], axis=1)
            projected = g + effect * zeta[:, None]
            projected[:, :informative] += shift
            a = phi(sharpness * projected) / L
            B, squares = (np.einsum("nl,nl->n", a, factor) for factor in (g, a))
            A, S = theta * a[:, :informative].sum(axis=1), a.sum(axis=1)
            moved = np.stack([A, B, S * zeta], axis=-1)
            amplitudes = np.stack([np.sqrt(squares), S], axis=-1)
            sizes = np.full(points, label), np.full(points, chance / points)
            classes.append([moved, amplitudes, *sizes])
        scrambles.append([np.concatenate(parts) for parts in zip(*classes, strict=True)])
    a, amplitudes, y, weight = (np.stack(parts) for parts in zip(*scrambles, strict=True))
    return FeatureNodes(a, amplitudes, y, weight, np.zeros((3, 3)))


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
    "sigmoid": log_expit,
}
"""log phi, where phi spans many orders of magnitude."""
