"""Means of a loss over the nodes, by which the samples act on a readout."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.losses.base import Smoothed
from sparsetoken.losses.compiled import smoothed_at, smoothed_rows
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.readout.nodes import FeatureNodes
from sparsetoken.theory.score_grid import (
    COARSE,
    FINE,
    MIDDLE,
    PLAIN,
    GridShape,
    ScoreGrid,
    ScoreGrids,
)

_LEAST_VARIANCE = 1e-300
_NARROW = 1e-8  # the root of the rounding of a mean
_NEAR = 3e-6  # relative: no farther than the last Newton step goes, in squares of norms
# nodes from which a grid is less work, and from which the finer grid is, in any case
_MANY, _VERY_MANY = 1024, 2**14


class OrderParameters(NamedTuple):
    """The few numbers of a readout that its scores depend on.

    Attributes
    ----------
    p : array of shape (J,), M^T w
    b : float
    q : array of shape (K,), nu_k^2 = w^T G_k w
    chi : array of shape (K,)
    """

    p: np.ndarray
    b: float
    q: np.ndarray
    chi: np.ndarray

    @property
    def vector(self) -> np.ndarray:
        """All of them, in this order."""
        return np.concatenate([self.p, [self.b], self.q, self.chi])


class Means(NamedTuple):
    """Mean envelope of the loss for each scramble, its gradient and its Hessian in the state."""

    value: np.ndarray
    gradient: np.ndarray
    hessian: np.ndarray

    def moved(self, step: np.ndarray) -> Means:
        """Return the means a small step away, to second order in value, first in gradient."""
        change = self.hessian @ step
        value = self.value + self.gradient @ step + 0.5 * change @ step
        return Means(value, self.gradient + change, self.hessian)


class _Products(NamedTuple):
    """Weight of each point times products of ``A = (a, 1)`` and ``B = (1, C^2)``.

    All have the shape (scrambles, J + 1 or K + 1, J + 1 or K + 1, points).
    """

    AA: np.ndarray
    AB: np.ndarray
    BB: np.ndarray

    @classmethod
    def of_moments(cls, AA: np.ndarray, squares: np.ndarray) -> _Products:
        """Return them for products of A, the last of which is 1, and C^2 of shape (..., K)."""
        squares = np.moveaxis(squares, -1, -2)
        B = np.concatenate([np.ones_like(squares[..., :1, :]), squares], axis=-2)
        AB = AA[:, :, -1, None] * B[..., None, :, :]
        return cls(AA, AB, AB[:, -1, :, None] * B[..., None, :, :])


def _sums(products: np.ndarray, functions: list[np.ndarray]) -> np.ndarray:
    """Return sums over points of products times each function, (functions, scrambles, i, j)."""
    scrambles, rows, columns, points = products.shape
    flat = products.reshape(scrambles, rows * columns, points)
    sums = flat @ np.stack(functions, axis=-1)
    return np.moveaxis(sums, -1, 0).reshape(-1, scrambles, rows, columns)


class LossMeans:
    """E[M_V(m + T g)], its gradient and its Hessian in (p, b, q, chi), for each scramble.

    ``m = <a, p> + b``, ``T^2 = p^T covariance p + sum_k C_k^2 q_k`` and
    ``V = mu + sum_k C_k^2 chi_k``; M_V is the Moreau envelope of the loss. mu >= 0 replaces the
    loss by its own envelope, since the envelope of an envelope adds its parameters; a loss with
    kinks is approached as mu -> 0. Many nodes with two directions and one amplitude that varies
    are moved to a grid of scores and amplitudes.
    """

    def __init__(self, nodes: FeatureNodes, loss: Loss) -> None:
        self.nodes, self.loss = nodes, loss
        self._squares = nodes.C**2
        law = _on_a_grid(nodes)
        self._grids = None if law is None else ScoreGrids(law, worthwhile(law, loss))
        self._last: tuple[np.ndarray, float, Means] | None = None

    def at(self, state: OrderParameters, mu: float) -> Means:
        """Return value (S,), gradient (S, N) and Hessian (S, N, N), N = J + 1 + 2 K.

        The last answer is kept, so that a solution is evaluated once for all that follows.
        One that is a last Newton step away is reached from it by Taylor's formula.
        """
        x = state.vector
        if self._last is not None and self._last[1] == mu:
            step = x - self._last[0]
            if not step.any():
                return self._last[2]
            if np.all(np.abs(step) <= _NEAR * np.abs(x)):
                return self._last[2].moved(step)
        means = self._at(state, mu)
        self._last = x, mu, means
        return means

    def scores(
        self, state: OrderParameters, mu: float
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return m, T and V at each node."""
        T, V = self._spread(self._squares, state, mu)
        return self.nodes.a @ state.p + state.b, T, V

    def _spread(self, squares: np.ndarray, state: OrderParameters, mu: float) -> list[np.ndarray]:
        """Return T and V at squares of amplitudes."""
        common = float(state.p @ self.nodes.covariance @ state.p)
        T = np.sqrt(np.maximum(common + squares @ state.q, _LEAST_VARIANCE))
        return [T, mu + squares @ state.chi]

    @functools.cached_property
    def _products(self) -> _Products:
        nodes = self.nodes
        A = np.moveaxis(np.concatenate([nodes.a, np.ones((*nodes.y.shape, 1))], axis=2), 2, 1)
        AA = nodes.weight[:, None, None] * A[:, :, None] * A[:, None]
        return _Products.of_moments(AA, self._squares)

    def _at(self, state: OrderParameters, mu: float) -> Means:
        for grid in self._grids or ():
            means = self._on(grid, state, mu)
            if means is not None:
                return means
        m, T, V = self.scores(state, mu)
        return self._assembled(
            state, self._products, smoothed_at(self.loss, self.nodes.y, m, T, V), T
        )

    def _on(self, grid: ScoreGrid, state: OrderParameters, mu: float) -> Means | None:
        """Return the means from a grid of scores, None where it does not resolve them."""
        views = grid.views(np.append(state.p, state.b))
        if views is None:
            return None
        y, m, C = (np.concatenate(parts) for parts in zip(*(v.rows for v in views), strict=True))
        squares = np.column_stack([C**2, np.tile(self._squares[0, 0, 1:], (len(C), 1))])
        T, V = self._spread(squares, state, mu)
        s = smoothed_rows(self.loss, y, m, T, V)
        assert self._grids is not None
        if not self._grids.resolves(grid, s.reshape(len(s), len(views), -1, s.shape[2])):
            return None
        moments = np.concatenate([view.moments for view in views], axis=-1)
        products = _Products.of_moments(moments, np.repeat(squares, m.shape[1], axis=0))
        widths = np.repeat(T, m.shape[1])[None]
        return self._assembled(state, products, Smoothed(*s.reshape(len(s), 1, -1)), widths)

    def _assembled(
        self, state: OrderParameters, products: _Products, s: Smoothed, T: np.ndarray
    ) -> Means:
        """Add up over points, whose functions have the shape (scrambles or 1, points).

        A unit step of (p, b) changes m by A, one of q changes T^2 by C^2, one of chi changes V
        by C^2, and one of p also T^2, by `turn` = 2 covariance p.
        """
        covariance = self.nodes.covariance
        J, K = len(covariance), self._squares.shape[2]
        ab, p, q, chi = slice(J + 1), slice(J), slice(J + 1, J + 1 + K), slice(J + 1 + K, None)
        # second differences in T are rounding where it is so narrow
        half = np.where(T > _NARROW, 0.5 / T, 0.0)
        quarter = (s.Dgg - s.D) * half**2
        (mm,) = _sums(products.AA, [s.D])
        slope, ms, mv = _sums(products.AB, [s.p, s.Dg * half, s.pD])
        M, D, pp, ss, vv, sv = _sums(products.BB, [s.M, s.D, s.pp, quarter, s.ppD, s.pDg * half])
        N = J + 1 + 2 * K
        gradient, hessian = np.zeros((len(M), N)), np.zeros((len(M), N, N))
        gradient[:, ab] = slope[:, :, 0]
        gradient[:, q] = 0.5 * D[:, 0, 1:]
        gradient[:, chi] = -0.5 * pp[:, 0, 1:]
        hessian[:, ab, ab] = mm
        hessian[:, q, q], hessian[:, chi, chi] = ss[:, 1:, 1:], vv[:, 1:, 1:]
        hessian[:, ab, q], hessian[:, ab, chi] = ms[:, :, 1:], -mv[:, :, 1:]
        hessian[:, q, chi] = -sv[:, 1:, 1:]
        if covariance.any():
            turn = 2 * covariance @ state.p
            mean = D[:, 0, 0, None]
            gradient[:, p] += 0.5 * mean * turn
            both = ms[:, :J, 0, None] * turn
            hessian[:, p, p] += both + np.swapaxes(both, 1, 2)
            hessian[:, p, p] += ss[:, 0, 0, None, None] * np.outer(turn, turn)
            hessian[:, p, p] += mean[:, :, None] * covariance
            hessian[:, p, J] += ms[:, J, 0, None] * turn
            hessian[:, J, p] = hessian[:, p, J]
            hessian[:, p, q] += turn[:, None] * ss[:, 0, None, 1:]
            hessian[:, p, chi] -= turn[:, None] * sv[:, 0, None, 1:]
        hessian[:, q, ab] = np.swapaxes(hessian[:, ab, q], 1, 2)
        hessian[:, chi, ab] = np.swapaxes(hessian[:, ab, chi], 1, 2)
        hessian[:, chi, q] = np.swapaxes(hessian[:, q, chi], 1, 2)
        return Means(M[:, 0, 0], gradient, hessian)


def _on_a_grid(nodes: FeatureNodes) -> FeatureLaw | None:
    """Return the nodes as a law of two directions and one amplitude, None if they are not."""
    if nodes.exact or nodes.a.shape[2] != 2 or np.ptp(nodes.C[..., 1:], axis=(0, 1)).any():
        return None
    along, across = nodes.a[..., 0], nodes.a[..., 1]
    return FeatureLaw(along, across, nodes.C[..., 0], nodes.y, nodes.weight)


def worthwhile(law: FeatureLaw, loss: Loss) -> list[GridShape]:
    """Return the grids that may resolve the means at less work than a sum over nodes."""
    shapes = []
    if loss.integrates and law.C.size > _MANY and law.C.all():  # log C
        shapes += [COARSE, PLAIN, MIDDLE]
    if loss.integrates and law.C.size > (_MANY if loss.strip > 0 else _VERY_MANY):
        shapes.append(FINE)
    return shapes
