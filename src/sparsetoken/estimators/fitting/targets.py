"""Labels, numbers and weights: what a fit knows of its samples besides their tokens."""

from __future__ import annotations

import dataclasses
import functools
import math
import warnings
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int, Shaped
from sklearn.utils import assert_all_finite
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_consistent_length, column_or_1d

from sparsetoken.bags import Bags
from sparsetoken.bags.convert import as_floats
from sparsetoken.bags.labels import read_labels, refuse_missing
from sparsetoken.base.validation import InvalidInput

LARGEST_TARGET = 1e100  # squares stay finite


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
    groups : int array of shape (n,), optional
        The number of the group of each sample. Groups are left out whole, and only they are
        independent of one another. Without them each sample is a group of its own.
    """

    y: Float[np.ndarray, " n"]
    weight: Float[np.ndarray, " n"]
    class_weight: Float[np.ndarray, " n"]
    groups: Int[np.ndarray, " n"] | None = None

    def take(self, rows: Shaped[np.ndarray, " m"]) -> Samples:
        """Return those of some samples; rows are positions or a mask."""
        groups = _renumbered(self.groups, rows)
        return Samples(self.y[rows], self.weight[rows], self.class_weight[rows], groups)

    @functools.cached_property
    def share(self) -> Float[np.ndarray, " n"]:
        """The weights, divided by their sum."""
        return self.weight / self.weight.sum()

    @property
    def sample_weight(self) -> Float[np.ndarray, " n"]:
        """The weights less those of the classes."""
        return self.weight / self.class_weight

    def spread(self, values: Float[np.ndarray, " n"]) -> float:
        """Return the standard error of the weighted mean of one value of each sample."""
        with np.errstate(invalid="ignore"):
            moves = self.share * (values - self.share @ values)
        return float(
            np.linalg.norm(moves if self.groups is None else np.bincount(self.groups, moves))
        )


@dataclasses.dataclass(frozen=True, eq=False)
class Targets:
    """What is to be predicted of the samples that have any weight.

    Attributes
    ----------
    used : bool array of shape (m,)
        Whether each sample that was given has any weight. The other arrays leave the rest out.
    weight : array of shape (n,)
        The sample weights, > 0, as `effective_weights` scales them.
    given : array of shape (n,)
        Labels or numbers.
    problems : list of Samples
        What is fitted, each by itself, one for each column of scores: one problem for two classes
        and for numbers, else one for each class against the rest.
    constants : list of float
        The score of each problem that knows of no token: log odds of the class, or the mean.
    classes : array of shape (K,)
        The labels in order; empty for numbers.
    number : int array of shape (n,)
        The place of each label among the classes, 0 for numbers.
    jointly : Samples
        The same samples with ``number`` as y, and weights in which each class counts as it is to.
    shift, scale : float
        A score z of a problem stands for shift + scale z in what was given.
    groups : int array of shape (n,), optional
        The number of the group of each sample, as in `Samples`.
    """

    used: Bool[np.ndarray, " m"]
    weight: Float[np.ndarray, " n"]
    given: Shaped[np.ndarray, " n"]
    problems: list[Samples]
    constants: list[float]
    classes: Shaped[np.ndarray, " K"]
    number: Int[np.ndarray, " n"]
    jointly: Samples
    shift: float = 0.0
    scale: float = 1.0
    groups: Int[np.ndarray, " n"] | None = None

    @property
    def numbers(self) -> bool:
        """Whether numbers are to be predicted, not classes."""
        return not len(self.classes)

    @property
    def strata(self) -> Shaped[np.ndarray, " n"]:
        """Of what kind each sample is: its label. Folds hold as many of each kind."""
        return self.number if self.numbers else self.given

    def take(self, rows: Int[np.ndarray, " k"]) -> Targets:
        """Return those of some samples, whose scores mean what those of all mean."""
        return dataclasses.replace(
            self,
            used=np.ones(len(rows), dtype=bool),
            weight=self.weight[rows],
            given=self.given[rows],
            problems=[one.take(rows) for one in self.problems],
            number=self.number[rows],
            jointly=self.jointly.take(rows),
            groups=_renumbered(self.groups, rows),
        )

    def sampled(self, most: int) -> Int[np.ndarray, " k"]:
        """Return about so many samples: whole groups, evenly of each class, in any order of these.

        Of each class there are two groups or samples, or all. That of a group is its first one's.
        Groups are taken until there are as many samples as asked for.
        """
        groups = np.arange(len(self.number)) if self.groups is None else self.groups
        _, first, sizes = np.unique(groups, return_index=True, return_counts=True)
        of_class, share = self.number[first], min(most / len(self.number), 1.0)
        kept, rng = np.zeros(len(first), dtype=bool), np.random.RandomState(0)
        for c in np.unique(of_class):
            rows = rng.permutation(np.flatnonzero(of_class == c))
            total = np.cumsum(sizes[rows])
            enough = int(np.searchsorted(total, math.ceil(total[-1] * share))) + 1
            kept[rows[: max(enough, 2)]] = True
        return np.flatnonzero(kept[groups])

    def in_units(self, scores: Any) -> Any:
        """Return what scores of the problems stand for."""
        return self.shift + self.scale * scores


def _renumbered(
    groups: Int[np.ndarray, " n"] | None, rows: Shaped[np.ndarray, " m"]
) -> Int[np.ndarray, " k"] | None:
    """Return the groups of some samples, numbered without a gap."""
    return None if groups is None else np.unique(groups[rows], return_inverse=True)[1]


def effective_weights(weight: Float[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Return weights > 0 in a scale in which their sum is the effective sample size.

    That is (sum w)^2 / sum w^2 (L. Kish, 1965): the number of equally weighted samples whose mean
    varies as much. Equal weights, of whatever size, become 1.
    """
    relative = weight / weight.max()
    return relative * (relative.sum() / np.square(relative).sum())


