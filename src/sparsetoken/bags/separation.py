"""A look at the data before any model: single columns that tell the classes apart."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import scipy
from jaxtyping import Bool, Float

from sparsetoken.bags.convert import as_bags
from sparsetoken.bags.keys import read_labels
from sparsetoken.bags.segments import segment_max
from sparsetoken.base.validation import InvalidInput

LARGEST_ERROR = 0.05  # balanced, of a column that counts as separating
LEVEL = 0.01  # of chance; the probability of one column and side is 1 / binom(n, n of the class)


@dataclasses.dataclass(frozen=True)
class SeparatingColumn:
    """One number of a bag that a threshold turns into its class.

    Attributes
    ----------
    label : Any
        The class separated from the others; of two classes the second.
    column : int or None
        The column of the tokens; None for the number of tokens.
    summary : str
        ``min`` if all tokens of the class lie above those of the others, ``max`` if below, or
        ``size``.
    error : float
        Least balanced error of a threshold, in [0, 1/2]: the mean of the shares of bags of both
        classes of which some token lies on the wrong side.
    """

    label: Any
    column: int | None
    summary: str
    error: float


def separating_columns(bags: Any, y: Any) -> list[SeparatingColumn]:
    """Return the single columns that in every token separate the bags of one class from the others.

    Such a column is often a leak: a label, an id, a time or the order of collection. A model
    that finds it says nothing of what it would do on new data. A signal in some of the tokens is
    not counted, however strong: the other tokens of the bag lie among those of other classes.
    Nor is anything reported where chance is enough: where one of so many columns would separate so
    few bags with a probability of 1% or more, if labels had nothing to do with them.

    Parameters
    ----------
    bags : any form of bags
    y : array of shape (n,)
        Class labels of any kind; more than two classes are taken one against the rest.

    Returns
    -------
    list of SeparatingColumn
        By rising error, of 0.05 at most; empty if there is none.

    Raises
    ------
    InvalidInput
        If y has another length, or one class only.

    See Also
    --------
    SeparatingColumn : What is returned for each column.
    LeakWarning : Warns of such a column.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import as_bags
    >>> tokens = np.random.default_rng(0).standard_normal((20, 4, 3))
    >>> labels = np.arange(20) % 2
    >>> tokens[labels == 1, 2, 0] += 9  # a signal in one token
    >>> tokens[:, :, 1] += 100 * labels[:, None]
    >>> separating_columns(as_bags(tokens), labels)
    [SeparatingColumn(label=1, column=1, summary='min', error=0.0)]
    """
    bags, labels = as_bags(bags), read_labels(y)
    if labels.shape != (len(bags),):
        raise InvalidInput("y", f"one label for each of {len(bags)} bags", labels.shape)
    classes = np.unique(labels)
    if len(classes) < 2:
        raise InvalidInput("y", "of at least two classes", f"{len(classes)} class")
    wanted = (classes[1:] if len(classes) == 2 else classes).tolist()
    least = np.stack([bag.min(axis=0) for bag in bags])
    most = segment_max(bags.tokens, bags.offsets)
    sizes = bags.sizes[:, None].astype(np.float64)
    separating = []
    for label in wanted:
        plus = labels == label
        if 2 * (bags.dimension + 1) >= LEVEL * scipy.special.binom(len(plus), plus.sum()):
            continue
        one, rest = plus[:, None], ~plus[:, None]
        errors = {
            "min": _errors_above(np.where(one, least, most), plus),
            "max": _errors_above(-np.where(rest, least, most), plus),
            "size": np.minimum(_errors_above(sizes, plus), _errors_above(-sizes, plus)),
        }
        separating += [
            SeparatingColumn(label, None if summary == "size" else k, summary, float(each[k]))
            for summary, each in errors.items()
            for k in np.flatnonzero(each <= LARGEST_ERROR).tolist()
        ]
    return sorted(separating, key=lambda one: one.error)


def _errors_above(
    values: Float[np.ndarray, "n m"], plus: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " m"]:
    """Return the least balanced error of a threshold on each column, above which a class is."""
    order = np.argsort(values, axis=0)
    ranked, side = np.take_along_axis(values, order, axis=0), plus[order]
    below_plus = np.cumsum(side, axis=0) / plus.sum()
    below_minus = np.cumsum(~side, axis=0) / (~plus).sum()
    gap = (below_minus - below_plus)[:-1]
    gap[ranked[1:] == ranked[:-1]] = 0.0  # no threshold lies between equal values
    return (1 - gap.max(axis=0, initial=0.0)) / 2
