"""One replica: a descent followed on a set of samples."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.base.validation import LARGEST_VALUE
from sparsetoken.model.network_checks import is_symmetric
from sparsetoken.numerics.backend import with_x64
from sparsetoken.numerics.products import few_rows
from sparsetoken.theory.dynamics.data_sets import DataSet
from sparsetoken.theory.dynamics.frame import Frame
from sparsetoken.theory.dynamics.plan import Plan
from sparsetoken.theory.dynamics.samples import Normals, placed_signals, slopes_of


class States(NamedTuple):
    """What a descent is followed by, at the start and after each step.

    All arrays have an axis for states, after those in front. They are the training loss, the
    overlaps U^T xi_p (m, P), U^T U, U^T S_w U and U^T S_b U (m, m), and the further weights c.
    """

    loss: np.ndarray
    overlaps: np.ndarray
    gram: np.ndarray
    within: np.ndarray
    between: np.ndarray
    c: np.ndarray

    def each(self, function: Callable[[np.ndarray], np.ndarray]) -> States:
        """Return a function of each array."""
        return States(*map(function, self))


def together(courses: Sequence[States]) -> States:
    """Return courses along an axis in front, as far as all of them go."""
    states = min(len(one.loss) for one in courses)
    parts = zip(*courses, strict=True)
    return States(*(np.stack([x[:states] for x in part]) for part in parts))


@with_x64
def run_replica(plan: Plan, replica: int) -> States:
    """Return the course of a replica, or on a data set.

    A mean over n samples has an error of order 1/n in what follows from it. The two halves of
    the samples have it twice: twice the whole minus their mean is free of it, with nearly the
    noise of the whole. A descent that diverges has fewer states than steps.
    """
    if plan.samples:
        return course(plan, replica, ())
    courses = [course(plan, replica, halves) for halves in ((0, 1), (0,), (1,))]
    return together(courses).each(lambda x: 2 * x[0] - 0.5 * (x[1] + x[2]))


def course(plan: Plan, replica: int, halves: tuple[int, ...]) -> States:
    """Follow the descent on some halves of the samples of a replica, or on a data set.

    Equation: joint-descent, as n, d -> infinity at fixed alpha = n/d, or at their n and d.
    """
    training = plan.training
    population = _Population(plan, replica, halves) if halves else DataSet(plan, replica)
    U = before = population.start()
    c = c_before = training.start_c
    states = []
    for t in range(training.steps + 1):
        grams = population.grams(U)
        squares = np.append(np.diagonal(grams[0]), c**2)
        if not (np.isfinite(squares).all() and squares.max() <= LARGEST_VALUE**2):
            break
        losses, by_H, by_c = population.slopes(U, c)
        states.append((population.mean(losses), population.overlaps(U), *grams, c))
        if t == training.steps:
            break
        moves, shares = training.moves[t], population.shares(t)
        gradients = population.gradient(by_H[moves] * shares, moves)
        new = []
        for own, last, gradient in zip(U, before, gradients, strict=True):
            u, past = (_padded(one, len(gradient)) for one in (own, last))
            step = training.rates[t] * (gradient + training.decay * u)
            new.append((u - step + training.momentum[t] * (u - past), u))
        U, before = [u for u, _ in new], [u for _, u in new]
        pull = np.array([population.mean(row * shares) for row in by_c])
        step = training.rates_c[t] * pull
        c, c_before = c - step + training.momentum[t] * (c - c_before), c
    return States(*(np.array(part) for part in zip(*states, strict=True)))


def _padded(u: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([u, np.zeros((size - len(u), u.shape[1]))])


Weights = list[np.ndarray]
"""U in the frame of each atom, of shape (size, m)."""


class _Population:
    """The samples, and the projections of their tokens on the frames of the weights."""

    def __init__(self, plan: Plan, replica: int, halves: tuple[int, ...]) -> None:
        training, atoms, size, self._mixing, _ = plan
        law = training.law
        # Each half holds equally many bags of each kind, weighted by the chances of the kinds.
        kinds = np.tile(np.repeat(np.arange(len(law.rates)), size), len(halves))
        self._training, self._atoms = training, atoms
        self._y = np.array(law.targets, dtype=float)[kinds]
        self._weight = np.array(law.rates)[kinds] / (size * len(halves))
        self._halves = len(halves)
        self._length, self._entries = law.length, law.length + atoms.has_effect
        self._normals = [
            Normals(self._entries, len(law.rates), size, replica, half) for half in halves
        ]
        self._shares = _shares(kinds, self._normals, training.batches)
        self._signals = np.moveaxis(placed_signals(law)[kinds], 0, 2)
        if not is_symmetric(training.network, law.length, law.outputs):
            order = np.concatenate([half.order(law.length) for half in self._normals], axis=1)
            self._signals = np.take_along_axis(self._signals, order[None], axis=1)
        self._roots = np.sqrt(atoms.signals)
        first, moving = len(training.start), int(training.moves.sum())
        weights = np.tile(self._weight, self._entries)
        self._frames = [
            Frame(fresh, weights, training.alpha / share, moving)
            for fresh, share in zip(self._fresh(first), atoms.shares, strict=True)
        ]

    def _fresh(self, rows: int) -> Iterable[np.ndarray]:
        """Yield normals for each atom."""
        if self._mixing is None:
            yield from (self._drawn(rows) for _ in self._atoms.shares)
        else:
            finer = [self._drawn(rows) for _ in self._mixing.T]
            for row in self._mixing:
                used = np.flatnonzero(row)
                yield np.sum([row[i] * finer[i] for i in used], axis=0)

    def _drawn(self, rows: int) -> np.ndarray:
        parts = [half.take(rows) for half in self._normals]
        return np.concatenate(parts, axis=2).reshape(rows, -1)

    def mean(self, values: Float[np.ndarray, " n"]) -> float:
        """Return the mean of a number of each sample."""
        return float(self._weight @ values)

    def start(self) -> Weights:
        """Return the weights before the first step."""
        along, beside = np.split(self._training.start, [len(self._training.law.strengths)])
        return [
            np.concatenate([root[:, None] * along, np.sqrt(share) * beside])
            for root, share in zip(self._roots, self._atoms.shares, strict=True)
        ]

    def overlaps(self, U: Weights) -> Float[np.ndarray, "m P"]:
        """Return U^T xi_p."""
        count = self._roots.shape[1]
        return sum((root[:, None] * u[:count]).T for root, u in zip(self._roots, U, strict=True))

    def grams(self, U: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return U^T U, U^T S_w U and U^T S_b U."""
        with np.errstate(over="ignore", invalid="ignore"):
            each = np.array([u.T @ u for u in U])
            gram, within, between = (
                np.einsum("a,amk->mk", scale, each)
                for scale in (np.ones(len(U)), self._atoms.within, self._atoms.between)
            )
        return gram, within, between

    def slopes(self, U: Weights, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the loss of each sample, and its slopes by projections and further weights."""
        L, training = self._length, self._training
        # One token has one signal at most, so the signals of a sample are few entries of H.
        H = np.einsum("mp,pln->mln", self.overlaps(U), self._signals)
        scales = np.sqrt(self._atoms.within), np.sqrt(self._atoms.between)
        for u, frame, within, between in zip(U, self._frames, *scales, strict=True):
            projections = few_rows(u.T, frame.tokens).reshape(u.shape[1], self._entries, -1)
            H += within * projections[:, :L]
            if between:
                H += between * projections[:, L:]
        return slopes_of(training, H, c, self._y, self._halves)

    def gradient(
        self, by_H: Float[np.ndarray, "k L n"], moves: np.ndarray
    ) -> list[Float[np.ndarray, "size m"]]:
        """Return the gradient in each frame, 0 where it is not used; the frames grow by it."""
        if not len(by_H):
            return [np.zeros((frame.size, len(moves))) for frame in self._frames]
        gradients = []
        along = np.einsum("pln,kln->pk", self._signals, by_H * self._weight)
        pairs = zip(self._frames, self._fresh(len(by_H)), strict=True)
        for i, (frame, fresh) in enumerate(pairs):
            own = frame.add(self._stacked(by_H, i), fresh)
            own[: len(along)] += self._roots[i][:, None] * along
            gradient = np.zeros((frame.size, len(moves)))
            gradient[:, moves] = own
            gradients.append(gradient)
        return gradients

    def _stacked(self, by_H: Float[np.ndarray, "k L n"], i: int) -> Float[np.ndarray, "k rows"]:
        """Return the slopes by the noise of an atom: of all tokens, then of effects of bags."""
        within = np.sqrt(self._atoms.within[i]) * by_H
        if self._entries > self._length:
            effect = np.sqrt(self._atoms.between[i]) * by_H.sum(axis=1, keepdims=True)
            within = np.concatenate([within, effect], axis=1)
        return within.reshape(len(by_H), -1)

    def shares(self, t: int) -> Float[np.ndarray, " n"]:
        """Return by what each sample counts in the batch of a step."""
        return self._shares[t % len(self._shares)]


def _shares(
    kinds: Int[np.ndarray, " n"], normals: Sequence[Normals], batches: int
) -> Float[np.ndarray, "batches n"]:
    """Return by what each sample counts in each batch, so that a batch has the mean of all."""
    if batches == 1:
        return np.ones((1, len(kinds)))
    batch = np.concatenate([half.batches(batches) for half in normals])
    within = batch == np.arange(batches)[:, None]
    shares = np.zeros(within.shape)
    for kind in range(kinds.max() + 1):
        own = within & (kinds == kind)
        shares += own * ((kinds == kind).sum() / own.sum(axis=1, keepdims=True))
    return shares
