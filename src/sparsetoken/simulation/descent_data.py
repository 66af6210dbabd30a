"""The data set of a descent: real tokens."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.model.training import Training
from sparsetoken.simulation.frames import TokenFrame
from sparsetoken.simulation.network_scores import ColumnSums, Moments, sums_by_columns, sums_of
from sparsetoken.simulation.seeds import Stream, stream

Chunk = tuple[np.ndarray, np.ndarray]
"""Tokens and targets of some samples."""


class Gradient(NamedTuple):
    """Mean loss of all samples, and its gradients over the batch whose turn it is."""

    loss: float
    by_U: Float[np.ndarray, "d m"]
    by_c: Float[np.ndarray, " C"]


@dataclasses.dataclass(frozen=True)
class TokenData:
    """n samples of real tokens, which `chunks` yields in every step.

    Columns may have been trained before; those signals are then known too.
    """

    training: Training
    n: int
    chunks: Callable[[], Iterator[Chunk]]
    signals: Float[np.ndarray, "P d"]
    token_frame: TokenFrame
    seed: int
    trained: Float[np.ndarray, "d m"] | None = None
    signals_before: Float[np.ndarray, "P d"] | None = None

    def start(self) -> Float[np.ndarray, "d m"]:
        """Return columns along the signals and random directions that are orthogonal to them."""
        if self.trained is not None:
            return self.trained
        known, d = self.signals.shape
        along, beside = np.split(self.training.start, [known])
        random = stream(self.seed, Stream.QUERY).standard_normal((d, len(beside)))
        axes = np.linalg.qr(np.column_stack([self.signals.T, random]))[0][:, known:]
        return np.asarray(axes @ beside + self.signals.T @ along)

    def gradient(self, U: np.ndarray, c: np.ndarray, t: int) -> Gradient:
        """Return mean loss and gradients, also of columns that do not move."""
        loss, first, by_U, by_c = 0.0, 0, np.zeros_like(U), np.zeros_like(c)
        batch = self._batch(t)
        for X, y in self.chunks():
            own = self._sums(X, U, c, y, batch[first : first + len(y)])
            loss, by_U, by_c = loss + own.loss, by_U + own.by_U, by_c + own.by_c
            first += len(y)
        size = max(batch.sum(), 1.0)
        return Gradient(loss / self.n, by_U / size, by_c / size)

    def _batch(self, t: int) -> Float[np.ndarray, " n"]:
        """Return which samples take part in step t, as 0 and 1."""
        batches = np.arange(self.n) * self.training.batches // self.n
        return (batches == t % self.training.batches).astype(float)

    def _sums(
        self, X: np.ndarray, U: np.ndarray, c: np.ndarray, y: np.ndarray, batch: np.ndarray
    ) -> ColumnSums:
        """Return the sums of losses and gradients over some samples."""
        training = self.training
        if training.network.uses_gram:
            return sums_by_columns(training, X, U, c, y, batch)
        flat = X.reshape(-1, X.shape[2])
        H = (flat @ U).reshape(len(y), training.task.length, -1)
        sums = sums_of(training, H, c, y, batch)
        by_U = flat.T @ sums.by_H.reshape(len(flat), -1)
        return ColumnSums(sums.loss, by_U, sums.by_c)

    def moments(self, U: np.ndarray) -> Moments:
        """Return what the law of the projections of new tokens depends on."""
        frame = self.token_frame
        seen = np.hstack([self.signals.T, U]) if self.training.task.sees_noise else U
        parts = (_through(frame.within, seen), _through(frame.between, seen))
        return Moments(U.T @ self.signals.T, U.T @ U, *parts)


def _through(S: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return u^T S u of a number, a diagonal or a matrix S."""
    turned = S @ u if S.ndim == 2 else np.multiply(S.reshape(-1, 1), u)
    return np.asarray(u.T @ turned)
