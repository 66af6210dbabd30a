"""Traces and quadratic forms of the covariances of the features.

With ``H = ridge I + sum_k kappa_k G_k`` the readout depends on the covariances through the
function ``F = eta^T M^T H^-1 M eta / 2 + sum_k rho_k tr(G_k H^-1) / (2 n)``, its gradient and
its Hessian alone.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.theory.spectrum import LEAST_EIGENVALUE


class Pull(NamedTuple):
    """What the samples do to the readout.

    They pull along the fixed directions by eta, of shape (J,), and against the noise by the
    curvatures kappa >= 0; rho, of shape (K,) as these, are mean squares of the forces, r_k^2.
    """

    eta: np.ndarray
    kappa: np.ndarray
    rho: np.ndarray


class Response(NamedTuple):
    """What the readout becomes under a pull, (M^T w, 0, w^T G_k w, n chi_k), of shape (N,).

    The Jacobian has the derivatives of these N = J + 1 + 2 K numbers in (eta, 0, kappa, rho); the
    0 stands in the place of the bias.
    """

    value: np.ndarray
    jacobian: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Directions:
    """Columns of M, of which some may be random.

    Attributes
    ----------
    mean : array of shape (d, J)
    scatter : mapping from pairs (i, j), i <= j, to arrays of shape (d,)
        The diagonal of E[m_i m_j^T] - mean, where columns have an independent Gaussian part.
    """

    mean: Float[np.ndarray, "d J"]
    scatter: Mapping[tuple[int, int], np.ndarray] = dataclasses.field(default_factory=dict)


def assembled(
    pull: Pull,
    forms: tuple[np.ndarray, np.ndarray, np.ndarray],
    traces: tuple[np.ndarray, np.ndarray],
    n: float,
    removed: np.ndarray | None,
) -> Response:
    """Put gradient and Hessian of F together.

    `forms` are ``M^T H^-1 M``, ``M^T H^-1 G_k H^-1 M eta`` (K, J) and, of shape (K, K),
    ``eta^T M^T H^-1 G_k H^-1 G_l H^-1 M eta + sum_m rho_m tr(G_m H^-1 G_k H^-1 G_l H^-1) / n``;
    `traces` are those of the products of one and two factors ``G_k H^-1``.
    """
    eta, _, rho = pull
    A, along, bent = forms
    one, two = traces
    J, K = len(eta), len(rho)
    p, q, chi = slice(J), slice(J + 1, J + 1 + K), slice(J + 1 + K, None)
    value, jacobian = np.zeros(J + 1 + 2 * K), np.zeros((J + 1 + 2 * K, J + 1 + 2 * K))
    value[p] = A @ eta
    jacobian[p, q] = -along.T
    if removed is not None:
        turned = removed @ value[p]
        bent = bent - turned @ along.T
        along = along - turned @ A  # before eta: what is equal leaves no rounding
    value[q], value[chi] = along @ eta + two @ rho / n, one
    jacobian[p, p], jacobian[q, p], jacobian[q, q] = A, 2 * along, -2 * bent
    jacobian[q, chi], jacobian[chi, q] = two / n, -two
    return Response(value, jacobian)


class Covariances:
    """The covariances G_k of the noise and the fixed directions M of the features.

    They have common eigenvectors, in whose coordinates all is given: O(d) a step. M may have more
    columns than the features: those are asked for by `overlaps` alone.
    """

    def __init__(self, eigenvalues: Float[np.ndarray, "K d"], directions: Directions) -> None:
        self.eigenvalues, self.directions = eigenvalues, directions
        self.count, self.dimension = eigenvalues.shape
        M = directions.mean
        self._products = np.einsum("di,dj->ijd", M, M)
        for (i, j), Q in directions.scatter.items():
            self._products[i, j] += Q
            if i != j:
                self._products[j, i] += Q

    def _inverse(self, pull: Pull, ridge: float) -> np.ndarray:
        return 1 / (ridge + pull.kappa @ self.eigenvalues)

    def response(
        self, pull: Pull, ridge: float, n: float, removed: np.ndarray | None = None
    ) -> Response:
        """Return the readout under a pull, with as many directions J as the pull has.

        Where something is `removed`, of shape (K, J, J), the norms are those of the covariances
        ``G_k - M removed_k M^T``.
        """
        eta, J = pull.eta, len(pull.eta)
        h = self._inverse(pull, ridge)
        scaled = self.eigenvalues * h  # eigenvalues of G_k H^-1
        A = self._products[:J, :J] @ h
        pulled = (eta @ self._products[:J, :J]) * h
        bent = (scaled * (eta @ pulled + pull.rho @ scaled / n)) @ scaled.T
        traces = scaled.sum(axis=1), scaled @ scaled.T
        return assembled(pull, (A, scaled @ pulled.T, bent), traces, n, removed)

    def overlaps(self, pull: Pull, ridge: float) -> np.ndarray:
        """Return M^T w for all columns of M."""
        h = self._inverse(pull, ridge)
        return (self._products[:, : len(pull.eta)] @ h) @ pull.eta

    def norms(
        self, pull: Pull, ridge: float, n: float, others: Float[np.ndarray, "m d"]
    ) -> np.ndarray:
        """Return w^T G w for other covariances G with the same eigenvectors."""
        h, J = self._inverse(pull, ridge), len(pull.eta)
        spread = h**2 * (pull.rho @ self.eigenvalues) / n
        weights = np.einsum("i,ijd,j->d", pull.eta, self._products[:J, :J], pull.eta)
        return np.asarray(others @ (h**2 * weights + spread))

    def gram(self, J: int) -> np.ndarray:
        """Return M^T M of the first J directions."""
        return np.asarray(self._products[:J, :J].sum(axis=-1))

    @property
    def traces(self) -> np.ndarray:
        """The trace of each covariance."""
        return self.eigenvalues.sum(axis=1)

    @property
    def largest(self) -> np.ndarray:
        """The largest eigenvalue of each, or a bound on it."""
        return self.eigenvalues.max(axis=1)

    @property
    def inverts(self) -> bool:
        """Whether their sum has an inverse."""
        total = self.eigenvalues.sum(axis=0)
        return bool(total.min() > LEAST_EIGENVALUE * total.max())
