"""Queries from labels: means of bags, covariances within them, two steps, likelihood pooling.

Likelihood pooling scores a bag by the log mean exp of one linear score of its tokens. With one
informative token among Gaussian ones the log odds of a bag are log mean_l exp(<v, z_l>) + b,
v = S^-1 mu: one direction v for query and readout.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import eigh

from sparsetoken.bags.segments import segment_mean
from sparsetoken.estimators.fitting.linear_fit import fit_linear
from sparsetoken.estimators.fitting.standard_tokens import CHUNK, StandardTokens, less_means
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.losses import Loss
from sparsetoken.numerics.erm import FeatureMatrix
from sparsetoken.numerics.lbfgs import descend_together

Subsets = Sequence[Bool[np.ndarray, " n"]]
STEP = 0.5  # size of the gradient step on readout and bias
STRENGTHS = (4.5, 1.5, 0.5)  # of the prior of v, in deviations of a token; a decade of the ridge
STEPS, TOLERANCE = 40, 1e-4  # of a direction that is only compared by left-out loss
LEAST_STEPS, WORK = 8, 2e10  # products in all steps: about ten seconds; with more, fewer steps
SEARCH = 5e9  # products in the steps for all ridges that are tried: some seconds
FLOOR = 0.1  # of the mean variance within bags, that all directions have in addition


def unit_queries(
    task: Task, Q: Float[np.ndarray, "d S"]
) -> tuple[Float[np.ndarray, "d S"], Float[np.ndarray, "N S"]]:
    """Divide queries so that the scores of all tokens have deviation 1, and return these too.

    A query of norm 0 stays as it is.
    """
    # By the norm first: float32 scores of a query of small steps would lose digits.
    norm = np.linalg.norm(Q, axis=0)
    unit = Q / np.where(norm > 0, norm, 1.0)
    tokens, dtype = task.tokens, task.bags.dtype
    scores = tokens.projected(unit).T + (tokens.centre @ unit).astype(dtype)
    spread = np.array([task.spread(column) for column in scores.T])
    scale = np.where(spread > 0, spread, 1.0)
    scores /= scale.astype(dtype)
    return unit / scale, scores


def telling(samples: Samples, subsets: Subsets) -> Bool[np.ndarray, " S"]:
    """Return which subsets have bags of both classes, or different numbers.

    The others say nothing of a direction: the only bag of a class is left out of them.
    """
    return np.array([np.ptp(samples.y[subset]) > 0 for subset in subsets])


def shares_of(samples: Samples, subsets: Subsets) -> Float[np.ndarray, "S n"]:
    """Return the share of each sample in the weight of each subset."""
    weight = np.stack([samples.weight * subset for subset in subsets])
    return weight / weight.sum(axis=1, keepdims=True)


def two_steps(task: Task, subsets: Subsets) -> Float[np.ndarray, "d S"]:
    """Return the query of two gradient steps on each of several subsets of the bags.

    From w = 0, b = 0, q = 0 with h0_i = l'(y_i, 0) and averages over the subset:
    w1 = -mean(h0 xbar)/2, b1 = -mean(h0)/2, and with h_i = l'(y_i, <xbar_i, w1> + b1)
    q2 = -mean(h_i X_i^T (I - 11^T/L_i) X_i w1 / L_i).

    X_i are the standardised tokens of a bag. All tokens are read twice in all, not once for
    each subset.
    """
    bags, samples, loss = task.bags, task.samples, task.loss
    tokens, means, y = task.tokens, task.tokens.means, samples.y
    parts = shares_of(samples, subsets)
    h0 = np.asarray(loss.slope(y, np.zeros(len(y))))
    W1 = -STEP * (parts * h0) @ means
    b1 = -STEP * parts @ h0
    h = parts * np.asarray(loss.slope(y, W1 @ means.T + b1[:, None]))
    # The scores are centred in each bag, so that the mean which z subtracts from x drops out.
    weights = bags.tokens @ tokens.coefficients(W1).T.astype(bags.dtype)
    weights -= np.repeat(segment_mean(weights, bags.offsets), bags.sizes, axis=0)
    weights *= np.repeat((h / bags.sizes).T.astype(bags.dtype), bags.sizes, axis=0)
    moved = (weights.T @ bags.tokens).astype(np.float64)
    return -(moved / tokens.scale).T


def tied(task: Task, subsets: Subsets) -> Float[np.ndarray, "d S"]:
    """Return the readout of the mean token that each of several subsets of the bags gives.

    It is 0 for a subset of one class.
    """
    samples, loss, ridge, scale = task.samples, task.loss, task.mean_fit.ridge, task.mean_fit.scale
    means = task.tokens.means / scale
    queries = np.zeros((means.shape[1], len(subsets)))
    for s in np.flatnonzero(telling(samples, subsets)).tolist():
        F, part = FeatureMatrix(means[subsets[s]]), samples.take(subsets[s])
        queries[:, s] = fit_linear(F, part, loss, ridge, leave_out=False).w / scale
    return queries


def spectral(
    task: Task, subsets: Subsets, folds: Int[np.ndarray, " n"]
) -> list[Float[np.ndarray, "d S"]]:
    """Return two directions along which tokens of a bag vary more in one class than in the other.

    Equation: spectral-query. C_i is the covariance of the tokens of bag i about their own mean, in
    which nothing is left of what they, or all bags of a patient, have in common. The directions v
    are the eigenvectors of largest |e| of D v = e W v, where W is the mean of C_i, with a floor,
    and D the covariance of the labels and C_i: for two classes, in proportion to the difference of
    their mean C_i. They point to where, by the third moments within bags, the tokens of the second
    class reach further.

    Parameters
    ----------
    task : Task
    subsets : list of S bool arrays of shape (n,)
        The bags outside of each fold, then all bags.
    folds : int array of shape (n,)
    """
    bags, samples = task.bags, task.samples
    contrasts = shares_of(samples, subsets)
    levels = contrasts @ samples.y
    contrasts *= samples.y - levels[:, None]
    of_folds = _covariances(task, folds)
    unlike = np.concatenate([1 - np.eye(len(subsets) - 1), np.ones((1, len(subsets) - 1))])
    found = []
    for level, outside in zip(levels.tolist(), unlike, strict=True):
        W, D = np.tensordot(of_folds, outside, axes=(1, 0))
        D -= level * W
        W[np.diag_indices_from(W)] += FLOOR * W.trace() / len(W) or 1.0
        values, vectors = eigh(D, W)
        found.append(vectors[:, np.argsort(-np.abs(values))[:2]])
    queries = []
    for V in np.stack(found, axis=2).swapaxes(0, 1):
        u = less_means(task.tokens.projected(V), bags)
        third = segment_mean((u**3).T, bags.offsets)
        queries.append(V * np.where(np.einsum("sn,ns->s", contrasts, third) < 0, -1.0, 1.0))
    return queries


def _covariances(task: Task, folds: Int[np.ndarray, " n"]) -> Float[np.ndarray, "2 J d d"]:
    """Return the sums over each fold of the weighted C_i, and of these times the label.

    Of more tokens than there is time for, a random part is taken.
    """
    bags, d, dtype = task.bags, task.bags.dimension, task.bags.dtype
    of_token = np.repeat(np.arange(len(bags)), bags.sizes)
    means = segment_mean(bags.tokens, bags.offsets)
    kept = np.random.RandomState(0).random_sample(len(of_token)) * bags.tokens.size * d < WORK
    weights = (task.samples.share / bags.sizes * [np.ones(len(bags)), task.samples.y]).astype(dtype)
    sums = np.zeros((2, folds.max() + 1, d, d))
    for j in range(folds.max() + 1):
        rows = np.flatnonzero(kept & (folds == j)[of_token])
        for some in np.array_split(rows, len(rows) // max(CHUNK // d, d) + 1):
            bag = of_token[some]
            z = (bags.tokens[some] - means[bag]) / task.tokens.scale.astype(dtype)
            for total, weight in zip(sums[:, j], weights, strict=True):
                total += (weight[bag, None] * z).T @ z
    return sums


@dataclasses.dataclass(frozen=True, eq=False)
class LikelihoodProblem:
    """The regularised objectives of several subsets of the bags and several ridges.

    Equation: likelihood-pooling. Each is
    ``sum_i s_i l(y_i, c log mean_l exp(<v, z_il>) + b) + (ridge/2) |v|^2`` with c = 1 where the
    second class holds the tokens and c = -1 where the first does; s_i are the shares of weight.

    Attributes
    ----------
    tokens : StandardTokens
    y : array of shape (n,)
    shares : array of shape (S, n)
        Of the weight of each bag in each problem.
    ridges : array of shape (S,)
    sign : float
        c.
    loss : Loss
    """

    tokens: StandardTokens
    y: Float[np.ndarray, " n"]
    shares: Float[np.ndarray, "S n"]
    ridges: Float[np.ndarray, " S"]
    sign: float
    loss: Loss

    def value_and_gradient(
        self, points: Float[np.ndarray, "s m"], of: Int[np.ndarray, " s"]
    ) -> tuple[Float[np.ndarray, " s"], Float[np.ndarray, "s m"]]:
        """Return values and exact gradients of some problems at rows (v, b).

        The tokens are read twice. The gradient of log mean exp is the mean token under the
        softmax of the scores.
        """
        V, b, shares, ridges = points[:, :-1], points[:, -1], self.shares[of], self.ridges[of]
        bags, moved = self.tokens.bags, self.tokens.centre
        starts, sizes = bags.offsets[:-1], bags.sizes
        u = self.tokens.projected(V.T)
        top = np.maximum.reduceat(u, starts, axis=1)
        a = np.exp(u - np.repeat(top, sizes, axis=1))
        total = np.add.reduceat(a, starts, axis=1)
        m = top + np.log(total / sizes) + (V @ moved)[:, None]
        f = self.sign * m.astype(np.float64) + b[:, None]
        h = shares * np.asarray(self.loss.slope(self.y, f))
        on = self.sign * h
        a *= np.repeat((on / total).astype(a.dtype), sizes, axis=1)
        on_v = self.tokens.summed(a) + on.sum(axis=1)[:, None] * moved
        on_v += ridges[:, None] * V
        values = (shares * np.asarray(self.loss.value(self.y, f))).sum(axis=1)
        values += 0.5 * ridges * np.einsum("ij,ij->i", V, V)
        return values, np.concatenate([on_v, h.sum(axis=1)[:, None]], axis=1)


def likelihood_queries(
    task: Task, subsets: Subsets, starts: Float[np.ndarray, "d S"], sign: float
) -> list[Float[np.ndarray, "d S"]]:
    """Return the directions v that subsets of the bags give, for each ridge that is tried.

    Descents of the last subset, which is all bags, start from the mean of the others: what these
    say of held-out bags is of the minimum near them.

    Parameters
    ----------
    task : Task
    subsets : list of S bool arrays of shape (n,)
    starts : array of shape (d, S)
        Where each descent starts: the problem is not convex.
    sign : float
        1 where the second class holds the tokens, -1 where the first does.
    """
    ridges = ridges_of(task, len(subsets))
    start = np.concatenate([starts, np.zeros((1, len(subsets)))]).T
    told = telling(task.samples, subsets[:-1])
    if not told.any():
        found = _descended(task, subsets, ridges, np.stack([start] * len(ridges)), sign)
    else:
        parts = _descended(task, subsets[:-1], ridges, np.stack([start[:-1]] * len(ridges)), sign)
        middle = parts[:, told].mean(axis=1, keepdims=True)
        whole = _descended(task, subsets[-1:], ridges, middle, sign)
        found = np.concatenate([parts, whole], axis=1)
    return [group.T for group in found[..., :-1]]


def _descended(
    task: Task,
    subsets: Subsets,
    ridges: Float[np.ndarray, " r"],
    starts: Float[np.ndarray, "r S m"],
    sign: float,
) -> Float[np.ndarray, "r S m"]:
    """Return where descents (v, b) on each subset with each ridge end."""
    problem = LikelihoodProblem(
        task.tokens,
        task.samples.y,
        np.tile(shares_of(task.samples, subsets), (len(ridges), 1)),
        np.repeat(ridges, len(subsets)),
        sign,
        task.loss,
    )
    minima = descend_together(
        problem.value_and_gradient,
        starts.reshape(-1, starts.shape[-1]),
        steps_of(task, len(problem.ridges)),
        TOLERANCE,
    )
    return minima.points.reshape(starts.shape)


def steps_of(task: Task, problems: int) -> int:
    """Return how many steps there is time for."""
    work = float(task.bags.tokens.size * problems)
    return int(np.clip(WORK / work, LEAST_STEPS, STEPS))


def ridges_of(task: Task, subsets: int) -> Float[np.ndarray, " r"]:
    """Return d / (n strength^2): the prior that token scores have that standard deviation.

    Where there is no time for all of them, and for each of several classes, it is the middle one:
    with many bags per dimension it is never far from the best.
    """
    if not isinstance(task.ridge, str):
        return np.array([task.ridge])
    n, d = float(task.samples.sample_weight.sum()), task.bags.dimension
    work = float(task.bags.tokens.size * subsets * len(STRENGTHS) * STEPS)
    strengths = STRENGTHS if work < SEARCH and not task.of_several else STRENGTHS[1:2]
    return task.tokens.variance * d / (n * np.square(strengths))
