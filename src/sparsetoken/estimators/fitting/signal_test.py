"""Have labels anything to do with tokens? An exact permutation test."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import cho_factor, cho_solve

from sparsetoken.bags import Bags
from sparsetoken.estimators.fitting.task import Task

PERMUTATIONS = 99
SHARPNESS = 2.0  # of scores with deviation 1: near theta <w, xi> / |w| of a signal just found
SIDES = (1.0, -1.0)  # tokens of the second class, and of the first
FOLDS, STEPS = 10, 3
VALUES = 10_000_000  # worked on at a time: 80 MB
WORK = 2e11  # operations with tokens: some five seconds of one core


def signal_pvalue(tasks: Sequence[Task]) -> float:
    """Return the p-value of the hypothesis that labels are independent of bags.

    Equation: signal-test. For each order t of the labels the bags are scored in several ways; the
    correlations of the scores with t are divided by their deviations over all orders. The
    statistic is the largest of three numbers, divided alike: the largest correlation, for a
    signal that one score finds, and two sums, for one that all find a little, over the scores that
    look for tokens of the second class and of the first. It is compared with those of 99
    random orders. Whatever the tokens are, a p-value below a is no more likely than a if the
    labels are independent of them.

    Two scores are left-out predictions of a ridge regression of t: on mean tokens, and on the
    largest value of each column. The others are of tokens, cross-fitted in ten random folds. The
    query is the difference of the mean tokens of the classes in the other folds, w = sum_i s_i t_i
    xbar_i with t centred. A bag is scored by the mean of <w, x_l> and by log mean exp(k u_l), u_l
    being the same divided by its deviation, and k = 2, or -2 for tokens of the first class. The
    query then turns to the signal as in training, three times: tokens are averaged with softmax
    weights of k u_l in place of equal ones, and the averages are centred over the bags. Bags are
    scored again by the query this gives. All bags are used; only where scoring the tokens for
    all orders takes more than some seconds are the ridge regressions alone.

    Parameters
    ----------
    tasks : sequence of Task
        The same bags and labels in several forms, such as tokens and their normal scores. All
        have their statistics.

    Returns
    -------
    float
        A multiple of 1/100.
    """
    statistics_of_tasks = [_all_statistics(task) for task in tasks]
    standard = _standardized(
        np.concatenate([statistics for statistics, _ in statistics_of_tasks], axis=1)
    )
    sides = np.concatenate([side for _, side in statistics_of_tasks])
    sums = [standard[:, sides != other].sum(axis=1) for other in (-1, 1)]
    most = _standardized(np.stack([standard.max(axis=1), *sums], axis=1)).max(axis=1)
    # Equal but for rounding counts as equal.
    return float(np.mean(most >= most[0] - 1e-9 * abs(most[0])))


def _standardized(statistics: Float[np.ndarray, "P K"]) -> Float[np.ndarray, "P K"]:
    """Return columns with mean 0 and deviation 1 over all orders."""
    spread = statistics.std(axis=0)
    return (statistics - statistics.mean(axis=0)) / np.where(spread > 0, spread, 1.0)


def _all_statistics(task: Task) -> tuple[Float[np.ndarray, "P K"], Float[np.ndarray, " K"]]:
    """Return the statistics of the labels and of random orders of them, and their sides.

    The side is 1 or -1 for tokens of the second or the first class, and 0 for both.
    """
    orders, tokens = _orders(task.samples.y), task.tokens
    predictions = [_left_out_predictions(one, orders) for one in (tokens.means, tokens.largest)]
    statistics = [_correlations(one, orders)[:, None] for one in predictions]
    sides = np.zeros(len(statistics))
    # Each turn takes three products with the tokens, the last scores one; the weights of a token
    # take as long as some 500 operations in each step.
    each = 2 * (3 * STEPS + 1) * task.bags.dimension + 1500
    if len(SIDES) * (PERMUTATIONS + 1.0) * len(task.bags.tokens) * each <= WORK:
        queries = len(SIDES) * FOLDS * task.bags.dimension  # values, of each order
        parts = np.array_split(orders, -(-2 * queries * len(orders) // VALUES))
        statistics.append(np.concatenate([_token_statistics(task, part) for part in parts]))
        sides = np.concatenate([sides, np.tile(SIDES, 4)])
    return np.concatenate(statistics, axis=1), sides


def _left_out_predictions(
    features: Float[np.ndarray, "n m"], orders: Float[np.ndarray, "P n"]
) -> Float[np.ndarray, "P n"]:
    """Return what a ridge regression of each row of targets predicts of the samples it left out.

    Columns are standardised, and the ridge is the mean squared norm of the samples: the
    direction is between that of least squares and that of the difference of means.
    """
    n, deviation = len(features), features.std(axis=0)
    varies = deviation > 1e-12 * np.abs(features).max(initial=0)
    F = (features - features.mean(axis=0)) / np.where(varies, deviation, np.inf)
    ridge = float(np.square(F).sum() / n) or 1.0
    if n <= F.shape[1]:
        K = F @ F.T
        hat = np.eye(n) - ridge * cho_solve(cho_factor(K + ridge * np.eye(n)), np.eye(n))
        fitted, own = orders @ hat, np.diag(hat)
    else:
        inner = F.T @ F
        inner[np.diag_indices_from(inner)] += ridge
        solved = cho_solve(cho_factor(inner), F.T)
        fitted, own = orders @ F @ solved, np.einsum("nm,mn->n", F, solved)
    return (fitted - orders * own) / (1 - own)


def _orders(y: Float[np.ndarray, " n"]) -> Float[np.ndarray, "P n"]:
    """Return the labels, and the same in random orders, each less their mean.

    The level is exact only if nothing else knows the labels: weights play no part.
    """
    rng = np.random.RandomState(0)
    orders = np.stack([y, *(rng.permutation(y) for _ in range(PERMUTATIONS))])
    return orders - orders.mean(axis=1, keepdims=True)


def _token_statistics(task: Task, orders: Float[np.ndarray, "P n"]) -> Float[np.ndarray, "P K"]:
    """Return the correlations with scores by mean tokens, for each side, and by turned queries."""
    bags, n = task.bags, len(task.bags)
    fold = np.random.RandomState(1).permutation(n) % FOLDS
    means = task.tokens.means - task.tokens.means.mean(axis=0)
    # Both sides begin with the difference of the mean tokens.
    queries = np.stack([(orders / n * (fold == f)) @ means for f in range(FOLDS)])
    Q = np.stack([queries] * len(SIDES)).astype(bags.dtype)
    blocks, statistics = _blocks(bags, fold, len(orders)), []
    for step in range(STEPS + 1):
        scores, Q = _scored(task, orders / n, Q, blocks, turn=step < STEPS)
        if step in (0, STEPS):
            statistics += [
                side * _correlations(m, orders)
                for of_pooling in scores
                for side, m in zip(SIDES, of_pooling, strict=True)
            ]
    return np.stack(statistics, axis=1)


def _blocks(
    bags: Bags, fold: Int[np.ndarray, " n"], count: int
) -> list[tuple[int, Int[np.ndarray, " _"]]]:
    """Return sets of whole bags of one fold that are worked on together, the largest first."""
    most, blocks = VALUES // (2 * bags.dimension + 3 * count), []
    for f in range(FOLDS):
        rows = np.flatnonzero(fold == f)
        number = np.cumsum(bags.sizes[rows]) // max(most, 1)
        blocks += [(f, rows[number == one]) for one in np.unique(number)]
    return sorted(blocks, key=lambda block: -bags.sizes[block[1]].sum())


def _scored(
    task: Task,
    pull: Float[np.ndarray, "P n"],
    Q: Float[np.ndarray, "S F P d"],
    blocks: list[tuple[int, Int[np.ndarray, " _"]]],
    turn: bool,
) -> tuple[Float[np.ndarray, "2 S P n"], Float[np.ndarray, "S F P d"]]:
    """Return mean and log mean exp of the scores of each bag, and the parts of turned queries.

    The queries Q of a side are sums over folds, of which that of the bag is left out. The tokens
    are read once. Scores are divided by their deviation in the first block.
    """
    tokens, dtype = task.tokens, task.bags.dtype
    middle = (tokens.mean + tokens.scale * tokens.means.mean(axis=0)).astype(dtype)
    scale, pull = tokens.scale.astype(dtype), pull.astype(dtype)
    pooled, turned = np.empty((2, len(Q), *pull.shape)), np.zeros_like(Q)
    total, sharpness = Q.sum(axis=1), [np.empty(0)] * len(Q)
    average = np.zeros_like(total)
    for place, (f, rows) in enumerate(blocks):
        bags = task.bags[rows]
        z, sizes, starts = (bags.tokens - middle) / scale, bags.sizes, bags.offsets[:-1]
        for side, sign in enumerate(SIDES):
            u = (total[side] - Q[side, f]) @ z.T
            if place == 0:
                spread = u.std(axis=1, keepdims=True)
                sharpness[side] = sign * SHARPNESS / np.where(spread > 0, spread, 1)
            u *= sharpness[side]
            pooled[0, side][:, rows] = np.add.reduceat(u, starts, axis=1) / sizes
            top = np.maximum.reduceat(u, starts, axis=1)
            u -= np.repeat(top, sizes, axis=1)
            sums = np.add.reduceat(np.exp(u, out=u), starts, axis=1)
            pooled[1, side][:, rows] = top + np.log(sums / sizes)
            if turn:
                u /= np.repeat(sums, sizes, axis=1)
                average[side] += u @ z
                u *= np.repeat(pull[:, rows], sizes, axis=1)
                turned[side, f] += u @ z
    # Pooled bags are centred, or queries would tell of the share of each class in a fold.
    for f, rows in blocks:
        turned[:, f] -= pull[:, rows].sum(axis=1)[:, None] * (average / len(task.bags))
    return pooled, turned


def _correlations(
    pooled: Float[np.ndarray, "P n"], orders: Float[np.ndarray, "P n"]
) -> Float[np.ndarray, " P"]:
    moved = pooled - pooled.mean(axis=1, keepdims=True)
    norm = np.sqrt(np.square(moved).sum(axis=1) * np.square(orders).sum(axis=1))
    return np.einsum("pn,pn->p", orders, moved) / np.where(norm > 0, norm, 1.0)
