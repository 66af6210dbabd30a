"""The covariances of tokens in the coordinates in which theory works, as they are and whitened."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from jaxtyping import Float
from scipy import linalg

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.problem import Isotropic, SparseTokenProblem, require_problem
from sparsetoken.model.tokens import TokenCovariance, TokenLaw
from sparsetoken.theory.readout.covariances import (
    LEAST_EIGENVALUE,
    common_basis,
)


@dataclasses.dataclass(frozen=True, eq=False)
class TokenSpectrum:
    """The covariances of tokens in eigenvectors of that within samples.

    Isotropic tokens have one direction, which stands for all: what theory takes of a spectrum are
    sums over directions divided by their number, and the signal.

    Attributes
    ----------
    within : array of shape (d,)
        Eigenvalues.
    between : array of shape (d,) or (d, d)
        Diagonal or full; 0 where samples have no effect of their own.
    signal : array of shape (d,) or (P, d)
        Projections of xi, or of the directions of a task.
    basis : array of shape (d, d) or None
        The eigenvectors as columns; None for the coordinates of the user.
    """

    within: Float[np.ndarray, " d"]
    between: np.ndarray
    signal: np.ndarray
    basis: np.ndarray | None

    @property
    def has_effect(self) -> bool:
        """Whether the tokens of a sample share an effect."""
        return bool(self.between.any())

    def mean_token(self, length: int) -> np.ndarray:
        """Return the covariance of the mean of the tokens, diagonal or full."""
        return added(self.between, self.within / length)

    def turned(self, vector: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """Return a vector of the user's coordinates in these."""
        return vector if self.basis is None else self.basis.T @ vector


def spectrum_of(problem: SparseTokenProblem) -> TokenSpectrum:
    """Return the spectrum of the tokens of a problem, or raise `InvalidInput` if it is none."""
    require_problem(problem)
    return spectrum_of_tokens(problem.tokens)


@functools.lru_cache(maxsize=8)
def spectrum_of_tokens(law: TokenLaw) -> TokenSpectrum:
    """Return the spectrum of a law of tokens."""
    if not isinstance(law, TokenCovariance):
        return TokenSpectrum(np.ones(1), np.zeros(1), np.ones(1), None)
    within, between = law.within, law.between
    none = np.zeros(law.dimension)
    if within.ndim == 1 and (between is None or between.ndim == 1):
        return TokenSpectrum(within, none if between is None else between, law.signal, None)
    if within.ndim == 1:
        return TokenSpectrum(within, between, law.signal, None)
    parts = [within, *([] if between is None else [full(between)])]
    basis = common_basis(np.array(parts))
    commute = basis is not None
    if basis is None:
        basis = linalg.eigh(within, check_finite=False)[1]
    values = np.maximum(np.einsum("di,di->i", basis, within @ basis), 0.0)
    if between is not None:
        none = basis.T @ parts[1] @ basis
        none = np.maximum(np.diagonal(none), 0.0) if commute else none
    return TokenSpectrum(values, none, law.signal @ basis, basis)


def full(S: np.ndarray) -> np.ndarray:
    """Return a matrix that is diagonal (a vector) or full."""
    return np.diag(S) if S.ndim == 1 else S


def added(S: np.ndarray, diagonal: np.ndarray) -> np.ndarray:
    """Return S + a diagonal, where S is diagonal (a vector) or full."""
    return S + (diagonal if S.ndim == 1 else np.diag(diagonal))


def times(S: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """Return S times a vector, where S is diagonal (a vector) or full."""
    return S * vector if S.ndim == 1 else S @ vector


def trace(S: np.ndarray, diagonal: np.ndarray | None = None) -> float:
    """Return tr(S diag), or tr(S), where S is diagonal (a vector) or full."""
    own = S if S.ndim == 1 else np.diagonal(S)
    return float(own.sum() if diagonal is None else own @ diagonal)


def gain(S: np.ndarray, xi: np.ndarray) -> float:
    """Return the norm of S^(-1/2) xi, by which whitening makes a signal stronger.

    The covariance S is diagonal (a vector) or full.

    Raises
    ------
    InvalidInput
        If it has no inverse.
    """
    values, projections = S, xi
    if S.ndim == 2:
        values, vectors = np.linalg.eigh(S)
        projections = vectors.T @ xi
    if values.min() <= LEAST_EIGENVALUE * values.max():
        remedy = "Leave out directions without noise, or add a little to the diagonal."
        got = f"a smallest eigenvalue of {values.min():.3g}"
        raise InvalidInput("covariance of the tokens", "with an inverse here", got, remedy)
    return math.sqrt(float(np.sum(projections**2 / values)))


def whitened(problem: SparseTokenProblem) -> SparseTokenProblem:
    """Return the problem among isotropic tokens, of the strength ``theta |S_w^(-1/2) xi|``.

    Raises
    ------
    InvalidInput
        If the tokens of a sample share an effect, or S_w has no inverse.
    """
    spectrum = spectrum_of(problem)
    if spectrum.has_effect:
        legal = "without an effect shared by a sample (between=None) here"
        remedy = "Bayes errors are not computed beside one; simulate gives the errors of models."
        raise InvalidInput("tokens", legal, problem.tokens, remedy)
    strength = problem.strength * gain(spectrum.within, spectrum.signal)
    return dataclasses.replace(problem, strength=strength, tokens=Isotropic())
