"""The features of each model: from its weights, of softmax, elementwise and linear models."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable

import numpy as np
from scipy.special import log_expit, log_ndtr, ndtri

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.weights import ACTIVATIONS
from sparsetoken.model.models import Elementwise, Model, QueriedModel
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
    two_nodes,
)
from sparsetoken.theory.readout.nodes import FeatureNodes


def queried_law(
    model: QueriedModel, problem: SparseTokenProblem, query: Query, points: int
) -> FeatureLaw:
    """Return the law of X^T a with the weights a that the model gives to the scores."""
    k = query.sharpness
    features = TokenFeatures(
        problem, query, lambda t: model.weights(k * t), sees_mean=model.sees_mean
    )
    return sampled_law(features, points)


def nodes_with_effect(
    model: QueriedModel,
    problem: SparseTokenProblem,
    shift: float,
    effect: float,
    sharpness: float,
    points: int,
) -> FeatureNodes:
    """Return nodes of the weights of scores ``k (shift v + g + effect zeta)``.

    All tokens of a sample have one zeta. The directions are those of the signal, of a token's noise
    along the query and of the effect; the amplitudes are the norm of the weights and their sum.
    `shift` and `effect` are what the signal, and one standard deviation of the effect, add to
    projections. Points are those of each class and scramble, a power of two.

    Raises
    ------
    InvalidInput
        If weights overflow, or there are more tokens than Sobol sequences have dimensions.
    """
    width = math.hypot(1.0, effect)
    model.check_sharpness(sharpness * width, abs(shift) / width)
    pi, theta, R, L = problem.letters
    refuse_many_tokens(L)
    rng, scrambles = np.random.default_rng(SEED), []
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
            a = model.weights(sharpness * projected)
            B, squares = (np.einsum("nl,nl->n", a, factor) for factor in (g, a))
            A, S = theta * a[:, :informative].sum(axis=1), a.sum(axis=1)
            moved = np.stack([A, B, S * zeta], axis=-1)
            amplitudes = np.stack([np.sqrt(squares), S], axis=-1)
            sizes = np.full(points, label), np.full(points, chance / points)
            classes.append([moved, amplitudes, *sizes])
        scrambles.append([np.concatenate(parts) for parts in zip(*classes, strict=True)])
    a, amplitudes, y, weight = (np.stack(parts) for parts in zip(*scrambles, strict=True))
    return FeatureNodes(a, amplitudes, y, weight, np.zeros((3, 3)))


def softmax_law(
    model: QueriedModel, problem: SparseTokenProblem, query: Query, points: int
) -> FeatureLaw:
    """Return the law of X^T softmax(beta X q).

    With one token, or at sharpness 0, it is that of the mean token. Softmax does not see the
    mean of the tokens' noise, so that part of B is integrated exactly.
    """
    _, theta, R, L = problem.letters
    s, k = query.cosine, query.sharpness
    if L == 1 or k == 0:
        along, across = (theta * part * R / L for part in (s, math.sqrt(1 - s**2)))
        law = two_nodes(problem, along, across, 1 / math.sqrt(L))
        return dataclasses.replace(law, gaussian_variance=1 / L)
    features = TokenFeatures(
        problem,
        query,
        lambda t: model.weights(k * t),
        sees_mean=False,
        token_weight=lambda t, other: np.exp(k * (t - other)),
    )
    return sampled_law(features, points)


_CODIMENSIONS = {"relu": 0, "linear": 1, "tanh": 1}
"""Of the zeros of phi; others have none."""

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
        codimension=_CODIMENSIONS.get(name, math.inf),
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


def pooled_law(
    model: Model, problem: SparseTokenProblem, query: Query | None, points: int
) -> FeatureLaw:
    """Return the law of the mean token: A = R/L, C = 1/sqrt(L)."""
    _, theta, R, L = problem.letters
    return two_nodes(problem, 0.0, theta * R / L, 1 / math.sqrt(L))


def vectorized_law(
    model: Model, problem: SparseTokenProblem, query: Query | None, points: int
) -> FeatureLaw:
    """Return the law of the concatenated tokens.

    A linear problem in L d dimensions, with a mean of norm theta R / sqrt(L) and unit noise.

    Raises
    ------
    InvalidInput
        If positions are not uniform.
    """
    if problem.position_law is not None:
        remedy = "The theory of vectorized takes positions as uniform; simulate instead."
        raise InvalidInput("position_law", "None", problem.position_law, remedy)
    _, theta, R, L = problem.letters
    law = two_nodes(problem, 0.0, theta * R / math.sqrt(L), 1.0)
    return dataclasses.replace(law, weights_per_dimension=L)
