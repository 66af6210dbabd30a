"""Sums over the many small tokens of a long group, given the largest ones.

Below the smallest token that is drawn, the tokens of a group are independent normals, cut off
there. Sums of functions over them are close to normal; drawn here with exact means, exact
covariances and third cumulants to leading order, by a Cornish-Fisher expansion in several
dimensions (P. McCullagh, Tensor Methods in Statistics, 1987, chapter 5). What is left out are
fourth cumulants: a distribution function moves by about 0.1 over the number of small tokens,
before the larger tokens and the Gaussian width of the score smooth it.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from jaxtyping import Float
from numpy.polynomial import chebyshev
from scipy.special import betaincinv, log_ndtr, ndtri

from sparsetoken.numerics.quadrature import composite_legendre

SUMS = 4  # of w, w g, w^2 and g over the tokens, w being the weight of a token with noise g

_CUTS = 24  # Chebyshev points at which the law of the sums is worked out
_BEYOND = 1e-12  # chance of a cut outside of these points, on each side
_REACH = 9.5  # of normals: P(|g| > REACH) = 2e-21
_HALVINGS, _PER_PANEL = 24, 16  # panels shrink towards a bend, to the width of 1e-6
_DEGENERATE = 1e-10  # share of a function that others do not explain, below which it is rounding
_NO_CHANCE = 1e-30  # of a point, below which rounding rules what is known there

_FIRST, _SECOND = np.triu_indices(SUMS)

Weights = Callable[[np.ndarray, float], np.ndarray]
"""Maps noise g and the cut u to weights relative to a token at the cut."""


class SmallSums:
    """The law of the sums of (w, w g, w^2, g) over all but the largest tokens of a group.

    Equation: small-token-sums. Of `size` tokens so many of the largest are known; weights as a
    function of g may have a kink at the bend.
    """

    def __init__(self, weights: Weights, bend: float, size: int, largest: int) -> None:
        low, high = -ndtri(betaincinv(largest, size - largest + 1, [1 - _BEYOND, _BEYOND]))
        self._middle, self._half = 0.5 * (low + high), 0.5 * (high - low)
        t = chebyshev.chebpts1(_CUTS)
        cuts = self._middle + self._half * t
        table = [_expansion(weights, bend, size - largest, cut).ravel() for cut in cuts]
        self._coefficients = np.linalg.solve(chebyshev.chebvander(t, _CUTS - 1), np.stack(table))

    def at(
        self, cut: Float[np.ndarray, " n"], normals: Float[np.ndarray, "n sums"]
    ) -> Float[np.ndarray, "n sums"]:
        """Return the sums given the least of the known tokens, and independent N(0, 1)."""
        t = np.clip((cut - self._middle) / self._half, -1.0, 1.0)
        rows = chebyshev.chebvander(t, _CUTS - 1) @ self._coefficients
        return np.einsum("np,nps->ns", _polynomials(normals), rows.reshape(len(cut), -1, SUMS))


def _polynomials(z: np.ndarray) -> np.ndarray:
    """Return 1, z_i and z_i z_j less its mean, i <= j."""
    products = z[:, _FIRST] * z[:, _SECOND] - (_FIRST == _SECOND)
    return np.concatenate([np.ones((len(z), 1)), z, products], axis=1)


def _expansion(weights: Weights, bend: float, count: int, cut: float) -> np.ndarray:
    """Return the coefficients of the sums in `_polynomials`, a row for each of those.

    The functions are written as their means and combinations ``root`` of functions that are
    orthonormal below the cut. The sum of those is ``(I + E)^(-1/2) (z + K : (z z^T - I)/6)``
    with their third cumulants K; E = K K^T / 18 is what the quadratic part adds to the variance.
    """
    g, chance = _rule_below(cut, bend)
    w = weights(g, cut)
    functions = np.stack([w, w * g, w**2, g], axis=1)
    mean = chance @ functions
    weighted = np.sqrt(chance)[:, None] * (functions - mean)
    basis = _basis(weighted)
    root = basis.T @ weighted
    orthonormal = basis / np.sqrt(chance)[:, None]
    K = np.einsum("n,na,nb,nc->abc", chance, *[orthonormal] * 3) / math.sqrt(count)
    size, axes = np.linalg.eigh(np.eye(SUMS) + np.einsum("ajk,bjk->ab", K, K) / 18)
    linear = math.sqrt(count) * (axes / np.sqrt(size)) @ axes.T @ root
    pairs = np.where(_FIRST == _SECOND, 1.0, 2.0)[:, None] / 6
    quadratic = pairs * (K[:, _FIRST, _SECOND].T @ linear)
    return np.concatenate([count * mean[None], linear, quadratic])


def _basis(columns: np.ndarray) -> np.ndarray:
    """Orthonormalise columns in their order; one that depends on those before it becomes 0.

    Unlike those of a general factorisation, they are smooth in the cut.
    """
    basis = np.zeros_like(columns)
    for j, column in enumerate(columns.T):
        rest = column - basis @ (basis.T @ column)
        rest -= basis @ (basis.T @ rest)  # what rounding left
        size = np.linalg.norm(rest)
        if size > _DEGENERATE * np.linalg.norm(column):
            basis[:, j] = rest / size
    return basis


def _rule_below(cut: float, bend: float) -> tuple[np.ndarray, np.ndarray]:
    """Return points and chances of a rule for normals below a cut.

    Its panels shrink towards the cut, where sharp weights are large, and towards the bend.
    """
    steps = 2 * _REACH * 0.5 ** np.arange(_HALVINGS)
    near = [side for b in (bend, cut) for side in (b - steps, [b], b + steps)]
    edges = np.unique(np.clip(np.concatenate(near), -_REACH, cut))
    g, dg = composite_legendre(edges, _PER_PANEL)
    log_density = -0.5 * g**2 - 0.5 * math.log(2 * math.pi) - log_ndtr(cut)
    chance = dg * np.exp(log_density)
    kept = chance > _NO_CHANCE
    return g[kept], chance[kept]
