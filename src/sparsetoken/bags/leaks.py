"""A look at the data before any model: what lets a fit score better than on new bags."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy
from jaxtyping import Bool, Float, Int, Shaped

from sparsetoken.bags.container import Bags
from sparsetoken.bags.convert import as_bags
from sparsetoken.bags.labels import id_texts, read_labels, some
from sparsetoken.base.progress import Progress, progress_of
from sparsetoken.base.validation import InvalidInput

LARGEST_ERROR = 0.05  # balanced, of a number that counts as separating
LEVEL = 0.01  # of chance, in each check of one set of bags
NEIGHBOURS = 10
_LOGS = 0.4035  # mean of log(r_10/r_j) over j = 5..9 in one dimension
FAR_CLOSER = 0.5  # than the fifth neighbour
DIRECTIONS = 64  # of a random projection, which keeps distances to about a tenth
_ROWS = 1024  # of distances at a time


class LeakWarning(UserWarning):
    """The data may give labels away, or hold a bag twice: held-out scores are then too good.

    Silence it with ``warnings.simplefilter("ignore", LeakWarning)``.
    """


def find_leaks(
    bags: Any,
    y: Any = None,
    groups: Any = None,
    *,
    sample_weight: Any = None,
    ids: Any = None,
    progress: bool = True,
) -> list[str]:
    """Return what in the bags may give labels or bags away, in words.

    `fit`, `cross_validated` and `forecast` ask once of all their bags, and warn. Reported are

    - columns with one value in each bag, as labels, ids and numbers of patients have;
    - columns that in every token separate a class from the others: all its tokens lie above, or
      below, all of theirs, but for 5% of the bags of each side; or the gap between the means of
      its bags and those of the others exceeds the range of each; and the number of tokens, if it
      separates likewise. A signal in some tokens is none, nor is what chance does with a
      probability of 1% or more;
    - bags of different groups that are nearly the same, as two scans of one slide. The distances
      r_1 <= r_2 ... of the mean token to those of other groups, each column in units of its
      deviation, then have r_1 < r_5/2 and 4 n (r_1/r_5)^k < 0.01. That bounds the probability in
      a cloud of k dimensions, of which r_5 to r_10 give k (E. Levina and P. Bickel, 2004);
    - classes whose names differ only in case or in spaces around them;
    - a class whose bags are all of one group, and groups of such different sizes, or weights of
      their bags, that the variance of their mean is more than twice that of groups of one size (the
      design effect of Kish).

    Parameters
    ----------
    bags : any form of bags
        None is without a token.
    y : array of shape (n,), optional
        Labels; more than two classes are taken one against the rest. None for numbers.
    groups : array of shape (n,), optional
        Of which patient, author or place each bag is. By default each is of its own.
    sample_weight : array of shape (n,), optional
        How much each bag counts in its group, >= 0; by default 1.
    ids : array of shape (n,), optional
        By which bags are named; by default their places, from 0.
    progress : bool
        Whether a call of more than two seconds shows its progress.

    Returns
    -------
    list of str
        A sentence or two of each kind; empty if there is nothing to tell.

    Raises
    ------
    InvalidInput
        If there is not one id, label, group or weight for each bag, and as `as_bags`.

    See Also
    --------
    LeakWarning : Warns of what is found.

    Examples
    --------
    >>> import numpy as np
    >>> from sparsetoken.bags import as_bags, find_leaks
    >>> tokens = np.random.default_rng(0).standard_normal((20, 4, 3))
    >>> labels = np.arange(20) % 2
    >>> tokens[labels == 1, 2, 0] += 9  # a signal in one token
    >>> find_leaks(as_bags(tokens), labels)
    []
    >>> tokens[:, :, 1] += 100 * labels[:, None]
    >>> [told.split(":")[0] for told in find_leaks(as_bags(tokens), labels)]
    ['Each of these alone tells the classes apart']
    """
    bags = bags if isinstance(bags, Bags) else as_bags(bags)
    n = len(bags)
    own = np.arange(n) if ids is None else id_texts(ids)
    y = None if y is None else read_labels(y)
    groups = None if groups is None else read_labels(groups, "groups")
    weight = np.ones(n) if sample_weight is None else np.asarray(sample_weight, float)
    each = {"ids": own, "y": y, "groups": groups, "sample_weight": weight}
    for name, given in each.items():
        if given is not None and given.shape != (n,):
            raise InvalidInput(name, f"one for each of {n} bags", f"shape {given.shape}")
    least = np.empty((n, bags.dimension))
    most, means = np.empty_like(least), np.empty_like(least)
    with (
        np.errstate(over="ignore"),  # of tokens that a fit refuses
        progress_of("bags looked at", 2 * n, progress) as done,
    ):
        for i, bag in enumerate(bags):  # one pass over a memory map
            least[i], most[i] = bag.min(axis=0), bag.max(axis=0)
            means[i] = bag.mean(axis=0, dtype=np.float64)
            done()
        pairs = _twins(means, groups, done)
    names = np.array([*(bags.feature_names or range(bags.dimension)), "the number of tokens"], str)
    constant = _constant(least, most, bags.sizes)
    told = []
    if constant.any():
        told.append(
            "Columns with one value in each bag, as labels, ids and numbers of patients have: "
            f"{some(names[:-1][constant].tolist())}. Leave such out of the tokens."
        )
    if y is not None and (apart := _separating(least, most, means, bags.sizes, y)).any():
        told.append(
            f"Each of these alone tells the classes apart: {some(names[apart].tolist())}. If one "
            "is a label, an id, a time or an order of collection, leave it out of the tokens."
        )
        if apart[-1]:  # which no choice of columns leaves out
            told[-1] += ' exclude=("size",) leaves out what is fitted to the number of tokens.'
    if pairs:
        named = some([f"{own[i]} and {own[j]}" for i, j in pairs])
        told.append(
            f"Bags that are nearly the same: {named}. If they "
            "are of one slide, patient or author, held-out scores are better than on new ones: "
            "give them one group in groups=, or leave one out."
        )
    if y is not None and (alike := _alike(np.unique(y))):
        told.append(f"Classes of which the names differ only in case or spaces: {some(alike)}.")
    if groups is not None:
        told += _of_groups(y, np.unique(groups, return_inverse=True)[1], weight)
    return told


def _of_groups(
    y: Shaped[np.ndarray, " n"] | None,
    group: Int[np.ndarray, " n"],
    weight: Float[np.ndarray, " n"],
) -> list[str]:
    """Return what to say of groups that hold a class, or most of the weight of the bags."""
    told, sizes = [], np.bincount(group, weight)
    for label in () if y is None else np.unique(y):
        own = group[y == label]
        if len(own) > 1 and (own == own[0]).all():
            told.append(
                f"All {len(own)} bags of class {label} are of one group: what tells this class "
                "apart may be the group. Take bags of the class from other groups."
            )
    effective = sizes.sum() ** 2 / np.square(sizes).sum()
    if len(sizes) > 2 * effective:
        told.append(
            f"One group has {sizes.max() / sizes.sum():.0%} of all bags, as they are weighted: "
            f"{len(sizes)} groups of these sizes tell as much as {effective:.1f} of one size. For "
            "each group to count once, give `fit` sample_weight=1 / (bags of its group)."
        )
    return told


def _alike(classes: Shaped[np.ndarray, " K"]) -> list[str]:
    """Return the names of classes that are another one's, but for case and spaces around it."""
    folded = [str(one).strip().casefold() for one in classes.tolist()]
    pairs = zip(classes.tolist(), folded, strict=True)
    return [repr(one) for one, name in pairs if folded.count(name) > 1]


