"""The features of the pooled model: the mean token."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.simulation.budget import Columns
from sparsetoken.simulation.designs import ReducedDesign, noise_rows
from sparsetoken.simulation.engine import ScoreMoments, Split, TrainedQuery
from sparsetoken.simulation.features.base import FeatureSampler
from sparsetoken.simulation.frames import TokenFrame
from sparsetoken.simulation.performance import ClassScores, NormalScores
from sparsetoken.stages import Query


class PooledSampler(FeatureSampler):
    """Samples the mean of the tokens."""

    def columns(self, length: int, dimension: int) -> Columns:
        """Return the direction of the signal, and the rest."""
        return Columns(1, dimension - 1)

    def draw(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        y: np.ndarray,
        dimension: int,
        rng: np.random.Generator,
    ) -> ReducedDesign:
        """Draw a Gaussian of width 1/sqrt(L), with the mean theta R/L on positives."""
        _, theta, R, L = problem.letters
        features = noise_rows(len(y), 1, dimension - 1, rng)
        features /= np.sqrt(L)
        features[:, 0] += theta * R / L * (y == 1)
        return ReducedDesign(features, y, 1)

    def draw_vectors(
        self,
        problem: SparseTokenProblem,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw N(0, S_b + S_w/L), with the mean theta R/L xi on positives."""
        _, theta, R, L = problem.letters
        return frame.mean_noise(L, len(y), rng) + np.outer(theta * R / L * (y == 1), frame.signal)

    def correlated_scores(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        moments: ScoreMoments,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the scores, which are Gaussian in each class."""
        _, theta, R, L = problem.letters
        T = np.array([np.sqrt(moments.within / L + moments.between)])
        yield ClassScores(
            NormalScores(theta * R / L * moments.signal + bias, T),
            NormalScores(np.array([float(bias)]), T),
        )

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
        query: Query | None,
        split: Split,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the scores, which are Gaussian in each class."""
        _, theta, R, L = problem.letters
        T = np.array([np.hypot(split.named[0], split.rest) / np.sqrt(L)])
        yield ClassScores(
            NormalScores(theta * R / L * split.named + bias, T),
            NormalScores(np.array([float(bias)]), T),
        )
