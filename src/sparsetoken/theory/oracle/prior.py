"""The prior of the Bayes-optimal learner on the signal."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy
from jaxtyping import Float
from scipy.special import expit

from sparsetoken.problem import SparseTokenProblem

_ROUNDING = 1e-8  # relative: eigenvalues of an ill-conditioned S_w that are equal
_REACH = 100.0  # in logits: at its ends all variance lies on the least or largest eigenvalue


class SignalPrior(NamedTuple):
    """The law of the whitened signal, a unit vector u with u_j ~ N(0, tau_j / d) in high dimension.

    Coordinates are eigenvectors of W = S_w^(1/2) (S_w + L S_b)^-1 S_w^(1/2).

    Attributes
    ----------
    kept : array of shape (d,) or (1,)
        Eigenvalues w_j of W in (0, 1]: the part that an effect of samples leaves of the precision
        of mean tokens. 1 without one.
    variance : array of the same shape
        tau_j >= 0, of mean 1.
    """

    kept: Float[np.ndarray, " m"]
    variance: Float[np.ndarray, " m"]

    def known(self, gamma: float, chance: float, total: float = 1.0) -> Float[np.ndarray, " m"]:
        """Return the squared length of the posterior mean along each direction, d times.

        Parameters
        ----------
        gamma : float
            Precision from positives, where the effect takes nothing of it.
        chance : float
            The part of it that comes from mean tokens.
        total : float
            Squared length of the signal.
        """
        gain = self._precision(gamma, chance) * self.variance
        return total * self.variance * gain / (1 + gain)

    def slope(self, gamma: float, chance: float) -> float:
        """Return the derivative by gamma of the mean of `known`."""
        gain = self._precision(gamma, chance) * self.variance
        return float(np.mean((self.variance / (1 + gain)) ** 2))

    def _precision(self, gamma: float, chance: float) -> np.ndarray:
        return np.maximum(gamma - chance * (1 - self.kept), 0.0)


def signal_prior(kept: Float[np.ndarray, " m"], share: float) -> SignalPrior:
    """Return the prior of all u with ``|u| = 1`` and ``u^T W u = share`` alike.

    In high dimension the uniform law on these two surfaces is that of independent normal u_j with
    ``1 / tau_j`` linear in w_j: of all laws with both lengths it has the largest entropy. Where
    the share is the mean of w, all directions are alike.

    Equation: signal-prior.

    Parameters
    ----------
    kept : array of shape (m,)
        w_j.
    share : float
        Between the least and the largest w_j; beyond them by rounding is taken as there.
    """
    least, most = float(kept.min()), float(kept.max())
    if most - least <= _ROUNDING * most:
        return SignalPrior(kept, np.ones_like(kept))
    place = (kept - least) / (most - least)
    target = (share - least) / (most - least)

    def weights(tilt: float) -> np.ndarray:
        w = 1 / (expit(-tilt) * (1 - place) + expit(tilt) * place)
        return np.asarray(w / w.mean())

    def excess(tilt: float) -> float:
        return float(np.mean(weights(tilt) * place)) - target

    tilt = _REACH if excess(_REACH) >= 0 else -_REACH
    if excess(_REACH) < 0 < excess(-_REACH):
        tilt = scipy.optimize.brentq(excess, -_REACH, _REACH, xtol=1e-13)
    return SignalPrior(kept, weights(tilt))


def isotropic_kept(problem: SparseTokenProblem) -> tuple[Float[np.ndarray, " m"], float]:
    """Return 1, for all directions and for the signal."""
    return np.ones(1), 1.0
