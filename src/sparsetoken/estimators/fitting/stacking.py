"""Stacking, or the super learner: convex weights of several scores by left-out loss."""

from __future__ import annotations

import abc

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.optimize import minimize, minimize_scalar
from scipy.special import logsumexp, softmax

from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.losses import Loss

FOLDS = 10

Scores = Float[np.ndarray, "n M"] | Float[np.ndarray, "n K M"]
"""Of each sample by each member, which was fitted without this sample: one score, or one for each
of K classes.
"""


class Risk(abc.ABC):
    """What a weighted sum of scores loses on each sample: smooth and convex in the scores.

    Attributes
    ----------
    samples : Samples
    """

    def __init__(self, samples: Samples) -> None:
        self.samples = samples

    @abc.abstractmethod
    def losses(self, z: Float[np.ndarray, n * K]) -> Float[np.ndarray, " n"]:
        """Return the loss of each sample."""

    @abc.abstractmethod
    def slopes(self, z: Float[np.ndarray, n * K]) -> Float[np.ndarray, n * K]:
        """Return the derivatives of the losses in the scores."""

    @abc.abstractmethod
    def take(self, rows: Bool[np.ndarray, " n"]) -> Risk:
        """Return that of some samples."""

    def mean(self, z: Float[np.ndarray, n * K]) -> float:
        """Return the weighted mean loss."""
        return float(self.samples.share @ self.losses(z))


class LossRisk(Risk):
    """The loss of one score for each sample, of two classes or of a number."""

    def __init__(self, samples: Samples, loss: Loss) -> None:
        super().__init__(samples)
        self.loss = loss

    def losses(self, z: Float[np.ndarray, n * K]) -> Float[np.ndarray, " n"]:
        """Return the loss of each sample."""
        return np.asarray(self.loss.value(self.samples.y, z))

    def slopes(self, z: Float[np.ndarray, n * K]) -> Float[np.ndarray, n * K]:
        """Return the derivatives of the losses in the scores."""
        return np.asarray(self.loss.slope(self.samples.y, z))

    def take(self, rows: Bool[np.ndarray, " n"]) -> LossRisk:
        """Return that of some samples."""
        return LossRisk(self.samples.take(rows), self.loss)


class MultinomialRisk(Risk):
    """The log-loss of the probabilities softmax(z) of K classes, whose numbers are samples.y."""

    def losses(self, z: Float[np.ndarray, n * K]) -> Float[np.ndarray, " n"]:
        """Return the loss of each sample."""
        return np.asarray(logsumexp(z, axis=1) - z[self._right])

    def slopes(self, z: Float[np.ndarray, n * K]) -> Float[np.ndarray, n * K]:
        """Return the derivatives of the losses in the scores."""
        chances = softmax(z, axis=1)
        chances[self._right] -= 1
        return np.asarray(chances)

    def take(self, rows: Bool[np.ndarray, " n"]) -> MultinomialRisk:
        """Return that of some samples."""
        return MultinomialRisk(self.samples.take(rows))

    @property
    def _right(self) -> tuple[Int[np.ndarray, " n"], Int[np.ndarray, " n"]]:
        number = self.samples.y.astype(int)
        return np.arange(len(number)), number


def temperature(scores: Float[np.ndarray, "n K"], risk: Risk) -> float:
    """Return what scores are divided by for the least mean loss: temperature scaling.

    Its logarithm has a standard normal prior, where the losses of all samples add up: if all of
    them are classified rightly no temperature would be low enough.

    References
    ----------
    C. Guo, G. Pleiss, Y. Sun and K. Q. Weinberger (2017), On calibration of modern neural networks.
    """
    if not np.isfinite(scores).all():
        return 1.0
    n = float(risk.samples.weight.sum())

    def objective(log_temperature: float) -> float:
        return risk.mean(scores * np.exp(-log_temperature)) + log_temperature**2 / (2 * n)

    return float(np.exp(minimize_scalar(objective, bounds=(-5, 5), method="bounded").x))


