"""Have labels anything to do with tokens? An exact permutation test."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve

from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.task import MOST, Task

PERMUTATIONS = 199
LEVEL = 0.05  # below which a signal is taken to be there: on pure noise in 5% of fits
SHARPNESSES = (0.0, 1.0, -1.0, 2.0, -2.0)  # of the pooling; < 0: tokens of the first class
VALUES = 10_000_000  # of tokens: a test on so many is powerful, and takes half a second
WIDTH = 4_000_000  # token scores at a time


def signal_pvalue(tasks: Sequence[Task]) -> float:
    """Return the p-value of the hypothesis that labels are independent of bags.

    Equation: signal-test. For each order t of the labels the bags are scored in seven ways; the
    correlations of the scores with t are divided by their deviations over all orders. The
    statistic is the largest of three numbers, divided alike: the largest correlation, for a
    signal that one score finds, and two sums, for one that all find a little, over the scores that
    look for tokens of the second class and of the first. It is compared with those of 199
    random orders. Whatever the tokens are, a p-value below a is no more likely than a if the
    labels are independent of them.

    Five scores are of tokens. The query is the difference of the mean tokens of the classes,
    w = sum_i s_i t_i xbar_i with t centred. Without its own share in w, each bag is pooled at
    several sharpnesses, log mean exp(k u_l) / k. Two are left-out predictions of a ridge
    regression of t: on mean tokens, and on the largest value of each column.

    Parameters
    ----------
    tasks : sequence of Task
        The same bags and labels in several forms, such as tokens and their normal scores. All
        have their statistics.

    Returns
    -------
    float
        A multiple of 1/200.
    """
    found = [_all_statistics(_some(_with_copies(task))) for task in tasks]
    statistics = np.concatenate(found, axis=1)
    signs = np.sign([*SHARPNESSES, 0.0, 0.0])  # of a ridge regression it is 0: for both classes
    sides = np.concatenate([signs[: one.shape[1]] for one in found])
    standard = _standardized(statistics)
    sums = [standard[:, sides != other].sum(axis=1) for other in (-1, 1)]
    most = _standardized(np.stack([standard.max(axis=1), *sums], axis=1)).max(axis=1)
    # Equal but for rounding counts as equal.
    return float(np.mean(most >= most[0] - 1e-9 * abs(most[0])))


def _standardized(statistics: Float[np.ndarray, "P K"]) -> Float[np.ndarray, "P K"]:
    """Return columns with mean 0 and deviation 1 over all orders."""
    spread = statistics.std(axis=0)
    return (statistics - statistics.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _all_statistics(task: Task) -> Float[np.ndarray, "P K"]:
    """Return the statistics of the labels and of random orders of them."""
    orders, share = _orders(task), task.samples.share
    parts = np.array_split(orders, _parts(task, len(orders)))
    found = [np.concatenate([_statistics(task, part) for part in parts])]
    if task.features.means.size <= MOST:
        for features in (task.features.means, task.features.largest):
            left_out = _left_out_predictions(features, orders, share)
            found.append(_correlations(left_out, orders, share)[:, None])
    return np.concatenate(found, axis=1)


def _left_out_predictions(
    features: Float[np.ndarray, "n m"],
    orders: Float[np.ndarray, "P n"],
    share: Float[np.ndarray, " n"],
) -> Float[np.ndarray, "P n"]:
    """Return what a ridge regression of each row of targets predicts of the samples it left out.

    Columns are standardised, and the ridge is the mean squared length of the samples: the
    direction is between that of least squares and that of the difference of means.
    """
    n = len(share)
    moved = features - share @ features
    deviation = np.sqrt(share @ np.square(moved))
    F = moved / np.where(deviation > 1e-12 * np.abs(features).max(initial=0), deviation, np.inf)
    F *= np.sqrt(share * n)[:, None]
    ridge = float(np.square(F).sum() / n) or 1.0
    if n <= F.shape[1]:
        K = F @ F.T
        hat = np.eye(n) - ridge * cho_solve(cho_factor(K + ridge * np.eye(n)), np.eye(n))
    else:
        inner = F.T @ F
        inner[np.diag_indices_from(inner)] += ridge
        hat = F @ cho_solve(cho_factor(inner), F.T)
    root, own = np.sqrt(share * n), np.diag(hat)
    targets = orders * root
    return (targets @ hat - targets * own) / (1 - own) / root


def either_pvalue(first: float, second: float) -> float:
    """Return the p-value of two tests of one hypothesis, twice the smaller; nan is left out."""
    known = [p for p in (first, second) if p == p]
    return min(1.0, len(known) * min(known))


def _with_copies(task: Task) -> Task:
    """Return the task in which a bag of sample weight 2 is two bags; others as they are."""
    copies = task.samples.copies
    whole = copies.round().astype(int)
    values = whole @ task.bags.sizes * task.bags.dimension
    if (copies == 1).all() or (np.abs(copies - whole) > 1e-9).any() or values > VALUES:
        return task
    task = task.take(np.repeat(np.arange(len(whole)), whole))
    one = task.samples.class_weight
    return dataclasses.replace(task, samples=Samples(task.samples.y, one, one))


def _some(task: Task) -> Task:
    """Return the task of as many bags, in random order, as there is time for."""
    bags = task.bags
    if bags.tokens.size <= VALUES:
        return task
    order = np.random.RandomState(0).permutation(len(bags))
    count = np.searchsorted(np.cumsum(bags.sizes[order]) * bags.dimension, VALUES)
    rows = np.zeros(len(bags), dtype=bool)
    rows[order[: max(int(count), 2)]] = True
    return task.take(rows)


def _orders(task: Task) -> Float[np.ndarray, "P n"]:
    """Return the labels, and the same in random orders, each less its mean."""
    rng, y = np.random.RandomState(0), task.samples.y
    orders = np.stack([y, *(rng.permutation(y) for _ in range(PERMUTATIONS))])
    return orders - (orders @ task.samples.share)[:, None]


def _parts(task: Task, count: int) -> int:
    return max(1, min(count, len(task.bags.tokens) * count // WIDTH))


def _statistics(task: Task, orders: Float[np.ndarray, "P n"]) -> Float[np.ndarray, "P K"]:
    """Return the correlation of each order of labels with what it makes of the bags."""
    share, sizes = task.samples.share, task.bags.sizes
    means = task.features.means - share @ task.features.means
    pull = orders * share
    projection = task.features.projection
    u = projection.projected((pull @ means).T)
    u -= np.repeat(pull.astype(u.dtype), sizes, axis=1) * projection.within(means)
    spread = u.std(axis=1, keepdims=True)
    u /= np.where(spread > 0, spread, 1)
    pooled = [_pooled(u, k, task.bags.offsets[:-1], sizes) for k in SHARPNESSES]
    return np.stack([_correlations(one, orders, share) for one in pooled], axis=1)


def _pooled(
    scores: Float[np.ndarray, "P N"],
    k: float,
    starts: Int[np.ndarray, " n"],
    sizes: Int[np.ndarray, " n"],
) -> Float[np.ndarray, "P n"]:
    """Return log mean exp(k u) / |k| of each bag; the mean score for k = 0."""
    if k == 0:
        return np.add.reduceat(scores, starts, axis=1) / sizes
    u = scores * scores.dtype.type(k)
    top = np.maximum.reduceat(u, starts, axis=1)
    u -= np.repeat(top, sizes, axis=1)
    return np.sign(k) * (top + np.log(np.add.reduceat(np.exp(u, out=u), starts, axis=1) / sizes))


def _correlations(
    pooled: Float[np.ndarray, "P n"],
    orders: Float[np.ndarray, "P n"],
    share: Float[np.ndarray, " n"],
) -> Float[np.ndarray, " P"]:
    moved = pooled - (pooled @ share)[:, None]
    norm = np.sqrt((np.square(moved) @ share) * (np.square(orders) @ share))
    return np.einsum("pn,pn,n->p", orders, moved, share) / np.where(norm > 0, norm, 1.0)
