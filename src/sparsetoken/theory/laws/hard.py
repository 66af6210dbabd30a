"""The features of hard attention."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.numerics.quadrature import composite_legendre, normal_density
from sparsetoken.theory.laws.feature_law import FeatureLaw

_REACH = 8.5  # of normals; the largest of L has a tail of L times 1e-17 beyond
_PANELS, _PER_PANEL = 24, 14


def hard_law(problem: SparseTokenProblem, query: Query) -> FeatureLaw:
    """Return the law of the token with the largest projection on the query.

    Equation: hard-attention-law, the limit of infinite sharpness of feature-law: C = 1, and
    (A, B) is the group of the winning token with its noise. With Phi and phi of the normal law,
    a token of group i with n_i tokens, whose projections are N(u_i, 1), wins at noise in db with
    chance ``n_i phi(b) Phi(b)^(n_i - 1) Phi(b + u_i - u_j)^(n_j) db``. Positives have the groups
    of R and L - R tokens with u = theta s and 0; negatives one group of L.

    The nodes are those of a Gauss rule in b, whose chances add up to within 1e-11 for every
    length up to 2^20.
    """
    pi, theta, R, L = problem.letters
    s = query.cosine
    shifts = np.array([theta * s, 0.0])
    b, db = composite_legendre(np.linspace(-_REACH, _REACH, _PANELS + 1), _PER_PANEL)
    rows = []
    for y, chance, sizes in ((1.0, pi, (R, L - R)), (-1.0, 1 - pi, (0, L))):
        for i, size in enumerate(sizes):
            if size == 0:
                continue
            others = np.array(sizes) - np.eye(2)[i]
            # Of a token of each group, the chance that its projection is below the winner's.
            log_below = log_ndtr((b + shifts[i])[:, None] - shifts)
            density = size * normal_density(b) * np.exp(log_below @ others)
            A = np.full_like(b, float(i == 0))
            rows.append(np.stack([A, b, chance * density * db, np.full_like(b, y)]))
    A, B, weight, y = np.concatenate(rows, axis=1)[:, None]
    a = np.stack([theta * s * A + B, theta * math.sqrt(1 - s**2) * A], axis=-1)
    C = np.ones((*A.shape, 1))
    return FeatureLaw(a, C, y, weight, np.zeros((2, 2)), exact=True)
