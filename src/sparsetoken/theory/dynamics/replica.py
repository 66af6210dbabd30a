"""One replica: a descent followed on a set of samples."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.base.validation import LARGEST_VALUE
from sparsetoken.model.base import Latent
from sparsetoken.model.descent_step import Iterate, gradient_step, tangent
from sparsetoken.model.network_checks import is_symmetric
from sparsetoken.numerics.products import few_rows
from sparsetoken.theory.dynamics.frame import Frame
from sparsetoken.theory.dynamics.plan import ReplicaPlan
from sparsetoken.theory.dynamics.samples import EVEN_ROWS, Normals, Samples, Slopes, slopes_of

WHITENED = 64  # samples for each row, of which normals are whitened

Weights = list[np.ndarray]
"""U in the frame of each atom, of shape (size, m)."""


class States(NamedTuple):
    """What a descent is followed by, at the start and after each step.

    All arrays have an axis for states, after those in front. They are the training loss, the
    overlaps U^T xi_p (m, P), U^T U, U^T S_w U and U^T S_b U (m, m), the further weights c, and the
    squared norms (m,) of the gradients that the next step uses, 0 after the last one.
    Where targets see the noise along xi, S_w and S_b have rows of xi before those of U.
    """

    loss: np.ndarray
    overlaps: np.ndarray
    gram: np.ndarray
    within: np.ndarray
    between: np.ndarray
    c: np.ndarray
    gradients: np.ndarray

    def each(self, function: Callable[[np.ndarray], np.ndarray]) -> States:
        """Return a function of each array."""
        return States(*map(function, self))

    @property
    def weights(self) -> tuple[np.ndarray, tuple[np.ndarray, ...], np.ndarray]:
        """What new bags see of the weights: overlaps, inner products, further weights."""
        return self.overlaps, (self.gram, self.within, self.between), self.c


class Replica(NamedTuple):
    """The trajectory of a replica; its error of order 1/n, where halves of its samples say that."""

    whole: States
    bias: States | None = None


def grouped(replicas: Sequence[Replica], groups: int) -> States:
    """Return means over groups of replicas along an axis in front, without the error of order 1/n.

    Replicas belong to the groups in turn, and the first of each group has a bias. Means go as far
    as all trajectories do.
    """
    parts = [one.whole for one in replicas], [one.bias for one in replicas if one.bias]
    known = min(len(one.loss) for part in parts for one in part)

    def means(*given: Sequence[np.ndarray]) -> np.ndarray:
        whole, bias = (np.stack([x[:known] for x in part]) for part in given)
        own = [slice(first, None, groups) for first in range(groups)]
        return np.stack([whole[i].mean(axis=0) - bias[i].mean(axis=0) for i in own])

    return States(*map(means, zip(*parts[0], strict=True), zip(*parts[1], strict=True)))


def run_replica(plan: ReplicaPlan, replica: int, halves: bool = True) -> Replica:
    """Return the trajectory of a replica, and its bias if its halves are followed too.

    A mean over n samples has an error of order 1/n in what follows from it. The two halves of
    the samples have it twice: what their mean has more than the whole is the error. It varies far
    less than the whole, so that few replicas tell it. A descent that diverges has fewer states
    than steps.
    """
    if not halves:
        return Replica(trajectory(plan, replica, (0, 1)))
    trajectories: Iterable[Iterable[States]] = (
        _states(plan, replica, i) for i in ((0, 1), (0,), (1,))
    )
    if plan.training.alpha < math.inf:  # one after the other, for the memory that each keeps
        trajectories = map(list, trajectories)
    three = list(zip(*trajectories, strict=False))  # as far as all of them go
    return Replica(
        _stacked(whole for whole, _, _ in three),
        _stacked(States(*(0.5 * (x + y) - w for w, x, y in zip(*at, strict=True))) for at in three),
    )


def trajectory(plan: ReplicaPlan, replica: int, halves: tuple[int, ...]) -> States:
    """Follow the descent on some halves of the samples of a replica.

    Equation: joint-descent, as n, d -> infinity at fixed alpha = n/d. At alpha = inf each step has
    samples of its own.
    """
    return _stacked(_states(plan, replica, halves))


def _stacked(states: Iterable[States]) -> States:
    return States(*(np.array(part) for part in zip(*states, strict=True)))


def _states(plan: ReplicaPlan, replica: int, halves: tuple[int, ...]) -> Iterator[States]:
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
        loss, by_noise, by_overlaps, by_c, by_gram = population.slopes(now, grams[0], t)
        states = States(
            np.array(loss), population.overlaps(now.U), *grams, now.c, np.zeros(len(grams[0]))
        )
        if t == training.steps:
            yield states
            break
        by_U = population.gradient(by_noise, by_overlaps, training.learns[t])
        if training.network.uses_gram:
            by_U = along_columns(now.U, by_U, by_gram)
        # The weights are 0 along the directions that the gradient adds.
        U, before = (
            [_padded(u, len(by)) for u, by in zip(own, by_U, strict=True)]
            for own in (now.U, now.U_before)
        )
        gradients = sum((by**2).sum(axis=0) for by in tangent(training, U, by_U))
        yield states._replace(gradients=gradients)
        now = gradient_step(training, t, now._replace(U=U, U_before=before), by_U, by_c)


def along_columns(
    U: Weights, by_U: Weights, F: Float[np.ndarray, "m m"]
) -> list[Float[np.ndarray, "size m"]]:
    """Add to the gradients what comes through the Gram matrix of the columns, G = U^T U.

    Equation: depth-gradient. F is the mean of the slopes of the loss by G. What is added lies
    along the columns, so that no direction is new.
    """
    pull = F + F.T
    return [by + _padded(u @ pull, len(by)) for u, by in zip(U, by_U, strict=True)]


def _single(x: np.ndarray) -> np.ndarray:
    """Return an array in float32, whose rounding is far below what replicas differ by."""
    return np.asarray(x, dtype=np.float32)


def _padded(u: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([u, np.zeros((size - len(u), u.shape[1]))])


class _Population:
    """The samples, and the projections of their tokens on the frames of the weights."""

    def __init__(
        self, plan: ReplicaPlan, replica: int, halves: tuple[int, ...], step: int | None = None
    ) -> None:
        training, atoms, size = plan
        task = training.task
        # Each half holds equally many bags of each kind, weighted by the chances of the kinds.
        kinds = np.tile(np.repeat(np.arange(len(task.rates)), size), len(halves))
        self._training, self._atoms = training, atoms
        weights = np.array(task.rates)[kinds] / (size * len(halves))
        self._length, self._entries = task.length, task.length + atoms.has_effect
        of_step = () if step is None else (step,)
        first = even = len(training.start)
        if step is None:
            even = max(EVEN_ROWS, first) if task.sees_noise else EVEN_ROWS
        self._normals = [
            Normals(task, self._entries, size, even, (replica, half, *of_step)) for half in halves
        ]
        self._shares = _shares(kinds, self._normals, training.batches)
        latent = self._latent(size)
        order = self._order(latent)
        signals = np.ascontiguousarray(latent["coefficients"].T)  # (P, L, n)
        scale = latent["scale"].T if "scale" in latent else np.ones((1, len(kinds)))
        if order is not None:
            signals = np.take_along_axis(signals, order[None], axis=1)
            if len(scale) > 1:
                scale = np.take_along_axis(scale, order, axis=0)
        self._widths = _single(np.sqrt([atoms.within, atoms.between]))
        moving = int(training.learns.sum()) if step is None else 0
        roots = np.tile(_single(np.sqrt(weights)), self._entries)
        fresh = list(self._fresh(first))
        self._frames = [
            Frame(normals, roots, training.alpha / share, moving)
            for normals, share in zip(fresh, atoms.shares, strict=True)
        ]
        Z = self._projections(fresh, signals, scale, order) if task.sees_noise else np.empty(0)
        y = np.moveaxis(task.targets(latent, Z), 0, -1)
        y = _single(y) if y.dtype == float else y
        of_all = _single(signals), _single(scale), y, _single(weights)
        pieces = [np.split(x, len(halves), axis=-1) for x in of_all]
        self._samples = [Samples(*piece) for piece in zip(*pieces, strict=True)]

    def _latent(self, size: int) -> Latent:
        """Return the latent variables of all samples."""
        task = self._training.task
        parts = [task.of_each_kind(size, half.latents, half.uniforms) for half in self._normals]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def _order(self, latent: Latent) -> Int[np.ndarray, "L n"] | None:
        """Return the order in which the tokens of each sample are followed.

        To a symmetric network all orders are alike: the informative tokens are then the first ones,
        whose noise is spread evenly with them.
        """
        training, task = self._training, self._training.task
        if not is_symmetric(training.network, task.length, task.outputs):
            if not task.shuffled:
                return None
            return np.concatenate([half.order(task.length) for half in self._normals], axis=1)
        if task.shuffled or "informative" not in latent:
            return None
        return np.argsort(latent["informative"].T == 0, axis=0, kind="stable")

    def _projections(
        self,
        normals: list[np.ndarray],
        signals: np.ndarray,
        scale: np.ndarray,
        order: Int[np.ndarray, "L n"] | None,
    ) -> Float[np.ndarray, "n L P"]:
        """Return Z: coefficients and the noise along xi, the first rows of all frames."""
        L, Z = self._length, signals.copy()
        for xi, drawn, within, between in zip(
            self._atoms.signals, normals, *self._widths, strict=True
        ):
            noise = drawn[: len(xi)].reshape(len(xi), self._entries, -1)
            own = within * noise[:, :L]
            if between:
                own = own + between * noise[:, L:]
            Z += np.tensordot(xi.T, scale * own, axes=1)
        if order is not None:
            np.put_along_axis(Z, np.broadcast_to(order, Z.shape), Z.copy(), axis=1)
        return np.moveaxis(Z, 2, 0).swapaxes(1, 2)

    def _fresh(self, rows: int) -> Iterable[np.ndarray]:
        """Yield normals for each atom."""
        kinds = len(self._training.task.rates)
        for _ in self._atoms.shares:
            yield whitened(np.stack([half.take(rows) for half in self._normals]), kinds)

    def start(self) -> Weights:
        """Return the weights before the first step."""
        along, beside = np.split(self._training.start, [len(self._training.task.directions)])
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
        if self._training.task.sees_noise:
            signals = zip(self._atoms.signals, U, strict=True)
            U = [np.hstack([_padded(xi, len(u)), u]) for xi, u in signals]
            own = len(self._training.task.directions)
        with np.errstate(over="ignore", invalid="ignore"):
            each = np.array([u.T @ u for u in U])
            gram, within, between = (
                np.einsum("a,amk->mk", scale, each)
                for scale in (np.ones(len(U)), self._atoms.within, self._atoms.between)
            )
        return gram[own:, own:], within, between

    def slopes(self, now: Iterate, gram: Float[np.ndarray, "m m"], t: int) -> Slopes:
        """Return the mean loss, and the slopes of that over the batch of a step."""
        noise = [
            _single(few_rows(u.T, frame.tokens)).reshape(u.shape[1], self._entries, -1)
            for u, frame in zip(now.U, self._frames, strict=True)
        ]
        at = [_single(x) for x in (self.overlaps(now.U), now.c, gram)]
        shares = _single(self._shares[t % len(self._shares)])
        return slopes_of(self._training, self._samples, np.stack(noise), self._widths, at, shares)

    def gradient(
        self,
        by_noise: Float[np.ndarray, "A m entries n"],
        by_overlaps: Float[np.ndarray, "m P"],
        moves: np.ndarray,
    ) -> list[Float[np.ndarray, "size m"]]:
        """Return the gradient in each frame, 0 where it is not used; the frames grow by it."""
        # In the population limit the noise of a gradient is 0, and no direction is new.
        new = int(moves.sum()) if self._training.alpha < math.inf else 0
        gradients = []
        parts = zip(self._atoms.signals, self._frames, by_noise, self._fresh(new), strict=True)
        for xi, frame, by, fresh in parts if moves.any() else ():
            own = frame.add(by[moves].reshape(-1, by[0].size), fresh)
            own[: len(xi)] += xi @ by_overlaps[moves].T
            gradients.append(np.zeros((frame.size, len(moves))))
            gradients[-1][:, moves] = own
        return gradients or [np.zeros((frame.size, len(moves))) for frame in self._frames]


def whitened(
    normals: Float[np.ndarray, "halves rows entries n"], kinds: int
) -> Float[np.ndarray, "rows all"]:
    """Return normals with mean 0 and covariance 1 over the samples of each kind, for each entry.

    Means of quadratic functions of them are then exact, and replicas differ less. It takes many
    samples for each row.
    """
    halves, rows, entries, n = normals.shape
    size = n // kinds
    z = normals.reshape(halves, rows, entries, kinds, size).transpose(2, 3, 1, 0, 4)
    if size >= WHITENED * rows:
        z = z.reshape(entries, kinds, rows, halves * size)
        z = z - z.mean(axis=3, keepdims=True)
        root = np.linalg.cholesky(z @ z.swapaxes(2, 3) / z.shape[3])
        z = (np.linalg.inv(root) @ z).reshape(entries, kinds, rows, halves, size)
    return z.transpose(2, 0, 3, 1, 4).reshape(rows, entries * halves * n)


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
