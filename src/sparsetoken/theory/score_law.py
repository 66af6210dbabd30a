"""The law of the score of a trained readout, and all that follows from it."""

from __future__ import annotations

import dataclasses

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr

from sparsetoken.results import Overlaps
from sparsetoken.theory.feature_law import FeatureLaw

__all__ = ["ScoreLaw"]

_THRESHOLDS = 199  # odd, so that with the ends every second point is a rule as well
_NODES_FOR_AUC = 8192


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
            at = (self.y == label) & (self.weight > 0)
            mean, width, weight = self.mean[at], self.width[at], self.weight[at]
            above = [np.sum(_normal_cdf(mean - t, width) * weight) for t in thresholds]
            rates.append(np.array(above) / weight.sum())
        return rates[0], rates[1]

    def roc(self) -> tuple[Float[np.ndarray, " t"], Float[np.ndarray, " t"]]:
        """Return the ROC curve as (false positive rate, true positive rate), rising."""
        order = np.linspace(0, 1, _THRESHOLDS)
        spread = self.mean[..., None] + self.width[..., None] * np.linspace(-5, 5, 11)
        thresholds = np.quantile(spread, order)[::-1]
        false, true = self.rates(thresholds)
        return np.concatenate([[0], false, [1]]), np.concatenate([[0], true, [1]])

    def auc(self) -> float:
        """Return the area under the ROC curve, by the extrapolated trapezoidal rule.

        The first scrambles are enough for an error of about 1e-4.
        """
        few = slice(max(1, _NODES_FOR_AUC // self.y.shape[1]))
        part = ScoreLaw(self.mean[few], self.width[few], self.y[few], self.weight[few])
        false, true = part.roc()
        fine, rough = np.trapezoid(true, false), np.trapezoid(true[::2], false[::2])
        return float(fine + (fine - rough) / 3)


def _normal_cdf(x: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return P(x + width g > 0); 1/2 where x and width are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = ndtr(x / width)
    return np.where(width > 0, chance, 0.5 * (1 + np.sign(x)))
