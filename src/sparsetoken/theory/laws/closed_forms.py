"""The features of each model: with equal weights, and linear."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.theory.laws.feature_law import FeatureLaw, two_nodes
from sparsetoken.theory.laws.tokens import (
    TokenFeatures,
)


def equal_weights(features: TokenFeatures) -> FeatureLaw | None:
    """Return the law of features whose tokens all have one weight, None where they do not.

    They do at sharpness 0, or where one token has all of a weight of 1. The noise of the tokens
    along the query is then Gaussian, too.
    """
    problem, query = features.problem, features.query
    _, theta, R, L = problem.letters
    if query.sharpness > 0 and (L > 1 or features.network.total is None):
        return None
    weights = features.weights(np.zeros((1, L)))
    if np.ptp(weights) > 0:
        return None
    w, s = float(weights[0, 0]), query.cosine
    along, across = (w * theta * part * R for part in (s, math.sqrt(1 - s**2)))
    law = two_nodes(problem, along, across, w * math.sqrt(L))
    return dataclasses.replace(law, covariance=np.diag([w**2 * L, 0.0]))


def pooled_law(problem: SparseTokenProblem) -> FeatureLaw:
    """Return the law of the mean token: A = R/L, C = 1/sqrt(L)."""
    _, theta, R, L = problem.letters
    return two_nodes(problem, 0.0, theta * R / L, 1 / math.sqrt(L))


def vectorized_law(problem: SparseTokenProblem) -> FeatureLaw:
    """Return the law of the concatenated tokens.

    A linear problem in L d dimensions, with a mean of norm theta R / sqrt(L) and unit noise.
    """
    _, theta, R, L = problem.letters
    return two_nodes(problem, 0.0, theta * R / math.sqrt(L), 1.0)