def _constant(
    least: Float[np.ndarray, "n d"], most: Float[np.ndarray, "n d"], sizes: Int[np.ndarray, " n"]
) -> Bool[np.ndarray, " d"]:
    """Whether a column has one value in each bag, and not in all, unlike other columns."""
    several = sizes > 1
    if 2 * several.sum() <= len(sizes):
        return np.zeros(least.shape[1], bool)
    least, most = least[several], most[several]
    found: np.ndarray = (least == most).all(axis=0) & (most != most[:1]).any(axis=0)
    return found & ~found.all()  # of one vector in each bag all columns are such


def _separating(
    least: Float[np.ndarray, "n d"],
    most: Float[np.ndarray, "n d"],
    means: Float[np.ndarray, "n d"],
    sizes: Int[np.ndarray, " n"],
    y: Shaped[np.ndarray, " n"],
) -> Bool[np.ndarray, " d+1"]:
    """Whether each column, and at last the size, separates a class from the others."""
    classes, (n, d) = np.unique(y), least.shape
    found = np.zeros(d + 1, bool)
    for label in classes[1:] if len(classes) == 2 else classes:
        plus = y == label
        if 2 * (d + 1) >= LEVEL * scipy.special.binom(n, plus.sum()):
            continue  # one column and side separates with probability 1/binom
        inner, outer = (np.where(plus[:, None], a, b) for a, b in ((least, most), (most, least)))
        for above in (np.column_stack([inner, sizes]), -np.column_stack([outer, sizes])):
            found |= _errors_above(above, plus) <= LARGEST_ERROR
        one, rest = means[plus], means[~plus]
        gap = np.maximum(one.min(axis=0) - rest.max(axis=0), rest.min(axis=0) - one.max(axis=0))
        found[:-1] |= gap > np.maximum(np.ptp(one, axis=0), np.ptp(rest, axis=0))
    return found


