"""One replica: a descent followed on a set of samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.models import Model
from sparsetoken.numerics.products import few_rows
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import JointDescent
from sparsetoken.theory.dynamics.frame import Frame
from sparsetoken.theory.dynamics.pooling import Scores, pooling_of
from sparsetoken.theory.dynamics.samples import Normals, Samples
from sparsetoken.validation import LARGEST_VALUE

COLUMNS = ("training_loss", "overlap_w", "overlap_q", "ww", "wq", "qq", "bias")
"""What a replica follows: ww, wq and qq are the entries of the Gram matrix of (w, q)."""


class Plan(NamedTuple):
    """All that replicas have in common."""

    problem: SparseTokenProblem
    model: Model
    descent: JointDescent
    size: int  # samples of each class in half a replica


def moving(descent: JointDescent) -> np.ndarray:
    """Return which of (w, q) each step moves, shape (steps, 2)."""
    return np.stack([descent.per_step("eta_w") > 0, descent.per_step("eta_q") > 0], axis=1)


def start_of(descent: JointDescent) -> Float[np.ndarray, "k 2"]:
    """Return (w, q) of the start in an orthonormal frame of as many directions as it has."""
    product = descent.start_product
    gram = np.array([[descent.start_w**2, product], [product, descent.start_q**2]])
    values, axes = np.linalg.eigh(gram)
    there = values > 1e-14 * max(values[-1], 0.0)
    return (axes[:, there] * np.sqrt(values[there])).T


@with_x64
def run_replica(plan: Plan, replica: int) -> Float[np.ndarray, "states 7"]:
    """Return the course of a replica, by the columns of `COLUMNS`.

    A mean over n samples has an error of order 1/n in what follows from it. The two halves of
    the samples have it twice: twice the whole minus their mean is free of it, with nearly the
    noise of the whole. A descent that diverges has fewer states than steps.
    """
    courses = [course(plan, replica, halves) for halves in ((0, 1), (0,), (1,))]
    shortest = min(len(one) for one in courses)
    whole, one, other = (path[:shortest] for path in courses)
    return 2 * whole - 0.5 * (one + other)


def course(plan: Plan, replica: int, halves: tuple[int, ...]) -> Float[np.ndarray, "states 7"]:
    """Follow the descent on some halves of the samples of a replica.

    Equation: joint-descent, as n, d -> infinity at fixed alpha = n/d.
    """
    descent, population = plan.descent, _Population(plan, replica, halves)
    eta = np.stack([descent.per_step(name) for name in ("eta_w", "eta_q")], axis=1)
    eta_b, momentum = descent.per_step("eta_b"), descent.per_step("momentum")
    decay = np.array([descent.decay_w, descent.decay_q])
    u = before = np.concatenate([np.zeros((1, 2)), start_of(descent)])  # (w, q) in the frame
    b = b_before = 0.0
    states = []
    for t in range(descent.steps + 1):
        gram = u.T @ u
        if not np.isfinite(gram).all() or max(gram.max(), b**2) > LARGEST_VALUE**2:
            break
        seen = population.see(u, b)
        states.append([seen.loss, *u[0], gram[0, 0], gram[0, 1], gram[1, 1], b])
        if t == descent.steps:
            break
        gradient, pull = population.gradient(seen, t)
        u, before = (_padded(one, len(gradient)) for one in (u, before))
        u, before = u - eta[t] * (gradient + decay * u) + momentum[t] * (u - before), u
        b, b_before = b - eta_b[t] * pull + momentum[t] * (b - b_before), b
    return np.array(states)


def _padded(u: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([u, np.zeros((size - len(u), 2))])


class _Seen(NamedTuple):
    """What the samples say of a state: mean loss, slopes by the score, scores."""

    loss: float
    slope: Float[np.ndarray, " n"]
    scores: Scores


class _Population:
    """The samples, and the projections of their tokens on the frame of the weights."""

    def __init__(self, plan: Plan, replica: int, halves: tuple[int, ...]) -> None:
        problem, model, descent, size = plan
        samples = Samples(problem, size, replica, halves)
        self._y, self._weight, self._length = samples.labels, samples.weights, problem.length
        self._normals, self._moves = samples.normals(), moving(descent)
        self._loss, self._pooling = descent.loss, pooling_of(model, descent.beta)
        self._shares = _shares(samples, self._normals, descent.batches)
        first = self._fresh(1 + len(start_of(descent)))
        first[0] += samples.signal.ravel()
        weights = np.tile(self._weight, problem.length)
        self._frame = Frame(first, weights, descent.alpha, int(self._moves.sum()))

    def _fresh(self, rows: int) -> np.ndarray:
        parts = [half.take(rows) for half in self._normals]
        return np.concatenate(parts, axis=2).reshape(rows, -1)

    def see(self, u: Float[np.ndarray, "k 2"], b: float) -> _Seen:
        """Return what the samples say of weights (w, q) in the frame, and of a bias."""
        w, q = few_rows(u.T, self._frame.tokens).reshape(2, self._length, -1)
        scores = self._pooling(w, q)
        z = scores.score + b
        with np.errstate(over="ignore"):
            loss = float(self._weight @ self._loss.value(self._y, z))
        return _Seen(loss, np.asarray(self._loss.slope(self._y, z)), scores)

    def gradient(self, seen: _Seen, t: int) -> tuple[Float[np.ndarray, "k 2"], float]:
        """Return the gradient of step t by (w, q) in the frame, 0 where it is not used, and by b.

        The frame grows by what is new in it.
        """
        slope = seen.slope * self._shares[t % len(self._shares)]
        moves, by = self._moves[t], (seen.scores.by_readout, seen.scores.by_query)
        slopes = [(slope * by[c]).ravel() for c in np.flatnonzero(moves)]
        gradient = np.zeros((self._frame.size, 2))
        if slopes:
            found = self._frame.add(np.stack(slopes), self._fresh(len(slopes)))
            gradient = np.zeros((len(found), 2))
            gradient[:, moves] = found
        return gradient, float(self._weight @ slope)


def _shares(
    samples: Samples, normals: Sequence[Normals], batches: int
) -> Float[np.ndarray, "batches n"]:
    """Return by what each sample counts in each batch, so that a batch has the mean of all."""
    if batches == 1:
        return np.ones((1, len(samples.labels)))
    batch = np.concatenate([half.batches(batches) for half in normals])
    within = batch == np.arange(batches)[:, None]
    shares = np.zeros(within.shape)
    for label in (-1.0, 1.0):
        own = within & (samples.labels == label)
        shares += own * ((samples.labels == label).sum() / own.sum(axis=1, keepdims=True))
    return shares