def read_classes(
    bags: Bags, y: Any, sample_weight: Any, class_weight: Any, groups: Any = None
) -> Targets:
    """Check labels, weights and groups against the bags.

    Raises
    ------
    ValueError
        If y is missing, masked, of another length, not of classes, or of one class only; or if
        weights are of another length, negative or not finite, or for a class that y lacks; or as
        `read_groups`.
    """
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None.")
    y = column_or_1d(read_labels(y), warn=True)
    check_consistent_length(bags, y)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of many classes in few bags
            check_classification_targets(y)
    except ValueError as error:
        remedy = "BagRegressor predicts numbers, `fit --numbers` on the command line."
        raise InvalidInput("y", "of class labels", str(error), remedy) from None
    weight = read_weights(bags, sample_weight)
    used = weight > 0
    classes, number = np.unique(y[used], return_inverse=True)
    if len(classes) < 2:
        got = f"1 class, {classes[0]}" if len(classes) else "no weight on any class"
        weighted = "" if sample_weight is None else ", each with a bag of sample_weight > 0"
        raise InvalidInput("y", f"of at least two classes{weighted}", got)
    every = np.unique(y).tolist()
    if isinstance(class_weight, dict) and (unknown := [c for c in class_weight if c not in every]):
        legal = f"a dict with keys among the classes of y, {every}"
        raise InvalidInput("class_weight", legal, f"keys {unknown}")
    factors = _factors(class_weight, classes)
    kept = read_groups(bags, groups, used)
    return of_classes(used, effective_weights(weight[used]), classes, number, factors, kept)


def of_classes(
    used: Bool[np.ndarray, " m"],
    weight: Float[np.ndarray, " n"],
    classes: Shaped[np.ndarray, " K"],
    number: Int[np.ndarray, " n"],
    factors: Float[np.ndarray, " K"] | None,
    groups: Int[np.ndarray, " n"] | None = None,
) -> Targets:
    """Return the targets of labels whose classes have weights, or None: both sides count alike."""
    problems, constants = [], []
    for c in [1] if len(classes) == 2 else range(len(classes)):
        plus = number == c
        if factors is None:
            total = np.bincount(plus, weight)
            factor = (total.sum() / (2 * total))[plus.astype(int)]
        else:
            factor = factors[number]
        one = Samples(2.0 * plus - 1, weight * factor, factor, groups)
        problems.append(one)  # the log odds of equal classes are exactly 0
        constants.append(float(np.log(one.weight[plus].sum() / one.weight[~plus].sum())))
    given, totals = classes[number], np.bincount(number, weight)
    each = (totals.sum() / (len(classes) * totals) if factors is None else factors)[number]
    jointly = Samples(number.astype(float), weight * each, each, groups)
    return Targets(
        used, weight, given, problems, constants, classes, number, jointly, groups=groups
    )