def shrunk_weights(scores: Scores, risk: Risk) -> Float[np.ndarray, " M"]:
    """Return convex weights of left-out scores, of which the first member is a constant.

    The least loss picks members by noise too. So each sample is also scored with weights of the
    samples in other folds, which hold whole groups; the share of all members but the constant is
    multiplied by the factor in [0, 1] that gives these scores the least loss. On noise it is near
    0.

    Parameters
    ----------
    scores : array of shape (n, M) or (n, K, M)
        The first member has the same scores for all samples.
    risk : Risk
    """
    groups = np.arange(len(scores)) if risk.samples.groups is None else risk.samples.groups
    n = int(groups.max()) + 1
    # Whatever order the labels have.
    folds = (np.random.RandomState(0).permutation(n) % FOLDS)[groups]
    weights = convex_weights(scores, risk)
    crossed = np.empty(scores.shape[:-1])
    for fold in range(min(FOLDS, n)):
        inside = folds == fold
        others = weights if n == 1 else convex_weights(scores[~inside], risk.take(~inside))
        # A member without weight may have scores that are not finite.
        crossed[inside] = scores[inside][..., others > 0] @ others[others > 0]
    constant = scores[..., 0]

    def mean_loss(factor: float) -> float:
        return risk.mean(constant + factor * (crossed - constant))

    factor = float(minimize_scalar(mean_loss, bounds=(0, 1), method="bounded").x)
    factor = min((0.0, factor, 1.0), key=mean_loss)  # the search ends inside its bounds
    weights = factor * weights
    weights[0] += 1 - weights.sum()
    return weights


def convex_weights(scores: Scores, risk: Risk) -> Float[np.ndarray, " M"]:
    """Return the weights >= 0 of sum 1 that give weighted scores the least mean loss.

    Equation: stacking. The problem is convex: of least loss among all averages, these weights
    are no worse than those of any one member.

    Parameters
    ----------
    scores : array of shape (n, M) or (n, K, M)
    risk : Risk

    Returns
    -------
    array of shape (M,)
        Weights below 1e-6 are 0. Of members whose scores are not all finite the weight is 0.

    Raises
    ------
    InvalidInput
        If no member has finite scores.

    References
    ----------
    D. H. Wolpert (1992), Stacked generalization; L. Breiman (1996), Stacked regressions;
    M. J. van der Laan, E. C. Polley and A. E. Hubbard (2007), Super learner.
    """
    every = scores.shape[-1]
    usable = np.flatnonzero(np.isfinite(scores).reshape(-1, every).all(axis=0))
    if not len(usable):
        raise InvalidInput("members", "one with finite left-out scores", "none")
    Z, share, M = scores[..., usable], risk.samples.share, len(usable)

    def objective(w: Float[np.ndarray, " m"]) -> tuple[float, Float[np.ndarray, " m"]]:
        z = Z @ w
        pull = (risk.slopes(z).T * share).T
        return risk.mean(z), np.tensordot(pull, Z, axes=pull.ndim)

    vertices = np.eye(M)
    best = min(vertices, key=lambda w: objective(w)[0])
    sum_to_one = {"type": "eq", "fun": lambda w: w.sum() - 1, "jac": lambda w: np.ones(M)}
    solution = minimize(
        objective,
        best,
        jac=True,
        bounds=[(0, 1)] * M,
        constraints=sum_to_one,
        method="SLSQP",
        options={"ftol": 1e-10, "maxiter": 500},
    ).x
    solution = np.clip(solution, 0, None) / np.clip(solution, 0, None).sum()
    if not objective(solution)[0] < objective(best)[0]:  # scores of very different size
        solution = best
    weights = np.zeros(every)
    weights[usable] = np.where(solution > 1e-6, solution, 0.0)
    return weights / weights.sum()
