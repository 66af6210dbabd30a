"""The features of the pooled model: the mean token."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.simulation.designs import Split
from sparsetoken.simulation.features.base import FeatureSampler
from sparsetoken.simulation.frames import TokenFrame, TrainedQuery
from sparsetoken.simulation.performance import ClassScores, NormalScores


class PooledSampler(FeatureSampler):
    """Samples the mean of the tokens."""

    def draw(
        self,
        problem: SparseTokenProblem,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw N(0, S_b + S_w/L), with the mean theta R/L xi on positives."""
        _, theta, R, L = problem.letters
        features = frame.mean_noise(len(y), L, rng)
        features[:, : len(frame.signal)] += np.outer(theta * R / L * (y == 1), frame.signal)
        return features

    def features(self, X: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the mean token."""
        return X.mean(axis=1)

    def axes(self, signal: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the direction of the signal."""
        return signal[None]

    def overlaps(self, split: Split, bias: float) -> Overlaps:
        """Return the overlap with the signal."""
        (signal,) = split.named
        return Overlaps(0.0, float(signal), split.rest, bias)

    def scores(
        self,
        problem: SparseTokenProblem,
        trained: TrainedQuery | None,
        split: Split,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the scores, which are Gaussian in each class."""
        _, theta, R, L = problem.letters
        T = np.array([np.sqrt(split.beside / L + split.between)])
        yield ClassScores(
            NormalScores(theta * R / L * split.signal + bias, T),
            NormalScores(np.array([float(bias)]), T),
        )
