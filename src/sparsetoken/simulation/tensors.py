"""The experiment as defined: real tokens, gradients and pooling."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterator

import numpy as np
from jaxtyping import Float

from sparsetoken.model.architectures.weights import softmax_weights
from sparsetoken.model.base import Problem
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.model.tokens import TokenCovariance
from sparsetoken.model.training import Training
from sparsetoken.simulation.descent_data import Chunk, TokenData
from sparsetoken.simulation.features import FeatureSampler
from sparsetoken.simulation.frames import Design, TokenFrame, TrainedQuery, frame_of, training_size
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.simulation.sizes import LARGEST_BYTES, chunk_rows, chunk_sizes


def samples_of(training: Training, dimension: int) -> int:
    """Return the number of samples of a descent, or of bags that one pass sees."""
    if training.times:
        return round(training.times[-1] * dimension)
    return training_size(training.alpha, dimension)


@dataclasses.dataclass(frozen=True)
class TensorEngine:
    """Draws X chunk by chunk; no more than one chunk of tokens is held, except by a descent.

    Chunks are seeded by their number, so a second pass draws the same data again. Signals may be
    given.
    """

    problem: Problem
    dimension: int
    seed: int
    given: Float[np.ndarray, "P d"] | None = None

    @functools.cached_property
    def signals(self) -> Float[np.ndarray, "P d"]:
        """The hidden signals, orthonormal rows; where tokens are isotropic they are uniform."""
        if self.given is not None:
            return self.given
        tokens = self.problem.tokens
        if isinstance(tokens, TokenCovariance):
            return tokens.signals
        shape = self.dimension, len(self.problem.directions)
        normals = stream(self.seed, Stream.SIGNAL).standard_normal(shape)
        if isinstance(self.problem, SparseTokenProblem):
            return (normals / np.linalg.norm(normals)).T
        return np.linalg.qr(normals)[0].T

    @property
    def signal(self) -> Float[np.ndarray, " d"]:
        """The first hidden signal, xi."""
        return self.signals[0]

    @functools.cached_property
    def frame(self) -> TokenFrame:
        """The coordinates of vectors."""
        return frame_of(self.problem.tokens) or TokenFrame(self.signal)

    def chunks(self, source: Stream, n: int) -> Iterator[Chunk]:
        """Yield n samples as (tokens, targets), in chunks."""
        rows = chunk_rows(8 * self.problem.length * self.dimension)
        for number, size in enumerate(chunk_sizes(n, rows)):
            rng = stream(self.seed, source, number)
            one = isinstance(self.problem, SparseTokenProblem)
            yield self.problem.sample(size, self.signal if one else self.signals, rng)

    def train_query(self, steps: TwoSteps) -> TrainedQuery:
        """Run stages 1-3 by the gradients as they are defined, on a fresh D0."""
        n = training_size(steps.alpha0, self.dimension)

        def gradient(w: np.ndarray, b: float) -> tuple[np.ndarray, np.ndarray, float]:
            """Return the gradients of the mean loss by readout, query and bias at q = 0."""
            by_w, by_q, by_b = np.zeros_like(w), np.zeros_like(w), 0.0
            for X, y in self.chunks(Stream.D0, n):
                t = X @ w
                a = softmax_weights(np.zeros_like(t))
                scores = (a * t).sum(axis=1, keepdims=True)
                slope = np.asarray(steps.loss.slope(y[:, None], scores + b))
                flat = X.reshape(-1, X.shape[2])
                by_w += (slope * a).ravel() @ flat
                by_q += (slope * steps.beta * a * (t - scores)).ravel() @ flat
                by_b += float(slope.sum())
            return by_w / n, by_q / n, by_b / n

        by_w, _, by_b = gradient(np.zeros(self.dimension), 0.0)
        w1 = -steps.eta_w * by_w
        _, by_q, _ = gradient(w1, -steps.eta_b * by_b)
        return self.frame.trained(-steps.eta_q * by_q, steps.beta, w1)

    def descent_data(self, training: Training) -> TokenData:
        """Return the data set of a descent; a larger one is drawn again for each step."""
        n = samples_of(training, self.dimension)
        chunks = functools.partial(self.chunks, Stream.D0, n)
        used_again = not training.times
        if used_again and 8 * n * self.problem.length * self.dimension <= LARGEST_BYTES:
            chunks = functools.partial(iter, list(chunks()))
        return TokenData(training, n, chunks, self.signals, self.frame, self.seed)

    def design(self, sampler: FeatureSampler, trained: TrainedQuery | None, n: int) -> Design:
        """Draw D1 and pool the features of real tokens, chunk by chunk."""
        labels = np.empty(n, dtype=int)
        width = sampler.positions * self.dimension
        features, row = np.empty((n, width)), 0
        for X, y in self.chunks(Stream.D1, n):
            here = slice(row, row + len(y))
            features[here] = sampler.features(X, trained)
            labels[here] = y
            row += len(y)
        return Design(features, labels, self.frame, trained)
