"""A covariance of tokens in the coordinates in which theory works."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np
from jaxtyping import Float
from scipy import linalg

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.readout.covariances import common_basis
from sparsetoken.tokens import TokenCovariance


@dataclasses.dataclass(frozen=True, eq=False)
class TokenSpectrum:
    """The covariances of tokens in eigenvectors of that within samples.

    Attributes
    ----------
    within : array of shape (d,)
        Eigenvalues.
    between : array of shape (d,) or (d, d)
        Diagonal or full; 0 where samples have no effect of their own.
    signal : array of shape (d,)
        Projections of xi.
    basis : array of shape (d, d) or None
        The eigenvectors as columns; None for the coordinates of the user.
    """

    within: Float[np.ndarray, " d"]
    between: np.ndarray
    signal: Float[np.ndarray, " d"]
    basis: np.ndarray | None

    @property
    def shared(self) -> bool:
        """Whether the tokens of a sample share an effect."""
        return bool(self.between.any())

    def mean_token(self, length: int) -> np.ndarray:
        """Return the covariance of the mean of the tokens, diagonal or full."""
        return added(self.between, self.within / length)

    def turned(self, vector: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """Return a vector of the user's coordinates in these."""
        return vector if self.basis is None else self.basis.T @ vector


def spectrum_of(problem: SparseTokenProblem) -> TokenSpectrum:
    """Return the spectrum of the tokens of a problem."""
    law = problem.tokens
    assert isinstance(law, TokenCovariance)
    return spectrum_of_tokens(law)


@functools.lru_cache(maxsize=8)
def spectrum_of_tokens(law: TokenCovariance) -> TokenSpectrum:
    """Return the spectrum of a law of tokens."""
    within, between = law.within, law.between
    none = np.zeros(law.dimension)
    if within.ndim == 1 and (between is None or between.ndim == 1):
        return TokenSpectrum(within, none if between is None else between, law.signal, None)
    if within.ndim == 1:
        return TokenSpectrum(within, between, law.signal, None)
    parts = [within, *([] if between is None else [_full(between)])]
    basis = common_basis(np.array(parts))
    commute = basis is not None
    if basis is None:
        basis = linalg.eigh(within, check_finite=False)[1]
    values = np.maximum(np.einsum("di,di->i", basis, within @ basis), 0.0)
    if between is not None:
        none = basis.T @ parts[1] @ basis
        none = np.maximum(np.diagonal(none), 0.0) if commute else none
    return TokenSpectrum(values, none, basis.T @ law.signal, basis)


def _full(S: np.ndarray) -> np.ndarray:
    return np.diag(S) if S.ndim == 1 else S


def added(S: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Return S + a diagonal, where S is diagonal (a vector) or full."""
    return S + (diagonal if S.ndim == 1 else np.diag(diagonal))


def times(S: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return S times a vector, where S is diagonal (a vector) or full."""
    return S * vector if S.ndim == 1 else S @ vector


def trace(S: np.ndarray, diagonal: np.ndarray | float = 1.0) -> float:
    """Return tr(S diag), where S is diagonal (a vector) or full."""
    return float(np.sum((S if S.ndim == 1 else np.diagonal(S)) * diagonal))
