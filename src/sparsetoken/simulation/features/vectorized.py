"""The features of the vectorized model: all tokens side by side."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.simulation.budget import Columns, chunk_sizes, scalar_rows
from sparsetoken.simulation.designs import ReducedDesign, noise_rows
from sparsetoken.simulation.engine import ScoreMoments, Split, TrainedQuery
from sparsetoken.simulation.features.base import FeatureSampler
from sparsetoken.simulation.frames import TokenFrame
from sparsetoken.simulation.performance import DRAWS, ClassScores, NormalScores
from sparsetoken.stages import Query

_ENUMERATED = 5000  # sets of positions


class VectorizedSampler(FeatureSampler):
    """Samples the L d entries of the tokens."""

    def columns(self, length: int, dimension: int) -> Columns:
        """Return the direction of the signal at each position, and the rest."""
        return Columns(length, length * (dimension - 1))

    def draw(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        y: np.ndarray,
        dimension: int,
        rng: np.random.Generator,
    ) -> ReducedDesign:
        """Draw a Gaussian, with the signal at the positions of each positive sample."""
        L, n = problem.length, len(y)
        v = np.concatenate(list(_drawn_positions(problem, n, rng))) & (y == 1)[:, None]
        features = noise_rows(n, L, L * (dimension - 1), rng)
        features[:, :L] += problem.strength * v
        return ReducedDesign(features, y, L)

    def draw_vectors(
        self,
        problem: SparseTokenProblem,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw the tokens themselves: here they are the features."""
        v = np.concatenate(list(_drawn_positions(problem, len(y), rng))) & (y == 1)[:, None]
        tokens = frame.within_noise(rng, *v.shape) + frame.between_noise(rng, len(y), 1)
        tokens += problem.strength * v[..., None] * frame.signal
        return tokens.reshape(len(y), -1)

    def correlated_scores(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        moments: ScoreMoments,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the scores of positives by their positions."""
        width = np.sqrt(moments.within + moments.between)
        for positions in _positions(problem, rng):
            T = np.full(len(positions), width)
            m = problem.strength * (positions @ moments.signal) + bias
            yield ClassScores(NormalScores(m, T), NormalScores(np.full(len(T), float(bias)), T))

    def features(self, X: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the tokens side by side."""
        return X.reshape(len(X), -1)

    def axes(self, signal: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the direction of the signal, the same at each position."""
        return signal[None]

    def overlaps(self, split: Split, bias: float) -> Overlaps:
        """Return the overlap with the signal spread evenly over the positions."""
        profile = split.named
        mean = float(profile.sum() / np.sqrt(len(profile)))
        nu = np.hypot(np.linalg.norm(profile - mean / np.sqrt(len(profile))), split.rest)
        return Overlaps(0.0, mean, float(nu), bias)

    def scores(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        split: Split,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the scores of positives by their positions."""
        width = np.hypot(np.linalg.norm(split.named), split.rest)
        for positions in _positions(problem, rng):
            T = np.full(len(positions), width)
            m = problem.strength * (positions @ split.named) + bias
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
