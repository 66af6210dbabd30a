"""What the samples do to a readout: means of a loss over the nodes."""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.losses.base import Smoothed
from sparsetoken.losses.compiled import smoothed_at, smoothed_rows
from sparsetoken.theory.covariance.nodes import FeatureNodes
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.potential import worthwhile
from sparsetoken.theory.score_grid import ScoreGrid, ScoreGrids

_LEAST_VARIANCE = 1e-300


class ReadoutState(NamedTuple):
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


class _Points(NamedTuple):
    """Where the loss is averaged, and products of (a, 1, C^2) with the weights there.

    Attributes
    ----------
    means : Smoothed
        Functions of the shape (scrambles or 1, points).
    T : array of that shape
    products : array of shape (scrambles, J + 1 + K, J + 1 + K, points)
    """

    means: Smoothed
    T: np.ndarray
    products: np.ndarray

    def sums(self, functions: list[np.ndarray]) -> np.ndarray:
        """Return sums of the products times each function, (functions, scrambles, N, N)."""
        scrambles, N, _, points = self.products.shape
        flat = self.products.reshape(scrambles, N * N, points)
        found = flat @ np.stack(functions, axis=-1)
        return np.moveaxis(found, -1, 0).reshape(-1, scrambles, N, N)


class LossMeans:
    """E[M_V(m + T g)], its gradient and its Hessian in (p, b, q, chi), for each scramble.

    ``m = <a, p> + b``, ``T^2 = p^T spread p + sum_k C_k^2 q_k`` and
    ``V = mu + sum_k C_k^2 chi_k``; M_V is the Moreau envelope of the loss. Many nodes with two
    directions and one amplitude that varies are moved to a grid of scores and amplitudes.

    Parameters
    ----------
    nodes : FeatureNodes
    loss : Loss
    """

    def __init__(self, nodes: FeatureNodes, loss: Loss) -> None:
        self.nodes, self.loss = nodes, loss
        self._squares = nodes.C**2
        law = _on_a_grid(nodes)
        self._grids = ScoreGrids(law, worthwhile(law, loss)) if law is not None else None

    @functools.cached_property
    def _products(self) -> np.ndarray:
        ones = np.ones((*self.nodes.y.shape, 1))
        F = np.moveaxis(np.concatenate([self.nodes.a, ones, self._squares], axis=2), 2, 1)
        return self.nodes.weight[:, None, None] * F[:, :, None] * F[:, None]

    def _spread(self, squares: np.ndarray, state: ReadoutState, mu: float) -> list[np.ndarray]:
        """Return T and V at squares of amplitudes."""
        shared = float(state.p @ self.nodes.spread @ state.p)
        T = np.sqrt(np.maximum(shared + squares @ state.q, _LEAST_VARIANCE))
        return [T, mu + squares @ state.chi]

    def scores(self, state: ReadoutState, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return m, T and V at each node."""
        T, V = self._spread(self._squares, state, mu)
        return self.nodes.a @ state.p + state.b, T, V

    def _points(self, state: ReadoutState, mu: float) -> _Points:
        for grid in self._grids or ():
            found = self._grid_points(grid, state, mu)
            if found is not None:
                return found
        m, T, V = self.scores(state, mu)
        return _Points(smoothed_at(self.loss, self.nodes.y, m, T, V), T, self._products)

    def _grid_points(self, grid: ScoreGrid, state: ReadoutState, mu: float) -> _Points | None:
        """Return the means on a grid of scores, None where it does not resolve them."""
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
        at = np.repeat(squares, m.shape[1], axis=0).T
        products = np.empty((len(moments), 3 + len(at), 3 + len(at), moments.shape[-1]))
        products[:, :3, :3] = moments
        products[:, :3, 3:] = moments[:, :, 2, None] * at
        products[:, 3:, :3] = np.swapaxes(products[:, :3, 3:], 1, 2)
        products[:, 3:, 3:] = moments[:, 2, 2, None, None] * at[:, None] * at
        widths = np.repeat(T, m.shape[1])[None]
        return _Points(Smoothed(*s.reshape(len(s), 1, -1)), widths, products)

    def at(self, state: ReadoutState, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return value (S,), gradient (S, N) and Hessian (S, N, N), N = J + 1 + 2 K."""
        points, spread = self._points(state, mu), self.nodes.spread
        s, T = points.means, points.T
        J, K = spread.shape[0], self._squares.shape[2]
        # changes of m, of T^2 and of V under a step, as combinations of (a, 1, C^2)
        dm, ds, dv = np.zeros((3, J + 1 + K, J + 1 + 2 * K))
        dm[: J + 1, : J + 1] = np.eye(J + 1)
        ds[J, :J] = 2 * spread @ state.p
        ds[J + 1 :, J + 1 : J + 1 + K] = np.eye(K)
        dv[J + 1 :, J + 1 + K :] = np.eye(K)
        quarter, half = (s.Dgg - s.D) / (4 * T**2), 0.5 / T
        functions = [s.M, s.p, s.pp, s.D, quarter, s.ppD, s.Dg * half, s.pD, s.pDg * half]
        M, p, pp, D, ss, vv, ms, mv, sv = points.sums(functions)
        gradient = p[:, J] @ dm + 0.5 * D[:, J] @ ds - 0.5 * pp[:, J] @ dv
        hessian = dm.T @ D @ dm + ds.T @ ss @ ds + dv.T @ vv @ dv
        cross = dm.T @ ms @ ds - dm.T @ mv @ dv - ds.T @ sv @ dv
        hessian += cross + np.swapaxes(cross, 1, 2)
        hessian[:, :J, :J] += D[:, J, J, None, None] * spread
        return M[:, J, J], gradient, hessian


def _on_a_grid(nodes: FeatureNodes) -> FeatureLaw | None:
    """Return the nodes as a law of two directions and one amplitude, None if they are not."""
    if nodes.exact or nodes.a.shape[2] != 2 or np.ptp(nodes.C[..., 1:], axis=(0, 1)).any():
        return None
    along, across = nodes.a[..., 0], nodes.a[..., 1]
    return FeatureLaw(along, across, nodes.C[..., 0], nodes.y, nodes.weight)
