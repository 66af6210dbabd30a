"""The data set of a descent: real tokens."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.model.concepts import ConceptProblem, Task
from sparsetoken.model.descent import Training
from sparsetoken.simulation.budget import CHUNK_BYTES, DEFAULT_BUDGET, chunk_rows, chunk_sizes
from sparsetoken.simulation.frames import TokenFrame, training_size
from sparsetoken.simulation.network_scores import Moments, sums_of
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.simulation.tensors import Chunk, TensorEngine

Blocks = list[np.ndarray]
"""The columns of U in the coordinates of the data, in parts of shape (k, m)."""


class Gradient(NamedTuple):
    """Mean loss of all samples, and its gradients over the batch whose turn it is."""

    loss: float
    by_U: Blocks
    by_c: Float[np.ndarray, " C"]


def batch_of(training: Training, n: int, first: int, count: int, t: int) -> np.ndarray:
    """Return which of some samples among n take part in step t, as 0 and 1."""
    numbers = np.arange(first, first + count)
    return (numbers * training.batches // n == t % training.batches).astype(float)


def batch_size(training: Training, n: int, t: int) -> int:
    """Return how many samples take part in step t."""
    return max(int(batch_of(training, n, 0, n, t).sum()), 1)


class TokenData:
    """Real tokens, which are kept where they fit and drawn again for each step otherwise.

    The problem of the engine plays no part where there are several signals.
    """

    def __init__(
        self, task: Task, training: Training, engine: TensorEngine, memory_budget: int | None
    ) -> None:
        self._training, self._seed = training, engine.seed
        self._n, d = training_size(training.alpha, engine.dimension), engine.dimension
        drawn: Callable[[], Iterator[Chunk]]
        if isinstance(task, ConceptProblem):
            normals = stream(engine.seed, Stream.SIGNAL).standard_normal((d, len(task.strengths)))
            self._signals = np.linalg.qr(normals)[0].T
            drawn = functools.partial(_drawn, task, self._signals, self._n, engine)
            self._frame = TokenFrame(self._signals[0])
        else:
            self._signals, self._frame = engine.signal[None], engine.frame
            drawn = functools.partial(engine.chunks, Stream.D0, self._n)
        budget = DEFAULT_BUDGET if memory_budget is None else memory_budget
        size = self._n * task.length * d * np.dtype(engine.dtype).itemsize
        kept = None if 2 * size + 2 * CHUNK_BYTES > budget else list(drawn())
        self._chunks: Callable[[], Iterable[Chunk]] = drawn if kept is None else lambda: kept

    def start(self) -> Blocks:
        """Return columns along the signals and random directions that are orthogonal to them."""
        d, known = self._signals.shape[1], len(self._signals)
        along, beside = np.split(self._training.start, [known])
        random = stream(self._seed, Stream.QUERY).standard_normal((d, len(beside)))
        axes = np.linalg.qr(np.column_stack([self._signals.T, random]))[0][:, known:]
        return [axes @ beside + self._signals.T @ along]

    def gradient(self, U: Blocks, c: np.ndarray, t: int, moves: np.ndarray) -> Gradient:
        """Return mean loss and gradients, also of columns that do not move."""
        (u,), training = U, self._training
        loss, first, by_u, by_c = 0.0, 0, np.zeros_like(u), np.zeros_like(c)
        for X, y in self._chunks():
            flat = X.reshape(-1, X.shape[2])
            H = (flat @ u.astype(X.dtype)).reshape(len(y), training.law.length, -1)
            batch = batch_of(training, self._n, first, len(y), t)
            sums = sums_of(training, H, c, y, batch)
            by_u += flat.T @ sums.by_H.reshape(len(flat), -1).astype(X.dtype)
            loss, by_c, first = loss + sums.loss, by_c + sums.by_c, first + len(y)
        size = batch_size(training, self._n, t)
        return Gradient(loss / self._n, [by_u / size], by_c / size)

    def moments(self, U: Blocks) -> Moments:
        """Return what the law of the projections of new tokens depends on."""
        (u,), frame = U, self._frame
        parts = (_through(frame.within, u), _through(frame.between, u))
        return Moments(u.T @ self._signals.T, u.T @ u, *parts)

    def frame(self, U: Blocks) -> TokenFrame:
        """Return the frame of the tokens."""
        return self._frame


def _through(S: np.ndarray, u: np.ndarray) -> np.ndarray:
    """Return u^T S u of a number, a diagonal or a matrix S."""
    turned = S @ u if S.ndim == 2 else np.multiply(S.reshape(-1, 1), u)
    return np.asarray(u.T @ turned)


def _drawn(
    task: ConceptProblem, signals: np.ndarray, n: int, engine: TensorEngine
) -> Iterator[Chunk]:
    """Yield n samples as (tokens, targets), in chunks."""
    rows = chunk_rows(8 * task.length * engine.dimension)
    for number, size in enumerate(chunk_sizes(n, rows)):
        rng = stream(engine.seed, Stream.D0, number)
        X, classes = task.sample(size, signals, rng, np.dtype(engine.dtype))
        yield X, 2 * classes - 1 if task.classes == 2 else classes
