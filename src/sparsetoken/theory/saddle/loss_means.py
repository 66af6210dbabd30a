"""Means of a loss over the nodes, by which the samples act on a readout."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.losses.base import Smoothed
from sparsetoken.losses.gaussian_means import smoothed_at
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.saddle.score_grid import ScoreGrid

_LEAST_VARIANCE = 1e-300
_NARROW = 1e-8  # the root of the rounding of a mean
_MANY = 1024  # nodes from which a grid is less work
_NEAR = 3e-7  # relative: so near the Hessian is that of the last point


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


class LossMeans:
    """E[M_V(m + T g)], its gradient and its Hessian in (p, b, q, chi), for each scramble.

    ``m = <a, p> + b``, ``T^2 = p^T covariance p + sum_k C_k^2 q_k`` and
    ``V = mu + sum_k C_k^2 chi_k``; M_V is the Moreau envelope of the loss. mu >= 0 replaces the
    loss by its own envelope, since the envelope of an envelope adds its parameters; a loss with
    kinks is approached as mu -> 0. Where the mean takes an integral, its values at many nodes are
    interpolated from those on a grid of scores and amplitudes.
    """

    def __init__(self, nodes: FeatureLaw, loss: Loss) -> None:
        self.nodes, self.loss = nodes, loss
        self._squares = nodes.C**2
        # Among sums over points: products of u, and the functions of `_assembled`.
        J, K = nodes.a.shape[2], nodes.C.shape[2]
        u = np.array([*range(J + 1), J, *range(J + 1, J + 1 + K), *range(J + 1, J + 1 + K)])
        kind = np.repeat([0, 1, 2], [J + 1, 1 + K, K])  # (p, b) move m, (t, q) T^2, and chi V
        second = np.array([[4, 5, 6], [5, 7, 8], [6, 8, 9]])[kind[:, None], kind]
        self._of_gradient = slice(None), u, J, 1 + kind
        self._of_hessian = slice(None), u[:, None], u, second
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

    def _spread(
        self, squares: np.ndarray, state: OrderParameters, mu: float
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return T and V at squares of amplitudes."""
        common = float(state.p @ self.nodes.covariance @ state.p)
        T = np.sqrt(np.maximum(common + squares @ state.q, _LEAST_VARIANCE))
        return T, mu + squares @ state.chi

    @functools.cached_property
    def _products(self) -> np.ndarray:
        """Weights of nodes times products of pairs of ``u = (a, 1, C^2)``: (S, N * N, nodes)."""
        nodes = self.nodes
        u = np.concatenate([nodes.a, np.ones((*nodes.y.shape, 1)), self._squares], axis=2)
        u = np.moveaxis(u, 2, 1)
        products = nodes.weight[:, None, None] * u[:, :, None] * u[:, None]
        return products.reshape(len(u), -1, nodes.y.shape[1])

    @functools.cached_property
    def _grid(self) -> ScoreGrid | None:
        """A grid for the nodes, where it is less work than all of them."""
        nodes, varies = self.nodes, np.ptp(self.nodes.C, axis=(0, 1)) > 0
        few = nodes.exact or nodes.y.size <= _MANY or not self.loss.integrates
        if few or varies[1:].any() or not nodes.C[..., 0].all() or (np.abs(nodes.y) != 1).any():
            return None
        return ScoreGrid(nodes.y, nodes.C[..., 0])

    def _at(self, state: OrderParameters, mu: float) -> Means:
        def spread(C: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            others = np.tile(self._squares[0, 0, 1:], (len(C), 1))
            return self._spread(np.column_stack([C**2, others]), state, mu)

        m, T, V = self.scores(state, mu)
        smoothed = None if self._grid is None else self._grid.smoothed(self.loss, m, spread)
        if smoothed is None:
            smoothed = smoothed_at(self.loss, self.nodes.y, m, T, V)
        return self._assembled(state, smoothed, T)

    def _assembled(self, state: OrderParameters, s: Smoothed, T: np.ndarray) -> Means:
        """Add up over nodes.

        A unit step of (p, b) changes m by (a, 1), one of (t, q) changes T^2 by (1, C^2), and one of
        chi changes V by C^2; t = p^T covariance p moves with p.
        """
        covariance = self.nodes.covariance
        J, n = len(covariance), len(covariance) + 1 + self.nodes.C.shape[2]
        # second differences in T are rounding where it is so narrow
        half = np.where(T > _NARROW, 0.5 / T, 0.0)
        by_m, by_t = [s.D, s.Dg * half, -s.pD], [(s.Dgg - s.D) * half**2, -s.pDg * half]
        functions = np.array([s.M, s.p, 0.5 * s.D, -0.5 * s.pp, *by_m, *by_t, s.ppD])
        sums = self._products @ functions.transpose(1, 2, 0)
        sums = sums.reshape(len(sums), n, n, -1)
        gradient, hessian = sums[self._of_gradient], sums[self._of_hessian]
        turn = np.insert(np.eye(gradient.shape[1] - 1), J + 1, 0.0, axis=0)
        turn[J + 1, :J] = 2 * covariance @ state.p
        by_common = 2 * gradient[:, J + 1, None, None] * covariance
        gradient, hessian = gradient @ turn, turn.T @ hessian @ turn
        hessian[:, :J, :J] += by_common
        return Means(sums[:, J, J, 0], gradient, hessian)