def _errors_above(
    values: Float[np.ndarray, "n m"], plus: Bool[np.ndarray, " n"]
) -> Float[np.ndarray, " m"]:
    """Return the least balanced error of a threshold on each column, above which a class is."""
    order = np.argsort(values, axis=0)
    ranked, side = np.take_along_axis(values, order, axis=0), plus[order]
    gap = np.cumsum(~side, axis=0) / (~plus).sum() - np.cumsum(side, axis=0) / plus.sum()
    gap[:-1][ranked[1:] == ranked[:-1]] = 0.0  # no threshold lies between equal values
    return (1 - gap[:-1].max(axis=0, initial=0.0)) / 2


def _twins(means: Float[np.ndarray, "n d"], groups: Any, done: Progress) -> list[tuple[int, int]]:
    """Return the pairs of bags of different groups whose means are nearly the same."""
    n = len(means)
    group = np.arange(n) if groups is None else np.unique(groups, return_inverse=True)[1]
    deviation = means.std(axis=0)
    varied = deviation > 1e-6 * np.abs(means).max(axis=0)  # else of rounding alone
    if n <= NEIGHBOURS or not varied.any():
        done(n)
        return []
    Z = means[:, varied] / deviation[varied]
    if Z.shape[1] > DIRECTIONS:
        Z = Z @ np.random.default_rng(0).standard_normal((Z.shape[1], DIRECTIONS))
    nearest, r = np.empty(n, int), np.empty((n, NEIGHBOURS))
    for start in range(0, n, _ROWS):
        rows = slice(start, start + _ROWS)
        distances = scipy.spatial.distance.cdist(Z[rows], Z)
        distances[group[rows, None] == group] = np.inf
        nearest[rows] = distances.argmin(axis=1)
        r[rows] = np.sort(np.partition(distances, NEIGHBOURS - 1, axis=1)[:, :NEIGHBOURS], axis=1)
        done(len(distances))
    usual = (r[:, 4] > 0) & np.isfinite(r[:, -1])
    if not usual.any():
        return []
    spread = np.median(np.log(r[usual, -1:] / r[usual, 4:-1]).mean(axis=1))
    with np.errstate(divide="ignore"):
        log_ratio = np.log(r[usual, 0] / r[usual, 4])
    bound = np.log(LEVEL / (4 * n)) * spread / _LOGS  # over k, which is _LOGS/spread
    closer = np.flatnonzero(usual)[log_ratio < min(bound, np.log(FAR_CLOSER))]
    return sorted({(min(i, j), max(i, j)) for i, j in zip(closer, nearest[closer], strict=True)})
