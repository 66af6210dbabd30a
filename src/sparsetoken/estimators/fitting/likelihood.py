"""Likelihood pooling: a bag is scored by the log mean exp of one linear score of its tokens.

With one informative token among Gaussian ones the log odds of a bag are
log mean_l exp(<v, z_l>) + b, v = S^-1 mu: one direction v for query and readout.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.bags.segments import segment_log_mean_exp
from sparsetoken.estimators.fitting.linear_fit import LinearFit, fit_single_features
from sparsetoken.estimators.fitting.queries import Queries, unit_queries
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.losses import Loss
from sparsetoken.numerics.descents import descend_together

STRENGTHS = (4.5, 1.5, 0.5)  # of the prior of v, in deviations of a token; a decade of the ridge
STEPS, TOLERANCE = 40, 1e-4  # of a direction that is only compared by left-out loss
LEAST_STEPS, WORK = 8, 2e10  # products in all steps: about ten seconds; with more, fewer steps

Subsets = Sequence[Bool[np.ndarray, " n"]]


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
) -> list[Queries]:
    """Return the directions v that subsets of the bags give, for each ridge that is tried.

    Parameters
    ----------
    task : Task
    subsets : list of S bool arrays of shape (n,)
    starts : array of shape (d, S)
        Where each descent starts: the problem is not convex.
    sign : float
        1 where the second class holds the tokens, -1 where the first does.
    """
    samples, ridges = task.samples, _ridges(task, len(subsets))
    parts = np.stack([samples.weight * subset for subset in subsets])
    parts /= parts.sum(axis=1, keepdims=True)
    problem = LikelihoodProblem(
        task.tokens,
        samples.y,
        np.tile(parts, (len(ridges), 1)),
        np.repeat(ridges, len(subsets)),
        sign,
        task.loss,
    )
    start = np.concatenate([starts, np.zeros((1, len(subsets)))]).T
    work = float(task.bags.tokens.size * len(problem.ridges))
    steps = int(np.clip(WORK / work, LEAST_STEPS, STEPS))
    minima = descend_together(
        problem.value_and_gradient, np.tile(start, (len(ridges), 1)), steps, TOLERANCE
    )
    groups = np.split(minima.points[:, :-1], len(ridges))
    return [unit_queries(task, group.T) for group in groups]


def _ridges(task: Task, subsets: int) -> Float[np.ndarray, " r"]:
    """Return d / (n strength^2): the prior that token scores have that standard deviation.

    Where there is no time for all of them it is the middle one: with many bags per dimension
    it is never far from the best.
    """
    if not isinstance(task.ridge, str):
        return np.array([task.ridge])
    n, d = float(task.samples.sample_weight.sum()), task.bags.dimension
    work = float(task.bags.tokens.size * subsets * len(STRENGTHS) * STEPS)
    strengths = STRENGTHS if work < WORK else STRENGTHS[1:2]
    return task.tokens.variance * d / (n * np.square(strengths))


def likelihood_fits(scores: Iterable[Float[np.ndarray, " N"]], task: Task) -> list[LinearFit]:
    """Return slope c and intercept of c log mean exp(score) + b, with left-out losses.

    There is one fit for each array of scores. They are those of queries that have not seen their
    bags, so that slope and intercept calibrate them.
    """
    features = [segment_log_mean_exp(one, task.bags.offsets).astype(np.float64) for one in scores]
    return fit_single_features(np.stack(features), task.samples, task.loss) if features else []
