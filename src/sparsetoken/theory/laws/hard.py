"""The features of hard attention: the token with the largest score."""

from __future__ import annotations

import math

import numpy as np
from scipy.special import log_ndtr

from sparsetoken.models import Model
from sparsetoken.numerics.quadrature import legendre
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Query
from sparsetoken.theory.feature_law import FeatureLaw

_REACH = 8.5  # of normals; the largest of L has a tail of L times 1e-17 beyond
_PANELS, _PER_PANEL = 24, 14


def hard_law(model: Model, problem: SparseTokenProblem, query: Query, points: int) -> FeatureLaw:
    """Return the law of the token with the largest projection on the query.

    Equation: hard-attention-law, the limit of infinite sharpness of feature-law: C = 1, and
    (A, B) is the group of the winning token with its noise. With Phi and phi of the normal law,
    a token of a group of n tokens wins against m others, which have the advantage u, at noise
    in db with chance ``n phi(b) Phi(b)^(n-1) Phi(b - u)^m db``. Positives have the groups of R
    and L - R tokens with u = -+ theta s; negatives one group of L.

    The nodes are those of a Gauss rule in b, whose chances add up to within 1e-11 for every
    length up to 2^20.
    """
    pi, theta, R, L = problem.letters
    s = query.cosine
    shift = theta * s
    groups = [
        (1.0, 1.0, pi, _winner(R, L - R, -shift)),
        (1.0, 0.0, pi, _winner(L - R, R, shift)),
        (-1.0, 0.0, 1 - pi, _winner(L, 0, 0.0)),
    ]
    y, A, weight = (np.concatenate(c) for c in zip(*(_columns(*g) for g in groups), strict=True))
    B = np.tile(_rule()[0], 3)
    return FeatureLaw(
        along=(theta * s * A + B)[None],
        across=(theta * math.sqrt(1 - s**2) * A)[None],
        C=np.ones((1, B.size)),
        y=y[None],
        weight=weight[None],
        exact=True,
    )


def _columns(
    y: float, A: float, chance: float, density: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    return np.full(density.size, y), np.full(density.size, A), chance * density


def _winner(n: int, m: int, u: float) -> np.ndarray:
    """Return the chances that one of n tokens wins against m others, at each node."""
    b, db = _rule()
    if n == 0:
        return np.zeros_like(b)
    log_density = -0.5 * b**2 - 0.5 * math.log(2 * math.pi)
    others = (n - 1) * log_ndtr(b) + m * log_ndtr(b - u)
    return n * db * np.exp(log_density + others)


def _rule() -> tuple[np.ndarray, np.ndarray]:
    """Return a composite Gauss rule on [-REACH, REACH]."""
    x, w = legendre(_PER_PANEL)
    edges = np.linspace(-_REACH, _REACH, _PANELS + 1)
    half = 0.5 * np.diff(edges)[:, None]
    return (0.5 * (edges[1:] + edges[:-1])[:, None] + half * x).ravel(), (half * w).ravel()
