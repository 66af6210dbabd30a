"""Tokens of a covariance in coordinates in which their noise is isotropic."""

from __future__ import annotations

import math

import numpy as np
from jaxtyping import Float
from scipy import linalg

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.covariance.spectrum import TokenSpectrum, spectrum_of
from sparsetoken.theory.readout.covariances import (
    LEAST_EIGENVALUE,
    CommutingCovariances,
    Directions,
)
from sparsetoken.validation import InvalidInput


def gain(S: np.ndarray, xi: np.ndarray) -> float:
    """Return the length of S^(-1/2) xi, by which whitening makes a signal stronger.

    Parameters
    ----------
    S : array of shape (d,) or (d, d)
        A covariance, diagonal or full.
    xi : array of shape (d,)

    Raises
    ------
    InvalidInput
        If the covariance has no inverse.
    """
    values, projections = S, xi
    if S.ndim == 2:
        values, vectors = np.linalg.eigh(S)
        projections = vectors.T @ xi
    _require_inverse(values)
    return math.sqrt(float(np.sum(projections**2 / values)))


def _has_inverse(eigenvalues: np.ndarray) -> bool:
    return bool(eigenvalues.min() > LEAST_EIGENVALUE * eigenvalues.max())


def _require_inverse(eigenvalues: np.ndarray) -> None:
    if not _has_inverse(eigenvalues):
        remedy = "Leave out directions without noise, or add a little to the diagonal."
        got = f"a smallest eigenvalue of {eigenvalues.min():.3g}"
        raise InvalidInput("covariance of the tokens", "with an inverse here", got, remedy)


def whitened(spectrum: TokenSpectrum, directions: Directions) -> CommutingCovariances:
    """Return both covariances in coordinates in which S_w is the identity and S_b is diagonal.

    With generalised eigenvectors X, X^T S_w X = I and X^T S_b X is diagonal: two covariances
    always commute after one of them is whitened.

    Parameters
    ----------
    spectrum : TokenSpectrum
        Its S_w has an inverse.
    directions : Directions
        In the coordinates of the spectrum.
    """
    between = spectrum.between
    full = np.diag(between) if between.ndim == 1 else between
    values, X = linalg.eigh(full, np.diag(spectrum.within), check_finite=False)
    both = np.array([np.ones_like(values), np.maximum(values, 0.0)])
    return CommutingCovariances(both, directions.rotated(X))


def covariance_strengths(problem: SparseTokenProblem) -> tuple[float, float]:
    """Return the strengths of the signal in whitened differences of tokens and in their mean.

    They are ``theta |S_w^(-1/2) xi|`` and ``theta |(S_w + L S_b)^(-1/2) xi|``, and equal where
    samples have no effect of their own. Differences of tokens have no signal where R = L: if
    S_w has no inverse then, the second takes the place of the first.
    """
    spectrum, theta = spectrum_of(problem), problem.strength
    if not spectrum.shared:
        within = theta * gain(spectrum.within, spectrum.signal)
        return within, within
    whole = problem.length * spectrum.mean_token(problem.length)
    mean = theta * gain(whole, spectrum.signal)
    if problem.informative == problem.length and not _has_inverse(spectrum.within):
        return mean, mean
    return theta * gain(spectrum.within, spectrum.signal), mean


def covariance_kept(problem: SparseTokenProblem) -> tuple[Float[np.ndarray, " d"], float]:
    """Return what an effect of samples leaves of the precision of mean tokens, and of the signal's.

    The first are the eigenvalues of ``W = S_w^(1/2) (S_w + L S_b)^-1 S_w^(1/2)``, or (1,) ones
    where there is no effect, the second is u^T W u for the whitened signal u of length 1.
    """
    spectrum = spectrum_of(problem)
    if not spectrum.shared:
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
