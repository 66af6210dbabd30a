"""Traces and quadratic forms of the covariances of the features.

With ``H = ridge I + sum_k kappa_k G_k`` the readout depends on the covariances through the
function ``F = eta^T M^T H^-1 M eta / 2 + sum_k rho_k tr(G_k H^-1) / (2 n)``, its gradient and
its Hessian alone.
"""

from __future__ import annotations

import abc
import dataclasses
import itertools
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy import linalg

LEAST_EIGENVALUE = 1e-12  # relative: a smaller one is none
_COMMUTE = 1e-12  # relative: below rounding of what a user computes


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
    scatter : mapping from pairs (i, j), i <= j, to arrays of shape (d,) or (d, d)
        E[m_i m_j^T] - mean, where columns have an independent Gaussian part; a vector is
        the diagonal of the matrix.
    """

    mean: Float[np.ndarray, "d J"]
    scatter: Mapping[tuple[int, int], np.ndarray] = dataclasses.field(default_factory=dict)

    def rotated(self, basis: Float[np.ndarray, "d d"]) -> Directions:
        """Return the products of the columns of a basis with the directions."""
        turned = {
            pair: basis.T @ (Q[:, None] * basis if Q.ndim == 1 else Q @ basis)
            for pair, Q in self.scatter.items()
        }
        return Directions(basis.T @ self.mean, turned)


class Covariances(abc.ABC):
    """The covariances G_k of the noise and the fixed directions M of the features.

    There are `count` covariances. M may have more columns than the features: those are asked for by
    `overlaps` alone.
    """

    directions: Directions
    dimension: int
    count: int

    @abc.abstractmethod
    def response(
        self, pull: Pull, ridge: float, n: float, removed: np.ndarray | None = None
    ) -> Response:
        """Return the readout under a pull, with as many directions J as the pull has.

        Where something is `removed`, of shape (K, J, J), the norms are those of the covariances
        ``G_k - M removed_k M^T``.
        """

    @abc.abstractmethod
    def overlaps(self, pull: Pull, ridge: float) -> np.ndarray:
        """Return M^T w for all columns of M."""

    @abc.abstractmethod
    def norms(self, pull: Pull, ridge: float, n: float, others: np.ndarray) -> np.ndarray:
        """Return w^T G w for other covariances G, of shape (m, d, d), or (m, d) if diagonal.

        They are in the coordinates that the covariances were given in.
        """

    @property
    @abc.abstractmethod
    def traces(self) -> np.ndarray:
        """The trace of each covariance."""

    @property
    @abc.abstractmethod
    def largest(self) -> np.ndarray:
        """The largest eigenvalue of each, or a bound on it."""

    def commuting(self) -> Covariances:
        """Return covariances with common eigenvectors that stand for these, to start from."""
        return self

    @abc.abstractmethod
    def gram(self, J: int) -> np.ndarray:
        """Return M^T M of the first J directions."""

    @property
    @abc.abstractmethod
    def inverts(self) -> bool:
        """Whether their sum has an inverse."""


def _assembled(
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


class CommutingCovariances(Covariances):
    """Covariances with common eigenvectors, the columns of a basis: each step costs O(d).

    The directions are in the coordinates of the eigenvectors. Without a basis these are those in
    which all covariances are given.
    """

    def __init__(
        self,
        eigenvalues: Float[np.ndarray, "K d"],
        directions: Directions,
        basis: Float[np.ndarray, "d d"] | None = None,
    ) -> None:
        self.eigenvalues, self.directions, self._basis = eigenvalues, directions, basis
        self.count, self.dimension = eigenvalues.shape
        M = directions.mean
        J = M.shape[1]
        self._products = np.einsum("di,dj->ijd", M, M)
        for (i, j), Q in directions.scatter.items():
            diagonal = Q if Q.ndim == 1 else np.diagonal(Q)
            self._products[i, j] += diagonal
            if i != j:
                self._products[j, i] += diagonal
        self._pairs = self._products.reshape(J * J, -1)

    def _inverse(self, pull: Pull, ridge: float) -> np.ndarray:
        return 1 / (ridge + pull.kappa @ self.eigenvalues)

    def response(
        self, pull: Pull, ridge: float, n: float, removed: np.ndarray | None = None
    ) -> Response:
        eta, J = pull.eta, len(pull.eta)
        h = self._inverse(pull, ridge)
        scaled = self.eigenvalues * h  # eigenvalues of G_k H^-1
        A = self._products[:J, :J] @ h
        pulled = (eta @ self._products[:J, :J]) * h
        bent = (scaled * (eta @ pulled + pull.rho @ scaled / n)) @ scaled.T
        traces = scaled.sum(axis=1), scaled @ scaled.T
        return _assembled(pull, (A, scaled @ pulled.T, bent), traces, n, removed)

    def overlaps(self, pull: Pull, ridge: float) -> np.ndarray:
        h = self._inverse(pull, ridge)
        return (self._products[:, : len(pull.eta)] @ h) @ pull.eta

    def norms(self, pull: Pull, ridge: float, n: float, others: np.ndarray) -> np.ndarray:
        """Return w^T G w; of matrices only the diagonal among the eigenvectors enters traces."""
        h, J = self._inverse(pull, ridge), len(pull.eta)
        spread = h**2 * (pull.rho @ self.eigenvalues) / n
        if others.ndim == 2 and self._basis is None:
            weights = np.einsum("i,ijd,j->d", pull.eta, self._products[:J, :J], pull.eta)
            return others @ (h**2 * weights + spread)
        turned = np.array([_turned(G, self._basis) for G in others])
        w = h * (self.directions.mean[:, :J] @ pull.eta)
        norms = np.einsum("d,kde,e->k", w, turned, w)
        norms += np.einsum("kdd,d->k", turned, spread)
        for (i, j), Q in self.directions.scatter.items():
            if j < J:
                twice = 1.0 if i == j else 2.0
                full = np.diag(Q) if Q.ndim == 1 else Q
                norms += (
                    twice
                    * pull.eta[i]
                    * pull.eta[j]
                    * np.einsum("kde,de->k", turned, h[:, None] * full * h)
                )
        return norms

    def gram(self, J: int) -> np.ndarray:
        return np.asarray(self._products[:J, :J].sum(axis=-1))

    @property
    def traces(self) -> np.ndarray:
        return self.eigenvalues.sum(axis=1)

    @property
    def largest(self) -> np.ndarray:
        return self.eigenvalues.max(axis=1)

    @property
    def inverts(self) -> bool:
        return _positive(self.eigenvalues.sum(axis=0))


def _turned(G: np.ndarray, basis: np.ndarray | None) -> np.ndarray:
    full = np.diag(G) if G.ndim == 1 else G
    return full if basis is None else basis.T @ full @ basis


class FullCovariances(Covariances):
    """Covariances that need not commute: each step takes one factorisation of H."""

    def __init__(self, matrices: Float[np.ndarray, "K d d"], directions: Directions) -> None:
        self.count, self.dimension = matrices.shape[:2]
        # In the eigenvectors of the first all products with it are scalings.
        diagonal = np.diagonal(matrices[0])
        if np.array_equal(matrices[0], np.diag(diagonal)):
            self._first, self._basis = diagonal.copy(), np.eye(self.dimension)
        else:
            self._first, self._basis = linalg.eigh(matrices[0], check_finite=False)
        self._rest = [self._basis.T @ G @ self._basis for G in matrices[1:]]
        self.directions = directions.rotated(self._basis)
        self._last: tuple[bytes, np.ndarray] | None = None
        self._answer: tuple[bytes, Response] | None = None

    def _inverse(self, pull: Pull, ridge: float) -> np.ndarray:
        """Return H^-1; the last one is kept, since a solution is asked about more than once."""
        key = np.append(pull.kappa, ridge).tobytes()
        if self._last is None or self._last[0] != key:
            self._last = key, self._inverse_of(pull, ridge)
        return self._last[1]

    def _inverse_of(self, pull: Pull, ridge: float) -> np.ndarray:
        H = np.diag(ridge + pull.kappa[0] * self._first)
        for kappa, G in zip(pull.kappa[1:], self._rest, strict=True):
            H += kappa * G
        factor, info = linalg.lapack.dpotrf(H, lower=1, overwrite_a=1)
        if info:
            return np.full_like(H, np.nan)
        inverse, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        return np.tril(inverse) + np.tril(inverse, -1).T

    def _form(self, F: np.ndarray, J: int, columns: int) -> np.ndarray:
        """Return M^T F M for a symmetric F, for the first J times the first few columns."""
        M = self.directions.mean
        A = M[:, :J].T @ F @ M[:, :columns]
        for (i, j), Q in self.directions.scatter.items():
            value = np.vdot(F, Q)
            if i < J and j < columns:
                A[i, j] += value
            if i != j and j < J and i < columns:
                A[j, i] += value
        return A

    def response(
        self, pull: Pull, ridge: float, n: float, removed: np.ndarray | None = None
    ) -> Response:
        key = np.concatenate([*pull, [ridge, n]]).tobytes()
        if self._answer is None or self._answer[0] != key:
            self._answer = key, self._response(pull, ridge, n, removed)
        return self._answer[1]

    def _response(self, pull: Pull, ridge: float, n: float, removed: np.ndarray | None) -> Response:
        eta, J, K = pull.eta, len(pull.eta), self.count
        inverse = self._inverse(pull, ridge)
        R = [self._first[:, None] * inverse, *(G @ inverse for G in self._rest)]  # G_k H^-1
        one = np.array([np.trace(r) for r in R])
        two, three = np.empty((K, K)), np.empty((K, K, K))
        along, curved = np.empty((K, J)), np.empty((K, K))
        M = self.directions.mean[:, :J]
        moved = inverse @ M
        pulled = [r @ (M @ eta) for r in R]  # G_k H^-1 M eta
        some = self.directions.scatter.items()
        noise = {p: (inverse @ Q.T, inverse @ Q) for p, Q in some if max(p) < J}
        for k in range(K):
            along[k] = pulled[k] @ moved + _traced(R[k], noise, eta)
            for m in range(k, K):
                two[k, m] = two[m, k] = float(np.vdot(R[k].T, R[m]))
                bent = pulled[k] @ inverse @ pulled[m]
                if k == m or noise or K > 2:
                    product = R[k] @ R[m]
                    bent += eta @ _traced(product, noise, eta)
                    # tr(G_j H^-1 G_k H^-1 G_m H^-1) is the same in every order; with two
                    # covariances, two of three are always equal
                    for j in range(K):
                        value = float(np.vdot(R[j].T, product))
                        for place in itertools.permutations((j, k, m)):
                            three[place] = value
                curved[k, m] = curved[m, k] = bent
        forms = self._form(inverse, J, J), along, curved + three @ pull.rho / n
        return _assembled(pull, forms, (one, two), n, removed)

    def overlaps(self, pull: Pull, ridge: float) -> np.ndarray:
        columns = self.directions.mean.shape[1]
        return self._form(self._inverse(pull, ridge), columns, len(pull.eta)) @ pull.eta

    def norms(self, pull: Pull, ridge: float, n: float, others: np.ndarray) -> np.ndarray:
        inverse, eta = self._inverse(pull, ridge), pull.eta
        w = inverse @ (self.directions.mean[:, : len(eta)] @ eta)
        spread = np.diag(pull.rho[0] * self._first)
        for rho, G in zip(pull.rho[1:], self._rest, strict=True):
            spread += rho * G
        spread = inverse @ spread @ inverse / n
        some = self.directions.scatter.items()
        noise = {p: (inverse @ Q.T, inverse @ Q) for p, Q in some if max(p) < len(eta)}
        norms = []
        for G in others:
            turned = _turned(G, self._basis)
            value = w @ turned @ w + np.vdot(spread, turned)
            value += eta @ _traced(turned @ inverse, noise, eta)
            norms.append(float(value))
        return np.array(norms)

    def commuting(self) -> CommutingCovariances:
        values = np.array([self._first, *(np.diagonal(G) for G in self._rest)])
        return CommutingCovariances(np.maximum(values, 0.0), self.directions)

    def gram(self, J: int) -> np.ndarray:
        return self._form(np.eye(self.dimension), J, J)

    @property
    def traces(self) -> np.ndarray:
        return np.array([self._first.sum(), *(np.trace(G) for G in self._rest)])

    @property
    def largest(self) -> np.ndarray:
        """The largest eigenvalue of the first, the largest row sums of the others."""
        rows = (np.abs(G).sum(axis=1).max() for G in self._rest)
        return np.array([self._first.max(), *rows])

    @property
    def inverts(self) -> bool:
        return _positive(linalg.eigvalsh(np.diag(self._first) + sum(self._rest)))


def _positive(eigenvalues: np.ndarray) -> bool:
    return bool(eigenvalues.min() > LEAST_EIGENVALUE * eigenvalues.max())


def _traced(
    F: np.ndarray,
    noise: Mapping[tuple[int, int], tuple[np.ndarray, np.ndarray]],
    eta: np.ndarray,
) -> np.ndarray:
    """Return what random columns add to M^T H^-1 F M eta, from H^-1 Q^T and H^-1 Q of pairs."""
    sums = np.zeros_like(eta)
    for (i, j), (turned, plain) in noise.items():
        sums[i] += float(np.vdot(F, turned)) * eta[j]
        if i != j:
            sums[j] += float(np.vdot(F, plain)) * eta[i]
    return sums


def covariances(
    matrices: Float[np.ndarray, "K d d"] | Float[np.ndarray, "K d"],
    directions: Directions | Float[np.ndarray, "d J"],
) -> Covariances:
    """Return covariances in the form in which a step costs least; vectors are diagonals."""
    G = np.asarray(matrices, dtype=float)
    if not isinstance(directions, Directions):
        directions = Directions(np.asarray(directions, dtype=float))
    if G.ndim == 2:
        return CommutingCovariances(G, directions)
    basis = common_basis(G)
    if basis is None:
        return FullCovariances(G, directions)
    values = np.array([np.einsum("di,de,ei->i", basis, one, basis, optimize=True) for one in G])
    return CommutingCovariances(np.maximum(values, 0.0), directions.rotated(basis), basis)


def common_basis(G: np.ndarray) -> np.ndarray | None:
    """Return common eigenvectors as columns, None if the matrices do not commute."""
    first = G[0]
    for other in G[1:]:
        product = first @ other
        if np.abs(product - product.T).max() > _COMMUTE * len(first) * np.abs(product).max():
            return None
    if all(np.array_equal(one, np.diag(np.diagonal(one))) for one in G):
        return np.eye(len(first))
    # Any mixture splits the eigenspaces that the single matrices share.
    mixture = sum(one * (1 + 0.6180339887 * k) / np.trace(one) for k, one in enumerate(G))
    basis = linalg.eigh(mixture, check_finite=False)[1]
    for one in G[1:]:
        inside = basis.T @ one @ basis
        outside = inside - np.diag(np.diagonal(inside))
        if np.abs(outside).max() > 1e-9 * np.abs(inside).max():
            return None
    return np.asarray(basis)
