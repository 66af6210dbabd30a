"""The distribution of the score of a trained readout, and what follows from it."""

from __future__ import annotations

import dataclasses
import functools
import math
import operator

import numpy as np
from jaxtyping import Float
from scipy.special import ndtr, sici

from sparsetoken.results import Overlaps
from sparsetoken.theory.laws.feature_law import FeatureLaw

_THRESHOLDS = 199  # odd, so that with the ends every second point is a rule as well
_NODES_FOR_AUC = 256  # of each class and scramble
_COUNTED, _FAR = 30, 10.0
_REACH = 7.0  # P(|g| > REACH) = 3e-12
_FIRST_STEPS, _MOST_STEPS = 24, 1024
_ENOUGH = 1e-11
_ROUNDING = 1e-15  # relative: narrower normals are points
_VALUES = 2**15  # of densities at a time: they stay in the cache


@dataclasses.dataclass(frozen=True)
class ScoreDistribution:
    """A mixture of normals for each class: score | node ~ N(mean, width^2).

    Equation: score-law. The law of the features may differ from the one the readout was
    trained on (other L, R, theta, pi at test time).

    Attributes
    ----------
    mean, width : arrays of shape (scrambles, nodes)
    y, weight : arrays of shape (scrambles, nodes), or (1, nodes) for those of all scrambles
    exact : bool
        Whether the nodes are a quadrature rule, of which each has its place; others are points of
        scrambled Sobol sequences, of which the first are a sample as well.
    """

    mean: Float[np.ndarray, "scrambles nodes"]
    width: Float[np.ndarray, "scrambles nodes"]
    y: Float[np.ndarray, "#scrambles nodes"]
    weight: Float[np.ndarray, "#scrambles nodes"]
    exact: bool = dataclasses.field(default=False, kw_only=True)

    @classmethod
    def of(
        cls, law: FeatureLaw, p: Float[np.ndarray, " J"], b: float, q: Float[np.ndarray, " K"]
    ) -> ScoreDistribution:
        """Return the scores on features of a law; p, b and q are as of `OrderParameters`."""
        variance = float(p @ law.covariance @ p) + law.C**2 @ q
        width = np.sqrt(np.maximum(variance, 0.0))
        return cls(law.a @ p + b, width, law.y, law.weight, exact=law.exact)

    @classmethod
    def of_overlaps(cls, law: FeatureLaw, w: Overlaps) -> ScoreDistribution:
        """Return the scores of readout w on features of isotropic tokens."""
        q = np.array([w.orthogonal**2 + w.noise**2])
        return cls.of(law, np.array([w.query, w.orthogonal]), w.bias, q)

    @functools.cached_property
    def errors(self) -> Float[np.ndarray, "scrambles nodes"]:
        """P(y score < 0) for each node; half for a score of exactly 0."""
        return _normal_cdf(-self.y * self.mean, self.width)

    @functools.cached_property
    def errors_by_scramble(self) -> Float[np.ndarray, " scrambles"]:
        """P(y score < 0) in each scramble."""
        return np.einsum("sn,sn->s", self.weight, self.errors)

    @functools.cached_property
    def _test_error(self) -> float:
        return float(self.errors_by_scramble.mean())

    def test_error(self) -> float:
        """Return P(y score < 0), with half of P(score = 0)."""
        return self._test_error

    def unseen_error(self) -> float:
        """Return the standard error of a small test error from events that no node has seen.

        An event of the probability of one node is missed by all nodes in one case of three, and
        the spread over scrambles does not show it. A number of events of which none was seen has
        the standard deviation sqrt(1/2) after Jeffreys' prior; so many nodes of each class may
        be missing where all errors weigh less than `_COUNTED` nodes.
        """
        labels = [y for y in (1.0, -1.0) if (self.y == y).any()]  # a task may have one class
        nodes = [float(self.weight[self.y == label].max()) / len(self.y) for label in labels]
        if self.test_error() >= _COUNTED * max(nodes):
            return 0.0
        missing = [node for node, y in zip(nodes, labels, strict=True) if not self._far(y)]
        return math.sqrt(0.5) * math.hypot(*missing)

    def _far(self, label: float) -> bool:
        """Return whether a class is so far on its side that no event takes it to the other.

        Its nodes are if a deviation from their mean ten times that of the worst does not,
        measured in widths or in scores.
        """
        at = self.y == label
        margin, width = label * self.mean[at], self.width[at]
        widths = margin / np.maximum(width, 1e-100)
        return any(
            values.min() - _FAR * (values.mean() - values.min()) > reach
            for values, reach in ((widths, 0.0), (margin, _FAR * width.max()))
        )

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

        It is that of the first nodes of each class and scramble, which a Sobol sequence spreads as
        evenly as all.
        """
        part = self._first_nodes()
        area = part._smooth_area()
        if area is not None:
            return area
        false, true = part.roc()
        fine, rough = np.trapezoid(true, false), np.trapezoid(true[::2], false[::2])
        return float(fine + (fine - rough) / 3)

    def _first_nodes(self) -> ScoreDistribution:
        """Return a quarter of the nodes of each class and scramble, or as many as are enough."""
        classes = [np.flatnonzero(self.y[0] == label) for label in (1, -1)]
        counts = [max(_NODES_FOR_AUC, len(at) // 4) for at in classes]
        if self.exact or all(map(operator.le, map(len, classes), counts)):
            return self
        few = np.concatenate([at[:count] for at, count in zip(classes, counts, strict=True)])
        parts = (x[:, few] for x in (self.mean, self.width, self.y, self.weight))
        return ScoreDistribution(*parts)

    def _smooth_area(self) -> float | None:
        """Return the area from both densities on evenly spaced scores, None if that takes many.

        The densities are band-limited up to `_ENOUGH`, so that the step function between them
        has the weights 1/2 + Si(pi j)/pi at a distance of j steps.
        """
        negative, positive = self._of(-1), self._of(1)
        widths = np.concatenate([negative[1], positive[1]])
        means = np.concatenate([negative[0], positive[0]])
        low, high = float(np.min(means - _REACH * widths)), float(np.max(means + _REACH * widths))
        if widths.min() <= _ROUNDING * max(abs(low), abs(high)):
            return None
        steps = _needed_steps(widths / (high - low), np.concatenate([negative[2], positive[2]]))
        if steps is None:
            return None
        t, step = np.linspace(low, high, steps + 1, retstep=True)
        false, true = (_density(t, *nodes) * step for nodes in (negative, positive))
        return float(true @ np.convolve(_steps(steps), false, mode="valid"))

    def _of(self, label: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return mean, width and weight of the nodes of a class; weights add up to 1."""
        at = (self.y == label) & (self.weight > 0)
        return self.mean[at], self.width[at], self.weight[at] / self.weight[at].sum()


