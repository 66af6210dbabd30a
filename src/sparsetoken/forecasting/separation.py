"""How far apart the mean tokens of the two classes are, by an estimate that does not flatter."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Bool, Float
from sklearn.covariance import ledoit_wolf

__all__ = ["SquaredSeparation", "squared_separation"]

_MOST_COLUMNS = 600  # the covariance of more takes seconds


@dataclasses.dataclass(frozen=True)
class SquaredSeparation:
    """The squared distance of the class means of mean tokens, in units of their noise.

    Attributes
    ----------
    value : float
        Without bias, so that it may be negative.
    variance : float
        Of the value where the classes are not separated; infinite where there is no estimate.
    slope : float
        By which the variance of the value rises with the true squared separation.
    """

    value: float
    variance: float
    slope: float = 0.0

    def standard_error(self, squared: Float[np.ndarray, " G"]) -> Float[np.ndarray, " G"]:
        """Return the standard error of the value where the squared separation is this."""
        return np.sqrt(self.variance + self.slope * np.maximum(squared, 0.0))


UNKNOWN = SquaredSeparation(0.0, np.inf)


def squared_separation(
    residuals: Float[np.ndarray, "N d"],
    noise: float,
    means: Float[np.ndarray, "n d"],
    positive: Bool[np.ndarray, " n"],
) -> SquaredSeparation:
    """Estimate D^2 = delta^T G^-1 delta, G the noise of mean tokens.

    The covariance of tokens within bags, which the many tokens tell, gives the shape of G; that
    of the n mean tokens would flatter where n is near d, as it is of the same means. What the
    noise of the class means adds to the quadratic form, tr(G^-1 V) with V their covariance, is
    taken off: this equals the mean of the form over pairs of different bags.

    Parameters
    ----------
    residuals : array of shape (N, d)
        Tokens less the mean of their bag, in units in which their covariance is unbiased.
    noise : float
        The variance of a mean token over that of a token.
    means : array of shape (n, d)
        Mean tokens.
    positive : bool array of shape (n,)
    """
    scale = residuals.std(axis=0)
    varies = scale > 0
    if not 0 < np.count_nonzero(varies) <= _MOST_COLUMNS or len(residuals) < 3:
        return UNKNOWN
    # Correlations are shrunk; the many tokens tell the variances of the columns well.
    within = ledoit_wolf(residuals[:, varies] / scale[varies])[0]
    parts = [means[rows][:, varies] / scale[varies] for rows in (positive, ~positive)]
    V = sum(np.atleast_2d(np.cov(part.T)) / len(part) for part in parts)
    delta = parts[0].mean(axis=0) - parts[1].mean(axis=0)
    d = len(within)
    G = noise * within + 1e-9 * np.trace(within) / d * np.eye(d)
    solved = np.linalg.solve(G, np.column_stack([V, delta]))
    T, whitened = solved[:, :-1], solved[:, -1]
    trace = float(np.trace(T))
    value = float(delta @ whitened) - trace
    # tr T^2 less what the noise of V adds to it; it is least where T is a multiple of the unit.
    square = max(float(np.sum(T * T.T)) - trace**2 / (len(means) - 2), trace**2 / d)
    # Of a quadratic form of normals with a mean of any direction: 2 tr T^2 + 4 D^2 tr T / d.
    return SquaredSeparation(value, 2 * square, 4 * trace / d)
