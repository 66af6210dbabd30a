"""Tokens of a covariance in coordinates in which their noise is isotropic."""

from __future__ import annotations

import math

import numpy as np

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.covariance.spectra import LEAST_EIGENVALUE
from sparsetoken.theory.covariance.spectrum import spectrum_of
from sparsetoken.validation import InvalidInput

__all__ = ["covariance_strengths", "gain"]


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
    if values.min() <= LEAST_EIGENVALUE * values.max():
        remedy = "Leave out directions without noise, or add a little to the diagonal."
        got = f"a smallest eigenvalue of {values.min():.3g}"
        raise InvalidInput("covariance of the tokens", "with an inverse here", got, remedy)
    return math.sqrt(float(np.sum(projections**2 / values)))


def covariance_strengths(problem: SparseTokenProblem) -> tuple[float, float]:
    """Return the strengths of the signal in whitened differences of tokens and in their mean.

    They are ``theta |S_w^(-1/2) xi|`` and ``theta |(S_w + L S_b)^(-1/2) xi|``, and equal where
    samples have no effect of their own.
    """
    spectrum, theta = spectrum_of(problem), problem.strength
    within = theta * gain(spectrum.within, spectrum.signal)
    if not spectrum.shared:
        return within, within
    whole = problem.length * spectrum.mean_token(problem.length)
    return within, theta * gain(whole, spectrum.signal)
