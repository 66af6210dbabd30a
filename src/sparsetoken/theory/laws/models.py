"""The features of each model: with equal weights, beside an effect of samples, and linear."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from scipy.special import ndtri

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Model, QueriedModel
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.numerics.quadrature import sobol_sequence
from sparsetoken.theory.feature_law import FeatureLaw, two_nodes
from sparsetoken.theory.token_features import (
    SCRAMBLES,
    SEED,
    Layout,
    TokenFeatures,
    refuse_many_tokens,
)


def equal_weights(features: TokenFeatures) -> FeatureLaw | None:
    """Return the law of features whose tokens all have one weight, None where they do not.

    They do at sharpness 0, or where one token has all of a weight of 1. The noise of the tokens
    along the query is then Gaussian, too.
    """
    problem, query, model = features.problem, features.query, features.model
    _, theta, R, L = problem.letters
    if query.sharpness > 0 and (L > 1 or model.sees_mean):
        return None
    weights = features.weights(np.zeros((1, L)))
    if np.ptp(weights) > 0:
        return None
    w, s = float(weights[0, 0]), query.cosine
    along, across = (w * theta * part * R for part in (s, math.sqrt(1 - s**2)))
    law = two_nodes(problem, along, across, w * math.sqrt(L))
    return dataclasses.replace(law, covariance=np.diag([w**2 * L, 0.0]))


def nodes_with_effect(
    model: QueriedModel,
    problem: SparseTokenProblem,
    shift: float,
    effect: float,
    sharpness: float,
    points: int,
) -> FeatureLaw:
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
    return FeatureLaw(a, amplitudes, y, weight, np.zeros((3, 3)))


def pooled_law(model: Model, problem: SparseTokenProblem, query: Query | None) -> FeatureLaw:
    """Return the law of the mean token: A = R/L, C = 1/sqrt(L)."""
    _, theta, R, L = problem.letters
    return two_nodes(problem, 0.0, theta * R / L, 1 / math.sqrt(L))


def vectorized_law(model: Model, problem: SparseTokenProblem, query: Query | None) -> FeatureLaw:
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
    return two_nodes(problem, 0.0, theta * R / math.sqrt(L), 1.0)