def _normal_cdf(x: np.ndarray, width: np.ndarray) -> np.ndarray:
    """Return P(x + width g > 0); 1/2 where x and width are 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        chance = ndtr(x / width)
    return np.where(width > 0, chance, 0.5 * (1 + np.sign(x)))


@functools.cache
def _steps(steps: int) -> np.ndarray:
    """Return 1/2 + Si(pi j)/pi, |j| <= steps: the band-limited step function on a grid."""
    return 0.5 + sici(np.pi * np.arange(-steps, steps + 1))[0] / np.pi


def _needed_steps(widths: np.ndarray, weights: np.ndarray) -> int | None:
    """Return into how many steps an interval of length 1 is cut, None if into too many.

    A pair of normals of width T or more has an error of exp(-(pi T / step)^2) at most.
    """
    steps = _FIRST_STEPS
    while weights @ np.exp(-((np.pi * steps * widths) ** 2)) > _ENOUGH:
        steps = math.ceil(1.2 * steps)
        if steps > _MOST_STEPS:
            return None
    return steps


def _density(t: np.ndarray, mean: np.ndarray, width: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the density of a mixture of normals at t."""
    scale = 1 / (math.sqrt(2) * width)
    middle, height = scale * mean, weight * scale / math.sqrt(math.pi)
    rows = max(1, _VALUES // len(mean))
    parts = []
    for first in range(0, len(t), rows):
        g = np.multiply.outer(t[first : first + rows], scale)
        g -= middle
        np.square(g, out=g)
        np.negative(g, out=g)
        parts.append(np.exp(g, out=g) @ height)
    return np.concatenate(parts)
