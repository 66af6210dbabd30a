"""The readout without features: a bias."""

from __future__ import annotations

import numpy as np
import scipy

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import Loss
from sparsetoken.results import Overlaps, ReadoutOutcome

_ACCURACY = 1e-12


def best_bias(loss: Loss, y: np.ndarray, chance: np.ndarray, mu: float = 0.0) -> float:
    """Return the b that minimises E[M_mu(b)], the loss when there are no features.

    Targets y have given chances.

    Raises
    ------
    InvalidInput
        If there is no minimum.
    """

    def slope(b: float) -> float:
        return float(np.sum(chance * loss.dual(y, np.full_like(y, b), np.full_like(y, mu))))

    if slope(0.0) == 0:  # balanced classes
        return 0.0
    reach = 1.0
    while not slope(-reach) <= 0 <= slope(reach):
        if reach > 1e6:
            legal = "one whose mean over the targets has a minimum in the bias"
            raise InvalidInput("loss", legal, loss.name)
        reach *= 2
    return float(scipy.optimize.brentq(slope, -reach, reach, xtol=_ACCURACY))


def outcome_without_features(
    loss: Loss, pi: float, test_pi: float, susceptibility: float
) -> ReadoutOutcome:
    """Return the outcome where all features are 0 and only the bias learns.

    Every score is the bias; one of exactly 0 is right half of the time.
    """
    y, chance, tested = np.array([1.0, -1.0]), np.array([pi, 1 - pi]), [test_pi, 1 - test_pi]
    b = best_bias(loss, y, chance)
    if abs(b) <= 2 * _ACCURACY:
        b = 0.0
    wrong = 0.5 * (1 - np.sign(y * b))
    return ReadoutOutcome(
        test_error=float(tested @ wrong),
        training_loss=float(chance @ loss.value(y, np.full(2, b))),
        training_error=float(chance @ wrong),
        auc=0.5,
        overlaps=Overlaps(0.0, 0.0, 0.0, b),
        susceptibility=susceptibility,
    )
