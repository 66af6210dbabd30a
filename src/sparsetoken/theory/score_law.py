"""The law of the score of a trained readout, and all that follows from it."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from sparsetoken.results import Overlaps
from sparsetoken.theory.feature_law import FeatureLaw

__all__ = ["ScoreLaw"]

_THRESHOLDS = 199  # odd, so that with the ends every second point is a rule as well
_NODES_FOR_AUC = 8192
_REACH = 7.0  # P(|g| > REACH) = 3e-12
_FIRST_STEPS, _MOST_STEPS = 24, 384
_ENOUGH = 1e-6


@dataclasses.dataclass(frozen=True)
class ScoreLaw:
    """A mixture of normals for each class: score | node ~ N(mean, width^2).

    Equation: score-law. The law of the features may differ from the one the readout was
    trained on (other L, R, theta, pi at test time).

    Attributes
    ----------
    mean, width : arrays of shape (scrambles, nodes)
    y, weight : arrays of shape (scrambles, nodes)
    """

    mean: Float[np.ndarray, "scrambles nodes"]
    width: Float[np.ndarray, "scrambles nodes"]
    y: Float[np.ndarray, "scrambles nodes"]
    weight: Float[np.ndarray, "scrambles nodes"]

    @classmethod
    def of(cls, law: FeatureLaw, w: Overlaps) -> ScoreLaw:
        """Return the scores of readout w on features of the law."""
        mean = w.query * law.along + w.orthogonal * law.across + w.bias
        variance = law.shared * w.query**2 + law.C**2 * (w.orthogonal**2 + w.noise**2)
        return cls(mean, np.sqrt(variance), law.y, law.weight)

    def errors(self) -> np.ndarray:
        """Return P(y score < 0) for each node; half for a score of exactly 0."""
        return _normal_cdf(-self.y * self.mean, self.width)

    def test_error(self) -> float:
        """Return P(y score < 0)."""
        return float(np.sum(self.weight * self.errors()) / len(self.y))

    def rates(
        self, thresholds: Float[np.ndarray, " t"]
    ) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
        """Return the false and the true positive rate when scores above t are positive."""
        rates = []
        for label in (-1, 1):
            mean, width, weight = self._of(label)
            rates.append(np.array([_normal_cdf(mean - t, width) @ weight for t in thresholds]))
        return rates[0], rates[1]

    def roc(self) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
        """Return the ROC curve as (false positive rate, true positive rate), rising."""
        order = np.linspace(0, 1, _THRESHOLDS)
        spread = self.mean[..., None] + self.width[..., None] * np.linspace(-5, 5, 11)
        thresholds = np.quantile(spread, order)[::-1]
        false, true = self.rates(thresholds)
        return np.concatenate([[0], false, [1]]), np.concatenate([[0], true, [1]])

    def auc(self) -> float:
        """Return the area under the ROC curve, the mean true positive rate over negatives.

        The first scrambles are enough for an error of about 1e-4.
        """
        few = slice(max(1, _NODES_FOR_AUC // self.y.shape[1]))
        part = ScoreLaw(self.mean[few], self.width[few], self.y[few], self.weight[few])
        area = part._smooth_area()
        if area is not None:
            return area
        false, true = part.roc()
        fine, rough = np.trapezoid(true, false), np.trapezoid(true[::2], false[::2])
        return float(fine + (fine - rough) / 3)

    def _smooth_area(self) -> float | None:
        """Return the area by the trapezoidal rule in the score, None if that does not converge.

        For a mixture of normals no narrower than a few steps the rule is exact to rounding. Nodes
        that are narrower show in the mass of the negatives, which must be 1.
        """
        (m, T, w), (mean, width, weight) = (self._of(label) for label in (-1, 1))
        if not T.all() or not width.all():
            return None
        low, high = float(np.min(m - _REACH * T)), float(np.max(m + _REACH * T))
        t = np.linspace(low, high, _FIRST_STEPS + 1)
        area, steps = math.inf, _FIRST_STEPS
        total = mass = 0.0
        while steps <= _MOST_STEPS:
            g = (t[:, None] - m) / T
            density = np.exp(-0.5 * g**2) @ (w / T) / math.sqrt(2 * math.pi)
            total += density @ (ndtr((mean - t[:, None]) / width) @ weight)
            mass += density.sum()
            last, area = area, total * (high - low) / steps
            missing = abs(mass * (high - low) / steps - 1)
            if max(abs(area - last), missing) <= _ENOUGH:
                return float(area)
            t = low + (high - low) * (np.arange(steps) + 0.5) / steps  # between the old ones
            steps *= 2
        return None

    def _of(self, label: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return mean, width and weight of the nodes of a class; weights add up to 1."""
        at = (self.y == label) & (self.weight > 0)
        return self.mean[at], self.width[at], self.weight[at] / self.weight[at].sum()


def _normal_cdf(x: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return P(x + width g > 0); 1/2 where x and width are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = ndtr(x / width)
    return np.where(width > 0, chance, 0.5 * (1 + np.sign(x)))
