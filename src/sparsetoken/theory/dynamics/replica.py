"""One replica: a descent followed on a set of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.base.validation import LARGEST_VALUE
from sparsetoken.model.descent_step import Iterate, gradient_step
from sparsetoken.model.network_checks import is_symmetric
from sparsetoken.model.task_law import Latent
from sparsetoken.numerics.backend import with_x64
from sparsetoken.numerics.products import few_rows
from sparsetoken.theory.dynamics.frame import Frame
from sparsetoken.theory.dynamics.plan import Plan
from sparsetoken.theory.dynamics.samples import EVEN_ROWS, Normals, Slopes, slopes_of

Weights = list[np.ndarray]
"""U in the frame of each atom, of shape (size, m)."""


class States(NamedTuple):
    """What a descent is followed by, at the start and after each step.

    All arrays have an axis for states, after those in front. They are the training loss, the
    overlaps U^T xi_p (m, P), U^T U, U^T S_w U and U^T S_b U (m, m), and the further weights c.
    Where targets see the noise along xi, S_w and S_b have rows of xi before those of U.
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
    """Return the course of a replica.

    A mean over n samples has an error of order 1/n in what follows from it. The two halves of
    the samples have it twice: twice the whole minus their mean is free of it, with nearly the
    noise of the whole. A descent that diverges has fewer states than steps.
    """
    courses: Iterable[Iterable[States]] = (_states(plan, replica, i) for i in ((0, 1), (0,), (1,)))
    if plan.training.alpha < math.inf:  # one after the other, for the memory that each keeps
        courses = map(list, courses)
    return _stacked(
        States(*(2 * whole - 0.5 * (one + two) for whole, one, two in zip(*three, strict=True)))
        for three in zip(*courses, strict=False)  # as far as all of them go
    )


def course(plan: Plan, replica: int, halves: tuple[int, ...]) -> States:
    """Follow the descent on some halves of the samples of a replica.

    Equation: joint-descent, as n, d -> infinity at fixed alpha = n/d. At alpha = inf each step has
    samples of its own.
    """
    return _stacked(_states(plan, replica, halves))


def _stacked(states: Iterable[States]) -> States:
    return States(*(np.array(part) for part in zip(*states, strict=True)))


def _states(plan: Plan, replica: int, halves: tuple[int, ...]) -> Iterator[States]:
    """Yield the states of a descent, at the start and after each step."""
    training = plan.training
    fresh = training.alpha == math.inf
    population = _Population(plan, replica, halves, 0 if fresh else None)
    now = Iterate.start(population.start(), training.start_c)
    for t in range(training.steps + 1):
        if fresh and t:
            population = _Population(plan, replica, halves, t)
        grams = population.grams(now.U)
        squares = np.append(np.diagonal(grams[0]), now.c**2)
        if not (np.isfinite(squares).all() and squares.max() <= LARGEST_VALUE**2):
            break
        losses, by_H, by_c, by_gram = population.slopes(now.U, now.c, grams[0])
        loss, overlaps = population.mean(losses), population.overlaps(now.U)
        yield States(np.array(loss), overlaps, *grams, now.c)
        if t == training.steps:
            break
        learns, shares = training.learns[t], population.shares(t)
        by_U = population.gradient(by_H[learns] * shares, learns)
        if by_gram is not None:
            F = np.array([[population.mean(entry * shares) for entry in row] for row in by_gram])
            by_U = along_columns(now.U, by_U, F)
        pull = np.array([population.mean(row * shares) for row in by_c])
        # The weights are 0 along the directions that the gradient adds.
        U, before = (
            [_padded(u, len(by)) for u, by in zip(own, by_U, strict=True)]
            for own in (now.U, now.U_before)
        )
        now = gradient_step(training, t, now._replace(U=U, U_before=before), by_U, pull)


