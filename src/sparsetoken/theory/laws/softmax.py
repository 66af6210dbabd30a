"""The features of softmax attention."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken.model.models import QueriedModel
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.theory.feature_law import FeatureLaw, TokenFeatures, sampled_law, two_nodes

_BLUNT = 1.0  # sharpness below which the sum of the tokens may rule the weights


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
    blunt = k < _BLUNT
    features = TokenFeatures(
        problem,
        query,
        lambda t: model.weights(k * t),
        sees_mean=False,
        coordinates=("summed", "ordered") if blunt else ("ordered",),
        token_weight=lambda t, other: np.exp(k * (t - other)),
    )
    return sampled_law(features, points)
