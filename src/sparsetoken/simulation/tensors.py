"""The experiment as it is defined: real tokens, real gradients, real pooling."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np

from sparsetoken.attention import pool
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.budget import chunk_rows, chunk_sizes
from sparsetoken.simulation.design import Split, TrainedQuery, training_size
from sparsetoken.simulation.scalars import pooling_weights
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.stages import FourStageTraining, Query
from sparsetoken.validation import InvalidInput

__all__ = ["TensorDesign", "TensorEngine"]

Chunk = tuple[np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True)
class TensorDesign:
    """Features of real tokens; named directions as rows of `axes` (per position)."""

    features: np.ndarray
    labels: np.ndarray
    axes: np.ndarray

    def split(self, w: np.ndarray) -> Split:
        """Return the coordinates of a readout on the axes, and the length of the rest."""
        W = w.reshape(-1, self.axes.shape[1])
        named = W @ self.axes.T
        rest = float(np.linalg.norm(W - named @ self.axes))
        return Split(named.ravel(), rest)


@dataclasses.dataclass(frozen=True)
class TensorEngine:
    """Draws X chunk by chunk; no more than one chunk of tokens is held.

    Chunks are seeded by their number, so a second pass draws the same data again.

    Parameters
    ----------
    problem : SparseTokenProblem
    dimension : int
    seed : int
    dtype : str
        float64 or float32, the type of the tokens. Readouts are always float64.
    """

    problem: SparseTokenProblem
    dimension: int
    seed: int
    dtype: str = "float64"

    @property
    def signal(self) -> np.ndarray:
        """The hidden signal xi, uniform on the sphere."""
        return _unit(stream(self.seed, Stream.SIGNAL).standard_normal(self.dimension))

    def chunks(self, source: Stream, n: int) -> Iterator[Chunk]:
        """Yield n samples as (tokens, labels), in chunks."""
        xi, dtype = self.signal, np.dtype(self.dtype)
        rows = chunk_rows(8 * self.problem.length * self.dimension)
        for number, size in enumerate(chunk_sizes(n, rows)):
            rng = stream(self.seed, source, number)
            yield self.problem.sample(size, xi, rng, dtype)

    def train_query(self, training: FourStageTraining) -> TrainedQuery:
        """Run stages 1-3 by the gradients as they are defined, on a fresh D0."""
        n, xi = training_size(training.alpha0, self.dimension), self.signal
        w1, b1 = self._first_readout(training, n)
        q2 = self._query_step(training, n, w1, b1)
        norm, length = float(np.linalg.norm(q2)), np.linalg.norm(w1)
        direction = q2 / norm if norm > 0 else self._beside(xi)
        overlap = float(q2 @ xi)
        cosine = float(np.clip(overlap / norm, -1, 1)) if norm > 0 else 0.0
        return TrainedQuery(
            Query(cosine, training.beta * norm),
            overlap,
            norm,
            float(w1 @ xi / length) if length > 0 else 0.0,
            direction,
        )

    def _first_readout(self, training: FourStageTraining, n: int) -> tuple[np.ndarray, float]:
        """Stage 1: one gradient step on (w, b) from zero."""
        w, b = np.zeros(self.dimension), 0.0
        for X, y in self.chunks(Stream.D0, n):
            h = np.asarray(training.loss.slope(y, np.zeros(len(y))))
            w += h.astype(X.dtype) @ X.mean(axis=1)
            b += h.sum()
        return -training.eta_w / n * w, -training.eta_b / n * b

    def _query_step(
        self, training: FourStageTraining, n: int, w1: np.ndarray, b1: float
    ) -> np.ndarray:
        """Stage 3: one gradient step on q from zero, at (w1, b1)."""
        total, L = np.zeros(self.dimension), self.problem.length
        for X, y in self.chunks(Stream.D0, n):
            t = X @ w1.astype(X.dtype)
            mean = t.mean(axis=1)
            h = np.asarray(training.loss.slope(y, mean + b1))
            weights = h[:, None] * (t - mean[:, None])
            total += weights.astype(X.dtype).ravel() @ X.reshape(-1, self.dimension)
        return -training.eta_q * training.beta / (n * L) * total

    def given_query(self, query: Query) -> TrainedQuery:
        """Return a vector with exactly this cosine, for beta = 1."""
        xi, s, k = self.signal, query.cosine, query.sharpness
        if self.dimension == 1 and abs(s) < 1:
            raise InvalidInput("cosine", "-1 or 1 at dimension 1", s)
        direction = s * xi
        if abs(s) < 1:
            direction = direction + np.sqrt(1 - s**2) * self._beside(xi)
        return TrainedQuery(query, k * s, k, direction=direction)

    def _beside(self, xi: np.ndarray) -> np.ndarray:
        """Return a uniform unit vector orthogonal to xi."""
        g = stream(self.seed, Stream.QUERY).standard_normal(len(xi))
        return _unit(g - (g @ xi) * xi)

    def design(self, model: str, trained: TrainedQuery, n: int, activation: str) -> TensorDesign:
        """Draw D1 and pool the features of real tokens, chunk by chunk."""
        labels = np.empty(n, dtype=int)
        width = self.dimension * (self.problem.length if model == "vectorized" else 1)
        features, row = np.empty((n, width)), 0
        for X, y in self.chunks(Stream.D1, n):
            here = slice(row, row + len(y))
            features[here] = _features(model, X, trained, activation)
            labels[here] = y
            row += len(y)
        return TensorDesign(features, labels, self._axes(model, trained))

    def fresh_scores(
        self, model: str, trained: TrainedQuery, w: np.ndarray, b: float, n: int, activation: str
    ) -> Chunk:
        """Return scores and labels of n new samples."""
        drawn = [
            (_features(model, X, trained, activation) @ w + b, y)
            for X, y in self.chunks(Stream.FRESH, n)
        ]
        scores, labels = zip(*drawn, strict=True)
        return np.concatenate(scores), np.concatenate(labels)

    def _axes(self, model: str, trained: TrainedQuery) -> np.ndarray:
        xi = self.signal
        if model in ("pooled", "vectorized"):
            return xi[None]
        qhat, s = trained.direction, trained.query.cosine
        beyond = xi - s * qhat
        e2 = _unit(beyond) if abs(s) < 1 else np.zeros_like(xi)
        return np.stack([qhat, e2])


def _features(model: str, X: np.ndarray, trained: TrainedQuery, activation: str) -> np.ndarray:
    if model == "vectorized":
        return X.reshape(len(X), -1)
    if model == "pooled":
        return X.mean(axis=1)
    scores = trained.query.sharpness * (X @ trained.direction.astype(X.dtype))
    return pool(X, pooling_weights(model, scores, activation))


def _unit(vector: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(vector)
    return vector / norm if norm > 0 else vector
