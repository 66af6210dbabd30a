"""The data of a descent without tokens: the same distribution from their projections."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.descent import Training
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.numerics.products import few_columns, few_rows
from sparsetoken.simulation.descent_data import Blocks, Gradient, batch_of, batch_size
from sparsetoken.simulation.frames import TokenFrame, training_size
from sparsetoken.simulation.network_scores import Moments, sums_of
from sparsetoken.simulation.seeds import Stream, stream

MOST_BLOCKS = 32
_OF_DIRECTION = 6  # rows of each direction: coefficients, and projections for the targets
_DEPENDENT = 1e-10  # slopes with a smaller share of new squares have no new direction


class Block(NamedTuple):
    """Directions in which the tokens have the same variances, within and between bags.

    The parts of the signals are columns, in coordinates of k orthonormal directions of the block.
    """

    dimension: int
    within: float
    between: float
    signals: Float[np.ndarray, "k P"]


def blocks_of(training: Training, dimension: int) -> list[Block]:
    """Return the blocks of the tokens.

    Raises
    ------
    InvalidInput
        If there are more than 32, or covariances that are no diagonals.
    """
    tokens = training.law.tokens
    if not isinstance(tokens, TokenCovariance):
        return [Block(dimension, 1.0, 0.0, np.eye(len(training.law.directions)))]
    between = np.zeros(dimension) if tokens.between is None else tokens.between
    remedy = "Take engine='tensors'."
    if tokens.within.ndim > 1 or between.ndim > 1:
        legal = "spectra within and between, for the reduced engine"
        raise InvalidInput("tokens", legal, "a full covariance", remedy)
    pairs, group = np.unique(np.stack([tokens.within, between]), axis=1, return_inverse=True)
    if pairs.shape[1] > MOST_BLOCKS:
        legal = f"of at most {MOST_BLOCKS} different eigenvalues, for the reduced engine"
        raise InvalidInput("tokens", legal, f"{pairs.shape[1]}", remedy)
    group = group.ravel()
    blocks = []
    for number, (within_bags, between_bags) in enumerate(pairs.T):
        parts = tokens.signals[:, group == number].T
        root = np.asarray(np.linalg.qr(parts, mode="r"))
        signals = root * np.where(np.diagonal(root) < 0, -1, 1)[:, None]
        blocks.append(Block(len(parts), float(within_bags), float(between_bags), signals))
    return blocks


def reduced_numbers(training: Training, dimension: int) -> int:
    """Return the numbers that the projections of all steps take, and some more for one step."""
    blocks, law = blocks_of(training, dimension), training.law
    entries = law.length + any(block.between for block in blocks)
    own = len(training.start)
    rows = len(blocks) * (own + 2 * int(training.moves.sum())) + 8 * len(training.columns)
    rows += _OF_DIRECTION * (len(law.directions) - 1)
    return training_size(training.alpha, dimension) * entries * rows


class ReducedData:
    """Draws only the parts of the noise that the steps need; exact at each d.

    Each block has noise of its own, in the tokens and in what the tokens of a bag share. The
    coordinates of U in a block are its directions so far: those of the signals, those of the
    start, and what was new in each gradient.
    """

    def __init__(self, training: Training, dimension: int, seed: int) -> None:
        self._training, law = training, training.law
        self.n = training_size(training.alpha, dimension)
        self._rng = stream(seed, Stream.D0)
        self._blocks = blocks_of(training, dimension)
        latent = law.sample(self.n, self._rng)
        self._signals = np.ascontiguousarray(latent["coefficients"].T)  # (P, L, n)
        self._scale = latent["scale"].T if "scale" in latent else None
        self._entries = law.length + any(block.between for block in self._blocks)
        self._start, self._sizes = self._drawn_start()
        moving = int(training.moves.sum())
        self._noises = [
            _Noise(block.dimension, size, moving, self.n * self._entries, self._rng)
            for block, size in zip(self._blocks, self._sizes, strict=True)
        ]
        Z = self._along_signals() if law.sees_noise else np.empty(0)
        self._y = law.targets(latent, Z)

    def _along_signals(self) -> Float[np.ndarray, "n L P"]:
        """Return Z, the projections of all tokens on the signals."""
        blocks = zip(self._blocks, self._sizes, strict=True)
        parts = [_padded(block.signals, size) for block, size in blocks]
        return np.moveaxis(self._signals + self._noise_along(parts), 2, 0).swapaxes(1, 2)

    def _noise_along(self, U: Blocks) -> Float[np.ndarray, "m L n"]:
        """Return the projections of the noise of all tokens."""
        L = self._training.law.length
        total = np.zeros((U[0].shape[1], L, self.n))
        for u, block, noise in zip(U, self._blocks, self._noises, strict=True):
            projections = noise.projected(u).reshape(u.shape[1], self._entries, self.n)
            total += np.sqrt(block.within) * projections[:, :L]
            if block.between:
                total += np.sqrt(block.between) * projections[:, L:]
        return total if self._scale is None else self._scale * total

    def _drawn_start(self) -> tuple[Blocks, list[int]]:
        """Return U at the start, and how many directions each block then has.

        Random directions of R^d are orthogonal to the signals and to one another; their parts in
        a block beside the signals have Bartlett's triangle as coordinates.
        """
        count = len(self._training.law.directions)
        along, beside = np.split(self._training.start, [count])
        parts, signals, sizes = [], [], []
        for block in self._blocks:
            named = len(block.signals)
            rows = min(len(beside), block.dimension - named)
            first = self._rng.standard_normal((named, len(beside)))
            rest = _bartlett(block.dimension - named, len(beside), self._rng)[:rows]
            parts.append(np.concatenate([first, rest]))
            signals.append(_padded(block.signals, named + rows))
            sizes.append(named + rows)
        xi = np.concatenate(signals)
        axes = np.linalg.qr(np.column_stack([xi, np.concatenate(parts)]))[0]
        whole = xi @ along + axes[:, count:] @ beside
        return np.split(whole, np.cumsum(sizes)[:-1]), sizes

    def start(self) -> Blocks:
        """Return the columns of U before the first step."""
        return self._start

    def _signal_rows(self, U: Blocks) -> list[np.ndarray]:
        """Return the parts of the signals in each block, shape (k, P)."""
        return [_padded(block.signals, len(u)) for u, block in zip(U, self._blocks, strict=True)]

    def moments(self, U: Blocks) -> Moments:
        """Return what the law of the projections of new tokens depends on."""
        overlaps = sum(u.T @ xi for u, xi in zip(U, self._signal_rows(U), strict=True))
        own = 0
        if self._training.law.sees_noise:
            U = [np.hstack(both) for both in zip(self._signal_rows(U), U, strict=True)]
            own = len(self._training.law.directions)
        grams = np.array([u.T @ u for u in U])
        within, between = (
            np.tensordot([getattr(block, name) for block in self._blocks], grams, axes=1)
            for name in ("within", "between")
        )
        return Moments(np.asarray(overlaps), grams.sum(axis=0)[own:, own:], within, between)

    def frame(self, U: Blocks) -> TokenFrame:
        """Return the frame of the coordinates of U, one block after the other."""
        signal = np.concatenate(self._signal_rows(U))[:, 0]
        sizes = [len(u) for u in U]
        within, between = (
            np.repeat([getattr(block, name) for block in self._blocks], sizes)
            for name in ("within", "between")
        )
        return TokenFrame(signal, within, between)

    def gradient(self, U: Blocks, c: np.ndarray, t: int, moves: np.ndarray) -> Gradient:
        """Return mean loss and gradients at step t.

        That of a column that does not move is 0, and takes no new direction.
        """
        training = self._training
        H = np.einsum("mp,pln->mln", self.moments(U).overlaps, self._signals)
        H += self._noise_along(U)
        batch = batch_of(training, self.n, 0, self.n, t)
        sums = sums_of(training, np.moveaxis(H, 0, 2).swapaxes(0, 1), c, self._y, batch)
        size = batch_size(training, self.n, t)
        by_H = np.moveaxis(sums.by_H, 2, 0).swapaxes(1, 2)[moves]  # (columns, L, n)
        by_U = self._by_columns(U, by_H, moves, size)
        return Gradient(sums.loss / self.n, by_U, sums.by_c / size)

    def _by_columns(
        self, U: Blocks, by_H: Float[np.ndarray, "k L n"], moves: np.ndarray, size: int
    ) -> Blocks:
        blocks = []
        along = np.einsum("pln,kln->pk", self._signals, by_H)
        by_H = by_H if self._scale is None else self._scale * by_H
        for u, block, noise in zip(U, self._blocks, self._noises, strict=True):
            by = np.zeros((len(u), len(moves)))
            if len(by_H):
                slopes = np.sqrt(block.within) * by_H
                if self._entries > by_H.shape[1]:
                    effect = np.sqrt(block.between) * by_H.sum(axis=1, keepdims=True)
                    slopes = np.concatenate([slopes, effect], axis=1)
                sums = noise.sums(slopes.reshape(len(by_H), -1))
                sums[: len(block.signals)] += block.signals @ along
                by = np.zeros((len(sums), len(moves)))
                by[:, moves] = sums / size
            blocks.append(by)
        return blocks


def _padded(signals: Float[np.ndarray, "k P"], size: int) -> Float[np.ndarray, "size P"]:
    """Return the parts of the signals in all directions of a block so far."""
    return np.pad(signals, ((0, size - len(signals)), (0, 0)))


class _Noise:
    """Independent normals Z, tokens by dimensions of a block, drawn as they are asked for.

    A step asks for Z^T g, g the slopes of all tokens, and the next for Z b, b a new direction of
    the weights. Let the rows of B be the orthonormal directions so far and those of A the
    orthonormal slopes so far, so that Z B^T is known, and A Z lies in the span of B. Given these,
    the rest of Z is Gaussian and independent of them. So of Z^T g the part along B is known, and
    the new part, from the part of g beside A, is a Gaussian vector beside B: by Bartlett's
    decomposition its coordinates along its own directions are normals and roots of chi squares.
    These directions join B. The projections Z b on them are known along A, and fresh
    normals beside it. This is the Householder dice (Lu, IEEE Transactions on Information
    Theory 67, 2021). Time and memory grow as n L times steps, squared and plain, instead of
    n L d.
    """

    def __init__(
        self, dimension: int, first: int, more: int, entries: int, rng: np.random.Generator
    ) -> None:
        self._dimension, self._rng = dimension, rng
        rows = min(first + more, dimension)
        self._projections = np.empty((rows, entries))  # Z B^T
        self._projections[:first] = rng.standard_normal((first, entries))
        self._slopes = np.empty((more, entries))  # A
        self._size, self._known = first, 0

    def projected(self, u: Float[np.ndarray, "k m"]) -> Float[np.ndarray, "m entries"]:
        """Return Z u for vectors in the directions so far."""
        return few_rows(u.T, self._projections[: len(u)])

    def sums(self, g: Float[np.ndarray, "c entries"]) -> Float[np.ndarray, "k c"]:
        """Return Z^T g in the directions, which grow by what is new in it."""
        along = few_columns(self._projections[: self._size], g.T)
        past = self._slopes[: self._known]
        beside = g - few_rows(few_columns(past, g.T).T, past)
        beside -= few_rows(few_columns(past, beside.T).T, past)  # for what rounding left
        power, axes = np.linalg.eigh(beside @ beside.T)
        new = power > _DEPENDENT * np.einsum("cm,cm->", g, g)
        root = axes[:, new] * np.sqrt(power[new])  # beside = root @ fresh
        fresh = (axes[:, new] / np.sqrt(power[new])).T @ beside
        bartlett = _bartlett(self._dimension - self._size, int(new.sum()), self._rng)
        self._grow(fresh, bartlett)
        return np.concatenate([along, bartlett @ root.T])

    def _grow(self, fresh: np.ndarray, bartlett: np.ndarray) -> None:
        """Add slopes to A, and the projections on new directions to Z B^T."""
        last, rows = self._known, len(bartlett)
        self._known += len(fresh)
        self._slopes[last : self._known] = fresh
        known = self._slopes[: self._known]
        normals = self._rng.standard_normal((rows, known.shape[1]))
        beside = normals - few_rows(few_columns(known, normals.T).T, known)
        self._projections[self._size : self._size + rows] = bartlett @ fresh + beside
        self._size += rows


def _bartlett(free: int, count: int, rng: np.random.Generator) -> Float[np.ndarray, "rows count"]:
    """Return the triangle R of a Gaussian matrix QR with `free` rows."""
    rows = min(count, free)
    triangle = np.triu(rng.standard_normal((rows, count)), 1)
    diagonal = np.arange(rows)
    triangle[diagonal, diagonal] = np.sqrt(rng.chisquare(free - diagonal))
    return triangle
