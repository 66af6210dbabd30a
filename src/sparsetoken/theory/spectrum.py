"""The covariances of tokens in the coordinates in which theory works, as they are and whitened."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from jaxtyping import Float
from scipy import linalg

from sparsetoken.base.validation import LARGEST_VALUE, InvalidInput
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.tokens import Isotropic, TokenCovariance, TokenDistribution

LEAST_EIGENVALUE = 1e-12  # relative: a smaller one is none
_COMMUTE = 1e-12  # relative: below rounding of what a user computes


@dataclasses.dataclass(frozen=True, eq=False)
class TokenSpectrum:
    """The covariances of tokens in their common eigenvectors.

    Isotropic tokens have one direction, which stands for all: what theory takes of a spectrum are
    sums over directions divided by their number, and the signal.

    Attributes
    ----------
    within : array of shape (d,)
        Eigenvalues.
    between : array of shape (d,)
        Eigenvalues of that between samples; 0 where they have no effect of their own.
    signal : array of shape (d,) or (P, d)
        Projections of xi, or of the directions of a task.
    basis : array of shape (d, d) or None
        The eigenvectors as columns; None for the coordinates of the user.
    """

    within: Float[np.ndarray, " d"]
    between: Float[np.ndarray, " d"]
    signal: np.ndarray
    basis: np.ndarray | None

    @property
    def has_effect(self) -> bool:
        """Whether the tokens of a sample share an effect."""
        return bool(self.between.any())

    def mean_token(self, length: int) -> Float[np.ndarray, " d"]:
        """Return the eigenvalues of the covariance of the mean of the tokens."""
        return self.between + self.within / length

    def turned(self, vector: Float[np.ndarray, " d"]) -> Float[np.ndarray, " d"]:
        """Return a vector of the user's coordinates in these."""
        return vector if self.basis is None else self.basis.T @ vector


def spectrum_of(problem: SparseTokenProblem) -> TokenSpectrum:
    """Return the spectrum of the tokens of a problem."""
    return spectrum_of_tokens(problem.tokens)


@functools.lru_cache(maxsize=8)
def spectrum_of_tokens(law: TokenDistribution) -> TokenSpectrum:
    """Return the spectrum of a law of tokens.

    Raises
    ------
    InvalidInput
        If the covariances within and between samples do not commute.
    """
    if not isinstance(law, TokenCovariance):
        return TokenSpectrum(np.ones(1), np.zeros(1), np.ones(1), None)
    within, between = law.within, law.between
    parts = [within] if between is None else [within, between]
    if all(part.ndim == 1 for part in parts):
        return TokenSpectrum(
            within, np.zeros_like(within) if between is None else between, law.signal, None
        )
    matrices = np.array([np.diag(part) if part.ndim == 1 else part for part in parts])
    basis = common_basis(matrices)
    if basis is None:
        legal = "matrices that commute, for predictions"
        got = "two without common eigenvectors"
        remedy = "Simulations take any two: st.simulate, or st.simulation.descend."
        raise InvalidInput("covariances within and between of the tokens", legal, got, remedy)
    values = np.maximum(np.einsum("di,kde,ei->ki", basis, matrices, basis, optimize=True), 0.0)
    effect = values[1] if between is not None else np.zeros_like(values[0])
    return TokenSpectrum(values[0], effect, law.signal @ basis, basis)


def gain(S: Float[np.ndarray, " d"], xi: Float[np.ndarray, " d"]) -> float:
    """Return the norm of S^(-1/2) xi, by which whitening makes a signal stronger.

    The covariance S is given by its eigenvalues.

    Raises
    ------
    InvalidInput
        If it has no inverse.
    """
    if S.min() <= LEAST_EIGENVALUE * S.max():
        remedy = "Leave out directions without noise, or add a little to the diagonal."
        got = f"a smallest eigenvalue of {S.min():.3g}"
        raise InvalidInput("covariance of the tokens", "with an inverse here", got, remedy)
    return math.sqrt(float(np.sum(xi**2 / S)))


def whitened(problem: SparseTokenProblem) -> SparseTokenProblem:
    """Return the problem among isotropic tokens, of the strength ``theta |S_w^(-1/2) xi|``.

    Raises
    ------
    InvalidInput
        If the tokens of a sample share an effect, or S_w has no inverse.
    """
    between = getattr(problem.tokens, "between", None)
    if between is not None and between.any():
        legal = "without an effect shared by a sample (between=None) here"
        remedy = "Bayes errors are not computed beside one; simulate gives the errors of models."
        raise InvalidInput("tokens", legal, problem.tokens, remedy)
    spectrum = spectrum_of(problem)
    strength = problem.strength * gain(spectrum.within, spectrum.signal)
    if strength > LARGEST_VALUE:
        legal = f"of a strength |S_w^(-1/2) mu| of at most {LARGEST_VALUE:g}"
        remedy = "Raise the eigenvalues of `within` along the signal, or lower the strength."
        raise InvalidInput("signal among whitened tokens", legal, strength, remedy)
    return dataclasses.replace(problem, strength=strength, tokens=Isotropic())


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
