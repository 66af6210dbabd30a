"""What the samples do to a readout: means of a loss over the nodes."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetoken.losses import Loss
from sparsetoken.losses.compiled import smoothed_at
from sparsetoken.theory.covariance.nodes import FeatureNodes

__all__ = ["LossMeans", "ReadoutState"]

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


class LossMeans:
    """E[M_V(m + T g)], its gradient and its Hessian in (p, b, q, chi), for each scramble.

    ``m = <a, p> + b``, ``T^2 = p^T spread p + sum_k C_k^2 q_k`` and
    ``V = mu + sum_k C_k^2 chi_k``; M_V is the Moreau envelope of the loss.

    Parameters
    ----------
    nodes : FeatureNodes
    loss : Loss
    """

    def __init__(self, nodes: FeatureNodes, loss: Loss) -> None:
        self.nodes, self.loss = nodes, loss
        ones = np.ones((*nodes.y.shape, 1))
        self._F = np.concatenate([nodes.a, ones, nodes.C**2], axis=2)
        self._squares = nodes.C**2

    def scores(self, state: ReadoutState, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return m, T and V at each node."""
        m = self.nodes.a @ state.p + state.b
        shared = float(state.p @ self.nodes.spread @ state.p)
        T = np.sqrt(np.maximum(shared + self._squares @ state.q, _LEAST_VARIANCE))
        return m, T, mu + self._squares @ state.chi

    def at(self, state: ReadoutState, mu: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return value (S,), gradient (S, N) and Hessian (S, N, N), N = J + 1 + 2 K."""
        m, T, V = self.scores(state, mu)
        s = smoothed_at(self.loss, self.nodes.y, m, T, V)
        F, spread = self._F, self.nodes.spread
        J, K = spread.shape[0], self._squares.shape[2]
        # changes of m, of T^2 and of V under a step, as combinations of the columns of F
        dm, ds, dv = np.zeros((3, J + 1 + K, J + 1 + 2 * K))
        dm[: J + 1, : J + 1] = np.eye(J + 1)
        ds[J, :J] = 2 * spread @ state.p
        ds[J + 1 :, J + 1 : J + 1 + K] = np.eye(K)
        dv[J + 1 :, J + 1 + K :] = np.eye(K)
        w = self.nodes.weight
        first = np.stack([w * s.p, 0.5 * w * s.D, -0.5 * w * s.pp], axis=1)
        sums = first @ F
        gradient = sums[:, 0] @ dm + sums[:, 1] @ ds + sums[:, 2] @ dv
        mm, ss, vv = s.D, (s.Dgg - s.D) / (4 * T**2), s.ppD
        ms, mv, sv = s.Dg / (2 * T), -s.pD, -s.pDg / (2 * T)
        hessian = np.zeros((len(w), dm.shape[1], dm.shape[1]))
        for left, right, weight in (
            (dm, dm, mm),
            (ds, ds, ss),
            (dv, dv, vv),
            (dm, ds, ms),
            (dm, dv, mv),
            (ds, dv, sv),
        ):
            gram = np.swapaxes(F, 1, 2) @ ((w * weight)[..., None] * F)
            part = left.T @ gram @ right
            hessian += part if left is right else part + np.swapaxes(part, 1, 2)
        hessian[:, :J, :J] += np.sum(w * s.D, axis=1)[:, None, None] * spread
        return np.sum(w * s.M, axis=1), gradient, hessian
