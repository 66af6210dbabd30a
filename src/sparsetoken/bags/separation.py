"""A look at the data before any model: single columns that tell the classes apart."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_bags, check_labels
from sparsetoken.bags.segments import segment_max, segment_mean
from sparsetoken.validation import InvalidInput, real


@dataclasses.dataclass(frozen=True)
class SeparatingColumn:
    """One number of a bag that a threshold turns into its class.

    Attributes
    ----------
    label : Any
        The class told from the others; of two classes the second.
    column : int or None
        The column of the tokens; None for the number of tokens.
    summary : str
        ``mean``, ``max`` or ``min`` of the column over the bag, or ``size``.
    error : float
        Least balanced error of a threshold, in [0, 1/2]: the mean of the shares of both
        classes that lie on the wrong side.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import as_bags, separating_columns
    >>> tokens, labels = np.random.default_rng(0).standard_normal((20, 4, 3)), np.arange(20) % 2
    >>> tokens[labels == 1, 2, 1] += 9
    >>> found = separating_columns(as_bags(tokens), labels)[0]
    >>> found.column, found.summary, found.error
    (1, 'max', 0.0)
    """

    label: Any
    column: int | None
    summary: str
    error: float


def separating_columns(bags: Any, y: Any, *, error: float = 0.05) -> list[SeparatingColumn]:
    """Return the single columns that separate the bags of one class from the others.

    Such a column is often a leak: an id, a time or the order of collection. A model that
    finds it says nothing of what it would do on new data. With few bags and many columns one
    separates them by chance: compare with what permuted labels give.

    Parameters
    ----------
    bags : any form of bags
    y : array of shape (n,)
        Class labels of any kind; more than two classes are taken one against the rest.
    error : float
        Largest balanced error, in [0, 1/2), of a column that counts as separating.

    Returns
    -------
    list of SeparatingColumn
        By rising error; empty if there is none.

    Raises
    ------
    InvalidInput
        If y has another length, or one class only, or `error` is out of range.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import as_bags
    >>> tokens = np.random.default_rng(0).standard_normal((20, 4, 3))
    >>> labels = np.arange(20) % 2
    >>> tokens[labels == 1, 2, 1] += 9
    >>> separating_columns(as_bags(tokens), labels)[0]
    SeparatingColumn(label=1, column=1, summary='max', error=0.0)
    """
    error = real("error", error, 0.0, 0.5, open_high=True)
    check_labels(y)
    bags, labels = as_bags(bags), np.asarray(y)
    if labels.shape != (len(bags),):
        raise InvalidInput("y", f"one label for each of {len(bags)} bags", labels.shape)
    classes = np.unique(labels)
    if len(classes) < 2:
        raise InvalidInput("y", "of at least two classes", f"{len(classes)} class")
    wanted = (classes[1:] if len(classes) == 2 else classes).tolist()
    found = [
        SeparatingColumn(label, None if summary == "size" else column, summary, float(least))
        for summary, values in _summaries(bags).items()
        for label in wanted
        for column, least in enumerate(_least_errors(values, labels == label))
        if least <= error
    ]
    return sorted(found, key=lambda one: one.error)


def _summaries(bags: Bags) -> dict[str, Float[np.ndarray, "n m"]]:
    """Return the numbers of each bag that are looked at, by name."""
    return {
        "max": segment_max(bags.tokens, bags.offsets),
        "min": np.stack([bag.min(axis=0) for bag in bags]),
        "mean": segment_mean(bags.tokens, bags.offsets),
        "size": bags.sizes[:, None].astype(np.float64),
    }


def _least_errors(
    values: Float[np.ndarray, "n m"], plus: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " m"]:
    """Return the least balanced error of a threshold on each column, of either sign."""
    order = np.argsort(values, axis=0)
    ranked, side = np.take_along_axis(values, order, axis=0), plus[order]
    below_plus = np.cumsum(side, axis=0) / plus.sum()
    below_minus = np.cumsum(~side, axis=0) / (~plus).sum()
    gap = np.abs(below_plus - below_minus)[:-1]
    gap[ranked[1:] == ranked[:-1]] = 0.0  # no threshold lies between equal values
    return (1 - gap.max(axis=0, initial=0.0)) / 2
