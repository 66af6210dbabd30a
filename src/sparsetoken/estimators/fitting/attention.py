"""Attention of least left-out loss: bags pooled by scores that have not seen their labels."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.bags.segments import segment_log_mean_exp
from sparsetoken.estimators.fitting.linear_fit import LinearFit, fit_single_features, gain
from sparsetoken.estimators.fitting.queries import (
    likelihood_queries,
    spectral,
    telling,
    tied,
    two_steps,
    unit_queries,
)
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.fitting.task import Task

GRID = (0.25, 0.5, 1.0, 2.0, 4.0)  # of the sharpness, the standard deviation of token scores


@dataclasses.dataclass(frozen=True, eq=False)
class AttentionFit:
    """A score (1/s) log mean_l exp(s <z_l, w>) + b of standardised tokens z_l.

    Attributes
    ----------
    readout : LinearFit
        w, b, and the scores and losses of bags left out of the fit.
    exponent : float
        s; for s = 0 the score is that of the mean token. For s < 0 the tokens that weigh most
        are those that speak for the first class.
    sharpness : float
        Standard deviation of s <z_l, w> over the tokens.
    gain : float
        Standard errors by which the left-out loss is below that of mean pooling.
    directions : array of shape (2, d)
        s w, and the query of two gradient steps, of unit sharpness, towards the same class.
    token_scores : array of shape (N, 2)
        <z_l, v> of such directions v that have not seen the bag of the token.
    """

    readout: LinearFit
    exponent: float
    sharpness: float
    gain: float
    directions: Float[np.ndarray, "2 d"]
    token_scores: Float[np.ndarray, "N 2"]


@dataclasses.dataclass(frozen=True, eq=False)
class _Direction:
    """A query of unit sharpness, and what it must say.

    Attributes
    ----------
    queries : array of shape (d, S)
        That of each fold, found on the others, and that of all bags.
    scores : array of shape (N,)
        Of tokens, each by a query that was found without its bag.
    sign : float
        1 if the tokens of largest score speak for the second class, -1 if for the first.
    """

    queries: Float[np.ndarray, "d S"]
    scores: Float[np.ndarray, " N"]
    sign: float

    def times(self, factor: float) -> _Direction:
        """Return a multiple; one below 0 speaks for the other class."""
        sign = self.sign if factor > 0 else -self.sign
        return _Direction(factor * self.queries, self.scores.dtype.type(factor) * self.scores, sign)


@dataclasses.dataclass(frozen=True, eq=False)
class _Choice:
    """A direction, a sharpness, and slope and intercept of the pooled scores."""

    direction: _Direction
    sharpness: float
    fit: LinearFit

    def loss(self, samples: Samples) -> float:
        """Return the left-out loss; infinite where the slope contradicts the direction."""
        if self.fit.w[0] * self.direction.sign <= 0:
            return np.inf
        return self.fit.left_out_loss(samples)


def attend(
    task: Task, folds: Int[np.ndarray, " n"], temperature: float | Literal["auto"] = "auto"
) -> AttentionFit:
    """Return the attention of least left-out loss.

    The descents of the pooled likelihood start from the best of the readout of the mean token and
    two `spectral` directions, or from its opposite where that predicts better by one standard
    error: tokens may be of either class.

    Parameters
    ----------
    task : Task
    folds : int array of shape (n,)
        Each bag is scored by directions found on the other folds.
    temperature : float or "auto"
        The sharpness; ``auto`` takes the best of five.

    Returns
    -------
    AttentionFit
        That of the mean token (exponent 0) for bags of one token, and where no direction speaks
        for the class that it looks for.
    """
    n, d = len(folds), task.bags.dimension
    if task.bags.sizes.max() == 1:
        zeros = np.zeros((n, 2), task.bags.dtype)
        return AttentionFit(task.calibrated(task.mean_fit), 0.0, 0.0, 0.0, np.zeros((2, d)), zeros)
    subsets = [folds != j for j in range(folds.max() + 1)]
    subsets.append(np.ones(n, dtype=bool))
    told = telling(task.samples, subsets)
    grid = GRID if isinstance(temperature, str) else (temperature,)
    grown = task.unseen_growth(folds)
    tied_queries = tied(task, subsets) * task.unseen_growth(folds, mean=True)
    mean = _unseen(task, tied_queries, folds, 1.0)
    varying = [
        _unseen(task, one * told * grown, folds, 1.0) for one in spectral(task, subsets, folds)
    ]
    both_ways = [one.times(c) for one in (mean, *varying) for c in (1.0, -1.0)]
    choices = _tried(task, both_ways, grid, told[folds])
    first = _best(choices, task.samples)
    start, k = (first.direction, first.sharpness) if first else (mean, 1.0)
    refined = likelihood_queries(task, subsets, k * start.queries, start.sign)
    refined = [one * told * grown for one in refined]
    found = [_unseen(task, one, folds, start.sign) for one in refined]
    choices += _tried(task, found, grid, told[folds])
    choice = _best(choices, task.samples)
    steps = _unseen(task, two_steps(task, subsets) * told * grown, folds, 1.0)
    towards = float(np.sign(steps.queries[:, -1] @ task.mean_fit.w))
    exponent = sharpness = gained = 0.0
    if choice is None:
        readout = task.calibrated(task.mean_fit)
        both = [mean.times(0.0), steps.times(towards)]
    else:
        readout, k = task.calibrated(choice.fit), choice.sharpness
        both = [choice.direction.times(k), steps.times(towards * choice.direction.sign)]
        slope = float(readout.w[0])
        exponent, sharpness = (1 / slope, k) if slope else (0.0, 0.0)
        readout = dataclasses.replace(readout, w=slope * both[0].queries[:, -1])
        gained = gain(choice.fit, task.mean_fit, task.samples)
    directions = np.stack([one.queries[:, -1] for one in both])
    scores = np.stack([one.scores for one in both], axis=1)
    return AttentionFit(readout, exponent, sharpness, gained, directions, scores)


def _unseen(
    task: Task, Q: Float[np.ndarray, "d S"], folds: Int[np.ndarray, " n"], sign: float
) -> _Direction:
    """Return queries, with the scores of tokens by those found without their fold."""
    queries, scores = unit_queries(task, Q)
    fold_of_token = np.repeat(folds, task.bags.sizes)[:, None]
    return _Direction(queries, np.take_along_axis(scores, fold_of_token, axis=1)[:, 0], sign)


def _tried(
    task: Task,
    directions: Iterable[_Direction],
    grid: Iterable[float],
    known: Bool[np.ndarray, " n"],
) -> list[_Choice]:
    """Return every direction at every sharpness, with slope and intercept of its pooled scores.

    They are scores of queries that have not seen their bags, which these calibrate. Bags of a fold
    without which nothing is known of a class get the mean of the others: the score 0 of a query of
    zeros would tell them apart.
    """
    pairs = [(one, k) for one in directions for k in grid]
    pooled = np.stack(
        [
            segment_log_mean_exp(one.scores * one.scores.dtype.type(k), task.bags.offsets)
            for one, k in pairs
        ]
    ).astype(np.float64)
    if known.any():
        pooled[:, ~known] = pooled[:, known].mean(axis=1, keepdims=True)
    fits = fit_single_features(pooled, task.samples, task.loss)
    return [_Choice(one, k, fit) for (one, k), fit in zip(pairs, fits, strict=True)]


def _best(choices: Iterable[_Choice], samples: Samples) -> _Choice | None:
    """Return the choice of least left-out loss.

    One that looks for tokens of the first class must be better by more than one standard error.
    """
    every = [one for one in choices if one.loss(samples) < np.inf]

    def least(sign: float) -> _Choice | None:
        of_sign = (one for one in every if one.direction.sign == sign)
        return min(of_sign, key=lambda one: one.loss(samples), default=None)

    choice, opposite = least(1.0), least(-1.0)
    if choice is None or (opposite and gain(opposite.fit, choice.fit, samples) > 1):
        return opposite or choice
    return choice
