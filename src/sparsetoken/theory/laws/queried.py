"""The features of any model with a query, from its weights."""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy.special import ndtri

from sparsetoken.model.models import QueriedModel
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
