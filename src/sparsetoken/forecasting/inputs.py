"""Bags and two-class labels, checked for a forecast, and the numbers that curves depend on."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.estimators.fitting.targets import counts_of_classes, read_classes

LEAST_BAGS = 10  # or groups, of each class: two in each of five folds
_SAFE = 1e-6  # of the largest value whose square is finite, so that sums of squares are too


@dataclasses.dataclass(frozen=True)
class Labelled:
    """Bags of two classes, which are in order: the second is the positive one.

    Groups, by number, are None where none are given.
    """

    bags: Bags
    positive: Bool[np.ndarray, " n"]
    groups: Int[np.ndarray, " n"] | None = None


def read_labelled(bags: Any, y: Any, groups: Any = None) -> Labelled:
    """Check bags and labels: finite tokens that can be squared and differ, 10 bags of a class.

    With groups each class has bags of at least 10 of them.
    """
    read = as_bags(bags)
    largest, most = np.abs(read.tokens).max(), _SAFE * np.sqrt(np.finfo(read.dtype).max)
    if largest > most:
        legal = f"of values up to {most:.2g} (in {read.dtype})"
        raise InvalidInput("bags", legal, f"{largest:.3g}", "Scale the columns.")
    targets = read_classes(read, y, None, None, groups)
    if len(targets.classes) != 2:
        remedy = "Compare one class with the rest: y == label, --positive on the command line."
        raise InvalidInput("y", "of two classes", f"{len(targets.classes)} classes", remedy)
    counts = counts_of_classes(targets.number, targets.groups)
    if counts.min() < LEAST_BAGS:
        rare, what = targets.classes[counts.argmin()], "bags" if groups is None else "groups"
        remedy = (
            f"Label {LEAST_BAGS - counts.min()} more; or cross-validate these, which needs no more "
            "than two: st.cross_validated, bags fit on the command line."
        )
        name, legal = f"the number of {what} of class {rare}", f"at least {LEAST_BAGS}"
        raise InvalidInput(name, f"{legal} for a forecast", int(counts.min()), remedy)
    if (read.tokens == read.tokens[0]).all():
        raise InvalidInput("bags", "of tokens that are not all equal", "equal tokens")
    return Labelled(read, targets.number == 1, targets.groups)


LONGEST = 200  # longer bags count as so long: the curves hardly change, their time does


@dataclasses.dataclass(frozen=True)
class BagLaw:
    """The numbers of the bags that learning curves depend on.

    The length L is the median size of a bag. With the harmonic mean of the sizes, `averaging`, the
    noise of a mean token has variance 1/averaging. `between` is the mean variance of the effect of
    a bag, in units of that of tokens within a bag.
    """

    length: int
    averaging: float
    between: float
    positive_rate: float


def bag_law(data: Labelled) -> BagLaw:
    """Estimate the law of the bags on columns scaled by the deviations of all tokens."""
    bags = data.bags
    means = StandardTokens.of(bags, np.ones(len(bags)), True).means
    averaging = float(1 / np.mean(1 / bags.sizes))
    return BagLaw(
        length=min(max(1, round(float(np.median(bags.sizes)))), LONGEST),
        averaging=min(averaging, float(LONGEST)),
        between=_between(data, means, averaging),
        positive_rate=float(data.positive.mean()),
    )


def _between(data: Labelled, means: Float[np.ndarray, "n d"], averaging: float) -> float:
    """Return the variance of the bags' effects over that of tokens in a bag, by moments."""
    sizes, N, n = data.bags.sizes, len(data.bags.tokens), len(data.bags)
    if n == N:
        return 0.0
    columns = int((np.square(means).sum(axis=0) > 0).sum())
    # Standardised columns have a mean square of 1 over all tokens.
    within = (N * columns - float(sizes @ np.square(means).sum(axis=1))) / (N - n)
    rows = (data.positive, ~data.positive)
    squares = sum(float(np.square(means[r] - means[r].mean(axis=0)).sum()) for r in rows)
    excess = squares / (n - 2) - within / averaging
    return max(excess, 0.0) / within if within > 0 else 0.0
