"""Have labels anything to do with tokens? An exact permutation test of a one-step query."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.fitting.task import Task

PERMUTATIONS = 199
SHARPNESSES = (0.0, 1.0, -1.0, 2.0, -2.0)  # of the pooling; < 0: tokens of the first class
VALUES = 10_000_000  # of tokens: a test on so many is powerful, and takes half a second
WIDTH = 4_000_000  # token scores at a time


def signal_pvalue(task: Task) -> float:
    """Return the p-value of the hypothesis that labels are independent of bags.

    Equation: signal-test. For each order t of the labels the query is the difference of the mean
    tokens of the classes, w = sum_i s_i t_i xbar_i with t centred. Without its own share in w,
    each bag is pooled at several sharpnesses, log mean exp(k u_l) / k, and the statistic is the
    correlation of that with t. The largest over k, each in its deviations over all orders,
    is compared with those of 199 random orders. Whatever the tokens are, a p-value below
    a is no more likely than a if the labels are independent of them.

    Parameters
    ----------
    task : Task

    Returns
    -------
    float
        A multiple of 1/200.
    """
    task = _some(task)
    orders = _orders(task)
    statistics = np.concatenate(
        [_statistics(task, part) for part in np.array_split(orders, _parts(task, len(orders)))]
    )
    spread = statistics.std(axis=0)
    standard = (statistics - statistics.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    most = standard.max(axis=1)
    # Equal but for rounding counts as equal.
    return float(np.mean(most >= most[0] - 1e-9 * abs(most[0])))


def either_pvalue(first: float, second: float) -> float:
    """Return the p-value of two tests of one hypothesis, twice the smaller; nan is left out."""
    known = [p for p in (first, second) if p == p]
    return min(1.0, len(known) * min(known))


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
