"""Labels and weights: what a fit knows of its samples besides their tokens."""

from __future__ import annotations

import abc
import dataclasses
import functools
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped


@dataclasses.dataclass(frozen=True, eq=False)
class Samples:
    """Labels and weights of the samples of a two-class problem, or of a regression.

    Attributes
    ----------
    y : array of shape (n,), in {-1, +1}, or real numbers for a regression
    weight : array of shape (n,)
        How much each sample counts, > 0: its sample weight times the weight of its class.
    class_weight : array of shape (n,)
        The weight of the class of each sample. Leave-one-out leaves a sample out with its whole
        weight, as if copies of it were kept in one fold.
    """

    y: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    class_weight: Float[np.ndarray, " n"]

    def take(self, rows: Shaped[np.ndarray, " m"]) -> Samples:
        """Return those of some samples; rows are positions or a mask."""
        return Samples(self.y[rows], self.weight[rows], self.class_weight[rows])

    @functools.cached_property
    def share(self) -> Float[np.ndarray, " n"]:
        """The weights, divided by their sum."""
        return self.weight / self.weight.sum()

    @property
    def sample_weight(self) -> Float[np.ndarray, " n"]:
        """The weights less those of the classes."""
        return self.weight / self.class_weight


def effective_weights(weight: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return weights > 0 in a scale in which their sum is the effective sample size.

    That is (sum w)^2 / sum w^2 (L. Kish, 1965): the number of equally weighted samples whose mean
    varies as much. Equal weights, of whatever size, become 1.
    """
    relative = weight / weight.max()
    return relative * (relative.sum() / np.square(relative).sum())


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Targets(abc.ABC):
    """What is to be predicted of the samples that have any weight.

    Attributes
    ----------
    used : bool array of shape (m,)
        Whether each sample that was given has any weight. The other arrays leave the rest out.
    weight : array of shape (n,)
        The sample weights, > 0, as `effective_weights` scales them.
    shift, scale : float
        A score z of a problem stands for shift + scale z in what was given.
    """

    used: Bool[np.ndarray, " m"]
    weight: Float[np.ndarray, " n"]
    shift: float = 0.0
    scale: float = 1.0

    @abc.abstractmethod
    def problems(self) -> list[Samples]:
        """Return what is fitted, each by itself: one problem for each column of scores."""

    @abc.abstractmethod
    def constant(self, samples: Samples) -> float:
        """Return the score of a problem that knows of no token."""

    @abc.abstractmethod
    def strata(self) -> Shaped[np.ndarray, " n"]:
        """Return of what kind each sample is; folds hold as many of each."""

    @abc.abstractmethod
    def given(self) -> Shaped[np.ndarray, " n"]:
        """Return the labels or numbers as they were given."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ClassTargets(Targets):
    """Labels of any number of classes.

    Attributes
    ----------
    classes : array of shape (K,)
        The labels in order.
    number : int array of shape (n,)
        The place in `classes` of the label of each sample.
    class_weight : array of shape (K,) or "balanced"
        Balanced: both sides of every two-class problem count alike.
    """

    classes: Shaped[np.ndarray, " K"]
    number: Int[np.ndarray, " n"]
    class_weight: Float[np.ndarray, " K"] | Literal["balanced"]

    def problems(self) -> list[Samples]:
        """Return one problem for two classes, else one for each class against the rest."""
        K = len(self.classes)
        return [self._against_rest(c) for c in ([1] if K == 2 else range(K))]

    def constant(self, samples: Samples) -> float:
        """Return the log odds of the class."""
        plus = samples.y > 0  # of equal classes it is exactly 0
        return float(np.log(samples.weight[plus].sum() / samples.weight[~plus].sum()))

    def strata(self) -> Shaped[np.ndarray, " n"]:
        """Return the labels."""
        return self.given()

    def given(self) -> Shaped[np.ndarray, " n"]:
        """Return the labels."""
        return self.classes[self.number]

    def _against_rest(self, c: int) -> Samples:
        plus = (self.number == c).astype(int)
        if isinstance(self.class_weight, str):
            total = np.bincount(plus, self.weight)
            weight = (total.sum() / (2 * total))[plus]
        else:
            weight = self.class_weight[self.number]
        return Samples(2.0 * plus - 1, self.weight * weight, weight)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class RealTargets(Targets):
    """Numbers, which are fitted in units of their standard deviation.

    Attributes
    ----------
    y : array of shape (n,)
        Of mean `shift` and standard deviation `scale` with its weights; 1 if all are equal.
    """

    y: Float[np.ndarray, " n"]

    @classmethod
    def of(
        cls,
        used: Bool[np.ndarray, " m"],
        weight: Float[np.ndarray, " n"],
        y: Float[np.ndarray, " n"],
    ) -> RealTargets:
        """Return the targets of some numbers."""
        share = weight / weight.sum()
        first = float(y[0])  # equal numbers become exact zeros
        shift = first + float(share @ (y - first))
        scale = float(np.sqrt(share @ np.square(y - shift)))
        scale = scale if scale > 0 else 1.0
        return cls(used=used, weight=weight, y=y, shift=shift, scale=scale)

    def problems(self) -> list[Samples]:
        """Return the one problem, in units of the standard deviation."""
        z = (self.y - self.shift) / self.scale
        return [Samples(z, self.weight, np.ones(len(z)))]

    def constant(self, samples: Samples) -> float:
        """Return the mean, which is 0 in these units."""
        return 0.0

    def strata(self) -> Int[np.ndarray, " n"]:
        """Return one kind for all."""
        return np.zeros(len(self.y), dtype=int)

    def given(self) -> Float[np.ndarray, " n"]:
        """Return the numbers."""
        return self.y