def read_numbers(bags: Bags, y: Any, sample_weight: Any, groups: Any = None) -> Targets:
    """Check numbers to predict, weights and groups; the numbers get a standard deviation of 1.

    Raises
    ------
    ValueError
        If y is missing, masked, of another length, or not of finite numbers of a magnitude and a
        spread that can be squared; or if weights are of another length, negative, not finite, or
        all 0; or as `read_groups`.
    """
    if y is None:
        raise ValueError("This regressor requires y to be passed, but the target y is None.")
    y = column_or_1d(as_floats(y, np.float64, "y"), warn=True)
    check_consistent_length(bags, y)
    refuse_missing(y, "y", int)
    assert_all_finite(y, input_name="y")
    if np.abs(y).max() > LARGEST_TARGET:
        legal = f"of magnitude at most {LARGEST_TARGET:g}"
        raise InvalidInput("y", legal, f"{np.abs(y).max():.3g}", "Take other units.")
    if 0 < np.ptp(y) < 1 / LARGEST_TARGET:
        legal = f"all the same, or apart by at least {1 / LARGEST_TARGET:g}"
        raise InvalidInput("y", legal, f"{np.ptp(y):.3g}", "Take other units.")
    weight = read_weights(bags, sample_weight)
    used = weight > 0
    if not used.any():
        raise InvalidInput("sample_weight", "of at least one bag > 0", "all 0")
    y, weight = y[used], effective_weights(weight[used])
    share, first = weight / weight.sum(), float(y[0])  # equal numbers become exact zeros
    shift = first + float(share @ (y - first))
    scale = float(np.sqrt(share @ np.square(y - shift))) or 1.0
    kept = read_groups(bags, groups, used)
    one = Samples((y - shift) / scale, weight, np.ones(len(y)), kept)
    number = np.zeros(len(y), int)
    return Targets(used, weight, y, [one], [0.0], y[:0], number, one, shift, scale, kept)


def read_groups(
    bags: Bags, groups: Any, used: Bool[np.ndarray, " m"]
) -> Int[np.ndarray, " n"] | None:
    """Return the number of the group of each bag that is used, None if no groups are given.

    Raises
    ------
    InvalidInput
        If a group is missing, they are of several kinds or of another length, or there is one only.
    """
    if groups is None:
        return None
    named = read_labels(groups, "groups")
    if named.shape != used.shape:
        legal = f"one for each of {len(bags)} bags"
        raise InvalidInput("groups", legal, f"shape {named.shape}")
    names, number = np.unique(named[used], return_inverse=True)
    if len(names) < 2:
        remedy = "Leave groups out if all bags are of one."
        raise InvalidInput("groups", "of at least two groups", f"{names[0]} alone", remedy)
    return number


def counts_of_classes(
    number: Int[np.ndarray, " n"], groups: Int[np.ndarray, " n"] | None
) -> Int[np.ndarray, " K"]:
    """Return how many bags each class has, or how many groups have bags of it."""
    if groups is None:
        return np.bincount(number)
    return np.bincount(np.unique(np.stack([number, groups]), axis=1)[0])


def read_weights(bags: Bags, sample_weight: Any) -> Float[np.ndarray, " n"]:
    """Return one weight for each bag, 1 by default.

    Raises
    ------
    ValueError
        If weights are of another length, negative, masked or not finite.
    """
    if sample_weight is not None:
        given = as_floats(sample_weight, np.float64, "sample_weight")
        sample_weight = given if given.ndim else given.item()
    return _check_sample_weight(sample_weight, bags, dtype=np.float64, ensure_non_negative=True)


def _factors(class_weight: Any, classes: np.ndarray) -> Float[np.ndarray, " K"] | None:
    """Return the weight of each class, or None for 'balanced'."""
    if isinstance(class_weight, str) and class_weight == "balanced":
        return None
    if class_weight is None or isinstance(class_weight, dict):
        given = class_weight or {}
        weights = np.array([float(given.get(c, 1.0)) for c in classes.tolist()])
        if np.isfinite(weights).all() and (weights > 0).all():
            return weights
    legal = "None, 'balanced' or a dict from class to a weight > 0"
    raise InvalidInput("class_weight", legal, class_weight)
