"""The features of attention that is hard, or so sharp that at most two tokens share its weight."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr

from sparsetoken.model.models import Model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.numerics.quadrature import composite_legendre, normal_density
from sparsetoken.theory.feature_law import FeatureLaw

_REACH = 8.5  # of normals; the largest of L has a tail of L times 1e-17 beyond
_PANELS, _PER_PANEL = 24, 14
_APART = 40.0  # scores so far apart share no weight: e^-40 = 4e-18
_GAPS, _PER_GAP = (0.0, 1.0, 3.0, 8.0, 18.0, _APART), 8
_LEAST = 1e-16  # chance of a node, below which it is dropped


class SharpLaw(NamedTuple):
    """The law of the features of the two tokens with the largest scores.

    `left_out` is the mean weight of all other tokens, relative to the largest.
    """

    law: FeatureLaw
    left_out: Float[np.ndarray, "1 nodes"]


def hard_law(model: Model, problem: SparseTokenProblem, query: Query) -> FeatureLaw:
    """Return the law of the token with the largest projection on the query.

    Equation: hard-attention-law, the limit of infinite sharpness of feature-law: C = 1, and
    (A, B) is the group of the winning token with its noise. With Phi and phi of the normal law,
    a token of group i with n_i tokens, whose projections are N(u_i, 1), wins at noise in db with
    chance ``n_i phi(b) Phi(b)^(n_i - 1) Phi(b + u_i - u_j)^(n_j) db``. Positives have the groups
    of R and L - R tokens with u = theta s and 0; negatives one group of L.

    The nodes are those of a Gauss rule in b, whose chances add up to within 1e-11 for every
    length up to 2^20.
    """
    law, _ = _law(problem, query, math.inf)
    return law


def sharp_law(problem: SparseTokenProblem, query: Query) -> SharpLaw:
    """Return the law of softmax attention among the two tokens with the largest projections.

    Equation: sharp-attention-law. The largest, t, is of group i, and the second, t - x, of group
    j, with the density ``n_i phi(t - u_i) (n_j - [i = j]) phi(t - x - u_j)`` times
    ``prod_g Phi(t - x - u_g)^(m_g)``, m_g being the numbers of tokens that are left. Where
    k x > 40 the largest has all the weight, as in hard-attention-law. The other tokens have the
    weight O(1/sharpness^2) on average.
    """
    return _law(problem, query, query.sharpness)


def _law(problem: SparseTokenProblem, query: Query, k: float) -> SharpLaw:
    pi, theta, R, L = problem.letters
    s = query.cosine
    shifts = np.array([theta * s, 0.0])
    rows = []
    for y, chance, sizes in ((1.0, pi, (R, L - R)), (-1.0, 1 - pi, (0, L))):
        for first in (0, 1):
            for second in (None, 0, 1) if k < math.inf else (None,):
                left = np.array(sizes) - _counted(first) - _counted(second)
                if left.min() >= 0:
                    columns = _leading_two(np.array(sizes), left, shifts, k, first, second)
                    columns[-1] *= chance
                    rows.append(np.concatenate([columns, np.full((1, columns.shape[1]), y)]))
    A, B, C, left_out, weight, y = np.concatenate(rows, axis=1)[:, None]
    a = np.stack([theta * s * A + B, theta * math.sqrt(1 - s**2) * A], axis=-1)
    law = FeatureLaw(a, C[..., None], y, weight, np.zeros((2, 2)), exact=True)
    return SharpLaw(law, left_out)


def _counted(group: int | None) -> np.ndarray:
    """Return how many tokens of each group one token of this group is."""
    return np.array([float(group == i) for i in (0, 1)])


def _leading_two(
    sizes: np.ndarray,
    left: np.ndarray,
    shifts: np.ndarray,
    k: float,
    first: int,
    second: int | None,
) -> np.ndarray:
    """Return A, B, C, the mean weight of other tokens and chances, a row for each.

    They are those of the event that the largest token is of one group, and that the second is
    near it and of another one, or that none is near it.
    """
    g, dg = composite_legendre(np.linspace(-_REACH, _REACH, _PANELS + 1), _PER_PANEL)
    x, dx = np.array([_APART]), np.ones(1)
    if second is not None:
        x, dx = composite_legendre(np.array(_GAPS), _PER_GAP)
    # Noise that a token of each group would have at the second score
    cut = (g + shifts[first])[:, None, None] - (x / k)[:, None] - shifts
    density = (sizes[first] * dg * normal_density(g))[:, None] * dx * np.exp(log_ndtr(cut) @ left)
    a = np.zeros_like(density)  # weight of the second token
    B = g[:, None] + a
    if second is not None:
        a += 1 / (1 + np.exp(x))
        density *= (left[second] + 1) * normal_density(cut[..., second]) / k
        B = (1 - a) * B + a * cut[..., second]
    A = (1 - a) * (first == 0) + a * (second == 0)
    C = np.hypot(1 - a, a)
    # Below a cut c the mean of e^(k (g - c)) is at most phi(c) / (Phi(c) (k - c)), by Mills.
    log_hazard = -0.5 * cut**2 - log_ndtr(cut) - 0.5 * math.log(2 * math.pi)
    hazard = np.exp(log_hazard) / np.maximum(k - cut, 1.0)
    left_out = np.exp(-x) * (hazard @ left)
    rows = np.stack([A, B, C, left_out, density]).reshape(5, -1)
    return rows if second is None else rows[:, rows[-1] > _LEAST]