def along_columns(
    U: Weights, by_U: Weights, F: Float[np.ndarray, "m m"]
) -> list[Float[np.ndarray, "size m"]]:
    """Add to the gradients what comes through the Gram matrix of the columns, G = U^T U.

    Equation: depth-gradient. F is the mean of the slopes of the loss by G. What is added lies
    along the columns, so that no direction is new.
    """
    pull = F + F.T
    return [by + _padded(u @ pull, len(by)) for u, by in zip(U, by_U, strict=True)]


def _padded(u: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([u, np.zeros((size - len(u), u.shape[1]))])


class _Population:
    """The samples, and the projections of their tokens on the frames of the weights."""

    def __init__(
        self, plan: Plan, replica: int, halves: tuple[int, ...], step: int | None = None
    ) -> None:
        training, atoms, size = plan
        law = training.law
        # Each half holds equally many bags of each kind, weighted by the chances of the kinds.
        kinds = np.tile(np.repeat(np.arange(len(law.rates)), size), len(halves))
        self._training, self._atoms = training, atoms
        self._weight = np.array(law.rates)[kinds] / (size * len(halves))
        self._halves = len(halves)
        self._length, self._entries = law.length, law.length + atoms.has_effect
        of_step = () if step is None else (step,)
        first = even = len(training.start)
        if step is None:
            even = max(EVEN_ROWS, first) if law.sees_noise else EVEN_ROWS
        self._normals = [
            Normals(law, self._entries, size, even, (replica, half, *of_step)) for half in halves
        ]
        self._shares = _shares(kinds, self._normals, training.batches)
        latent = self._latent(size)
        order = self._order(latent)
        self._signals = np.ascontiguousarray(latent["coefficients"].T)  # (P, L, n)
        self._scale = latent["scale"].T if "scale" in latent else None
        if order is not None:
            self._signals = np.take_along_axis(self._signals, order[None], axis=1)
            if self._scale is not None:
                self._scale = np.take_along_axis(self._scale, order, axis=0)
        moving = int(training.learns.sum()) if step is None else 0
        weights = np.tile(self._weight, self._entries)
        self._frames = [
            Frame(fresh, weights, training.alpha / share, moving)
            for fresh, share in zip(self._fresh(first), atoms.shares, strict=True)
        ]
        projections = self._projections(order) if law.sees_noise else np.empty(0)
        self._y = law.targets(latent, projections)

    def _latent(self, size: int) -> Latent:
        """Return the latent variables of all samples."""
        law = self._training.law
        parts = [law.of_each_kind(size, half.latents, half.uniforms) for half in self._normals]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _order(self, latent: Latent) -> Int[np.ndarray, "L n"] | None:
        """Return the order in which the tokens of each sample are followed.

        To a symmetric network all orders are alike: the located tokens are then the first ones,
        whose noise is spread evenly with them.
        """
        training, law = self._training, self._training.law
        if not is_symmetric(training.network, law.length, law.outputs):
            if not law.shuffled:
                return None
            return np.concatenate([half.order(law.length) for half in self._normals], axis=1)
        if law.shuffled or "located" not in latent:
            return None
        return np.argsort(latent["located"].T == 0, axis=0, kind="stable")

    def _projections(self, order: Int[np.ndarray, "L n"] | None) -> Float[np.ndarray, "n L P"]:
        """Return Z: coefficients and the noise along xi, the first rows of all frames."""
        L, Z = self._length, self._signals.copy()
        for xi, frame, within, between in self._parts():
            noise = frame.tokens[: len(xi)].reshape(len(xi), self._entries, -1)
            own = within * noise[:, :L]
            if between:
                own = own + between * noise[:, L:]
            Z += np.tensordot(xi.T, own if self._scale is None else self._scale * own, axes=1)
        if order is not None:
            np.put_along_axis(Z, np.broadcast_to(order, Z.shape), Z.copy(), axis=1)
        return np.moveaxis(Z, 2, 0).swapaxes(1, 2)

    def _parts(self) -> Iterable[tuple[np.ndarray, Frame, float, float]]:
        """Yield the parts of xi, frame, and standard deviations of each atom."""
        widths = np.sqrt(self._atoms.within), np.sqrt(self._atoms.between)
        yield from zip(self._atoms.signals, self._frames, *widths, strict=True)

    def _fresh(self, rows: int) -> Iterable[np.ndarray]:
        """Yield normals for each atom."""
        for _ in self._atoms.shares:
            drawn = np.concatenate([half.take(rows) for half in self._normals], axis=2)
            yield drawn.reshape(rows, drawn.shape[1] * drawn.shape[2])

    def mean(self, values: Float[np.ndarray, " n"]) -> float:
        """Return the mean of a number of each sample."""
        return float(self._weight @ values)

    def start(self) -> Weights:
        """Return the weights before the first step."""
        along, beside = np.split(self._training.start, [len(self._training.law.directions)])
        return [
            np.concatenate([xi @ along, np.sqrt(share) * beside])
            for xi, share in zip(self._atoms.signals, self._atoms.shares, strict=True)
        ]

    def overlaps(self, U: Weights) -> Float[np.ndarray, "m P"]:
        """Return U^T xi_p."""
        return sum(u[: len(xi)].T @ xi for xi, u in zip(self._atoms.signals, U, strict=True))

    def grams(self, U: Weights) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return U^T U, and U^T S_w U and U^T S_b U of xi and U where targets see noise."""
        own = 0
        if self._training.law.sees_noise:
            signals = zip(self._atoms.signals, U, strict=True)
            U = [np.hstack([_padded(xi, len(u)), u]) for xi, u in signals]
            own = len(self._training.law.directions)
        with np.errstate(over="ignore", invalid="ignore"):
            each = np.array([u.T @ u for u in U])
            gram, within, between = (
                np.einsum("a,amk->mk", scale, each)
                for scale in (np.ones(len(U)), self._atoms.within, self._atoms.between)
            )
        return gram[own:, own:], within, between

    def slopes(self, U: Weights, c: np.ndarray, gram: Float[np.ndarray, "m m"]) -> Slopes:
        """Return the loss of each sample and its slopes."""
        L, training = self._length, self._training
        H = np.einsum("mp,pln->mln", self.overlaps(U), self._signals)
        for u, (_, frame, within, between) in zip(U, self._parts(), strict=True):
            noise = few_rows(u.T, frame.tokens).reshape(u.shape[1], self._entries, -1)
            own = within * noise[:, :L]
            if between:
                own += between * noise[:, L:]
            H += own if self._scale is None else self._scale * own
        return slopes_of(training, H, c, gram, self._y, self._halves)

    def gradient(
        self, by_H: Float[np.ndarray, "k L n"], moves: np.ndarray
    ) -> list[Float[np.ndarray, "size m"]]:
        """Return the gradient in each frame, 0 where it is not used; the frames grow by it."""
        if not len(by_H):
            return [np.zeros((frame.size, len(moves))) for frame in self._frames]
        gradients = []
        along = np.einsum("pln,kln->pk", self._signals, by_H * self._weight)
        # In the population limit the noise of a gradient is 0, and no direction is new.
        new = len(by_H) if self._training.alpha < math.inf else 0
        pairs = zip(self._frames, self._fresh(new), strict=True)
        for i, (frame, fresh) in enumerate(pairs):
            own = frame.add(self._stacked(by_H, i), fresh)
            own[: len(along)] += self._atoms.signals[i] @ along
            gradient = np.zeros((frame.size, len(moves)))
            gradient[:, moves] = own
            gradients.append(gradient)
        return gradients

    def _stacked(self, by_H: Float[np.ndarray, "k L n"], i: int) -> Float[np.ndarray, "k rows"]:
        """Return the slopes by the noise of an atom: of all tokens, then of effects of bags."""
        if self._scale is not None:
            by_H = self._scale * by_H
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
