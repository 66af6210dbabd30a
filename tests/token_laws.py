"""Covariances of tokens that tests share."""

import numpy as np

import sparsetoken as st


def unit(d, frequency):
    """Return a unit vector."""
    x = np.cos(frequency * np.arange(d))
    return x / np.linalg.norm(x)


def tokens(d, power=-0.5, effect=0.2, *, turned=False):
    """Return a power-law spectrum, and an effect of samples with the same eigenvectors."""
    j = np.arange(d)
    S, xi = (j + 1.0) ** power, unit(d, 1.7)
    S /= S.mean()
    B = effect * (1 + np.cos(0.5 * j)) if effect else None
    if not turned:
        return st.TokenCovariance(S, B, signal=xi)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((d, d)))[0]
    between = None if B is None else Q @ np.diag(B) @ Q.T
    return st.TokenCovariance(Q @ np.diag(S) @ Q.T, between, signal=Q @ xi)
