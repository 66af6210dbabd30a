"""The features of the linear models: the mean token, and the concatenated tokens."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool

from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.simulation.budget import chunk_sizes, scalar_rows
from sparsetoken.simulation.features.base import FeatureSampler, Projections
from sparsetoken.simulation.frames import TokenFrame, TrainedQuery
from sparsetoken.simulation.performance import DRAWS, ClassScores, NormalScores

_ENUMERATED = 5000  # sets of positions


class _LinearSampler(FeatureSampler):
    """Samples features without a query."""

    def axes(self, signal: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the direction of the signal, the same at each position."""
        return signal[None]


class PooledSampler(_LinearSampler):
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

    def overlaps(self, projections: Projections, bias: float) -> Overlaps:
        """Return the overlap with the signal."""
        (signal,) = projections.named
        return Overlaps(0.0, float(signal), projections.rest, bias)

    def scores(
        self,
        problem: SparseTokenProblem,
        trained: TrainedQuery | None,
        projections: Projections,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the scores, which are Gaussian in each class."""
        _, theta, R, L = problem.letters
        T = np.array([np.sqrt(projections.beside / L + projections.between)])
        yield ClassScores(
            NormalScores(theta * R / L * projections.signal + bias, T),
            NormalScores(np.array([float(bias)]), T),
        )


class VectorizedSampler(_LinearSampler):
    """Samples the L d entries of the tokens."""

    def positions(self, length: int) -> int:
        """Return L: every position has weights of its own."""
        return length

    def draw(
        self,
        problem: SparseTokenProblem,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw the noise of all tokens, with the signal at the positions of each positive."""
        n, L, k = len(y), problem.length, len(frame.signal)
        v = np.concatenate(list(_drawn_positions(problem, n, rng))) & (y == 1)[:, None]
        features = frame.within_noise(n, rng, copies=L)
        effect = frame.between_noise(n, rng)
        if effect is not None:
            features += np.tile(effect, L)
        features[:, : L * k] += problem.strength * np.kron(v, frame.signal)
        return features

    def features(self, X: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the concatenated tokens."""
        return X.reshape(len(X), -1)

    def overlaps(self, projections: Projections, bias: float) -> Overlaps:
        """Return the overlap with the signal spread evenly over the positions."""
        profile = projections.named
        mean = float(profile.sum() / np.sqrt(len(profile)))
        nu = np.hypot(np.linalg.norm(profile - mean / np.sqrt(len(profile))), projections.rest)
        return Overlaps(0.0, mean, float(nu), bias)

    def scores(
        self,
        problem: SparseTokenProblem,
        trained: TrainedQuery | None,
        projections: Projections,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the scores of positives by their positions."""
        width = np.sqrt(projections.beside + projections.between)
        for positions in _positions(problem, rng):
            T = np.full(len(positions), width)
            m = problem.strength * (positions @ projections.signal) + bias
            yield ClassScores(NormalScores(m, T), NormalScores(np.full(len(T), float(bias)), T))


def _drawn_positions(
    problem: SparseTokenProblem, n: int, rng: np.random.Generator
) -> Iterator[Bool[np.ndarray, "rows L"]]:
    """Draw n sets of positions, in chunks."""
    for rows in chunk_sizes(n, scalar_rows(problem.length)):
        yield problem.sample_positions(rows, rng)


def _positions(problem: SparseTokenProblem, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield all sets of positions if they are few and equally likely, else draws."""
    L, R = problem.length, problem.informative
    if problem.position_law is not None or math.comb(L, R) > _ENUMERATED:
        yield from _drawn_positions(problem, DRAWS, rng)
        return
    sets = itertools.combinations(range(L), R)
    while some := list(itertools.islice(sets, scalar_rows(L))):
        v = np.zeros((len(some), L), dtype=bool)
        np.put_along_axis(v, np.array(some), True, axis=1)
        yield v
