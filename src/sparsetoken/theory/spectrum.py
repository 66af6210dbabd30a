"""The covariances of tokens in the coordinates in which theory works, as they are and whitened."""

from __future__ import annotations

import dataclasses
import functools
import math

import numpy as np
from jaxtyping import Float
from scipy import linalg

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.tokens import TokenCovariance, TokenLaw
from sparsetoken.theory.readout.covariances import (
    LEAST_EIGENVALUE,
    common_basis,
)


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
    """Return the spectrum of the tokens of a problem, or raise `InvalidInput` if it is none."""
    require_problem(problem)
    return spectrum_of_tokens(problem.tokens)


@functools.lru_cache(maxsize=8)
def spectrum_of_tokens(law: TokenLaw) -> TokenSpectrum:
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
        legal = "covariances within and between that commute, in theory"
        remedy = "st.simulate and st.simulation.descend take any covariance."
        raise InvalidInput("tokens", legal, law, remedy)
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
    _require_inverse(S)
    return math.sqrt(float(np.sum(xi**2 / S)))


def _has_inverse(eigenvalues: np.ndarray) -> bool:
    return bool(eigenvalues.min() > LEAST_EIGENVALUE * eigenvalues.max())


def _require_inverse(eigenvalues: np.ndarray) -> None:
    if not _has_inverse(eigenvalues):
        remedy = "Leave out directions without noise, or add a little to the diagonal."
        got = f"a smallest eigenvalue of {eigenvalues.min():.3g}"
        raise InvalidInput("covariance of the tokens", "with an inverse here", got, remedy)


def strengths_of(problem: SparseTokenProblem) -> tuple[float, float]:
    """Return the strengths of the signal in whitened differences of tokens and in their mean.

    They are ``theta |S_w^(-1/2) xi|`` and ``theta |(S_w + L S_b)^(-1/2) xi|``, and equal where
    samples have no effect of their own. Differences of tokens have no signal where R = L: if
    S_w has no inverse then, the second takes the place of the first.
    """
    spectrum, theta = spectrum_of(problem), problem.strength
    if not spectrum.has_effect:
        within = theta * gain(spectrum.within, spectrum.signal)
        return within, within
    whole = problem.length * spectrum.mean_token(problem.length)
    mean = theta * gain(whole, spectrum.signal)
    if problem.informative == problem.length and not _has_inverse(spectrum.within):
        return mean, mean
    return theta * gain(spectrum.within, spectrum.signal), mean


def kept_of(problem: SparseTokenProblem) -> tuple[Float[np.ndarray, " d"], float]:
    """Return what an effect of samples leaves of the precision of whitened mean tokens.

    That is along each direction and along the signal: the eigenvalues of
    ``W = S_w^(1/2) (S_w + L S_b)^-1 S_w^(1/2)``, or (1,) ones where there is no effect, and u^T W u
    for the whitened signal u of norm 1.
    """
    spectrum = spectrum_of(problem)
    if not spectrum.has_effect:
        return np.ones(1), 1.0
    _require_inverse(spectrum.within)
    root, between = np.sqrt(spectrum.within), spectrum.between
    u = spectrum.signal / root
    if between.ndim == 1:
        values = between / spectrum.within
    else:
        values, vectors = linalg.eigh(between / np.outer(root, root), check_finite=False)
        u = vectors.T @ u
    kept = 1 / (1 + problem.length * np.maximum(values, 0.0))
    return kept, float(kept @ np.square(u) / np.sum(np.square(u)))
