"""Features that weigh tokens by their projections on a query."""

from __future__ import annotations

import abc
import dataclasses
import math
from collections.abc import Iterator
from typing import ClassVar, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.attention import pool
from sparsetoken.problem import Isotropic, SparseTokenProblem
from sparsetoken.results import Overlaps
from sparsetoken.simulation.budget import Columns, chunk_sizes, scalar_rows
from sparsetoken.simulation.designs import ReducedDesign, noise_rows
from sparsetoken.simulation.engine import ScoreMoments, Split, TrainedQuery
from sparsetoken.simulation.features.base import FeatureSampler
from sparsetoken.simulation.frames import TokenFrame
from sparsetoken.simulation.performance import DRAWS, ClassScores, NormalScores, draws_for
from sparsetoken.stages import Query
from sparsetoken.tokens import TokenCovariance
from sparsetoken.validation import InvalidInput


class Scalars(NamedTuple):
    """The feature is theta A xi + B qhat + C h, with h ~ N(0, I - qhat qhat^T)."""

    A: Float[np.ndarray, " n"]
    B: Float[np.ndarray, " n"]
    C: Float[np.ndarray, " n"]


class QueriedSampler(FeatureSampler):
    """Samples features X^T a with weights a of the scores beta X q.

    Attributes
    ----------
    sees_mean : bool
        Whether a shift of all scores changes the features, in more than the same shift of the
        tokens.
    """

    sees_mean: ClassVar[bool] = False

    @abc.abstractmethod
    def weights(self, scores: Float[np.ndarray, "n L"]) -> Float[np.ndarray, "n L"]:
        """Return the weights of the tokens."""

    def columns(self, length: int, dimension: int) -> Columns:
        """Return the directions of query and signal, and the rest."""
        return Columns(2, dimension - 2)

    def draw(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        y: np.ndarray,
        dimension: int,
        rng: np.random.Generator,
    ) -> ReducedDesign:
        """Draw the scalars of each sample, and a Gaussian for all other directions."""
        assert query is not None
        theta, s = problem.strength, query.cosine
        sine = np.sqrt(1 - s**2)
        A, B, C = self.scalars(problem, query, y == 1, rng)
        features = noise_rows(len(y), 2, dimension - 2, rng)
        features *= C[:, None]
        features[:, 0] = theta * s * A + B
        features[:, 1] += theta * sine * A
        return ReducedDesign(features, y, 2, parallel=bool(sine == 0))

    def scalars(
        self,
        problem: SparseTokenProblem,
        query: Query,
        positive: Bool[np.ndarray, " n"],
        rng: np.random.Generator,
    ) -> Scalars:
        """Draw (A, B, C) for samples whose class is given.

        With t the projections of the tokens on the query direction and a their weights:
        A = <a, v> on positives, B = <a, t> without the signal, C = |a|. Tokens enter only
        through sums over positions, so the informative ones may come first.
        """
        rows = scalar_rows(problem.length)
        chunks = [positive[i : i + rows] for i in range(0, len(positive), rows)]
        drawn = [self._scalar_chunk(problem, query, chunk, rng) for chunk in chunks]
        return Scalars(*(np.concatenate(parts) for parts in zip(*drawn, strict=True)))

    def _scalar_chunk(
        self,
        problem: SparseTokenProblem,
        query: Query,
        positive: np.ndarray,
        rng: np.random.Generator,
    ) -> Scalars:
        _, theta, R, L = problem.letters
        g = rng.standard_normal((len(positive), L))
        t = g.copy()
        t[:, :R] += theta * query.cosine * positive[:, None]
        a = self.weights(query.sharpness * t)
        A = np.where(positive, a[:, :R].sum(axis=1), 0.0)
        return Scalars(A, np.einsum("nl,nl->n", a, g), np.sqrt(np.einsum("nl,nl->n", a, a)))

    def check_tokens(self, problem: SparseTokenProblem) -> None:
        """Refuse weights that see what the tokens of a sample share."""
        law = problem.tokens
        if self.sees_mean and isinstance(law, TokenCovariance) and law.between is not None:
            remedy = "Its weights see what the tokens of a sample share; leave between out."
            legal = f"without a between covariance for {self.model.name}"
            raise InvalidInput("tokens", legal, law, remedy)

    def draw_vectors(
        self,
        problem: SparseTokenProblem,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw theta A xi + B u + C (S_w - u u^T)^(1/2) h + S_b^(1/2) h', u = S_w q/sigma."""
        assert trained is not None
        q = trained.vector
        width = frame.within_length(q)
        projected = float(q @ frame.signal) / width
        A, B, C = self._scalars_at(problem, trained.query, projected, y == 1, rng)
        features = C[:, None] * frame.beside_noise(q, len(y), rng)
        features += frame.between_noise(rng, len(y))
        features += np.outer(problem.strength * A, frame.signal)
        features += np.outer(B / width, frame.times_within(q))
        return features

    def _scalars_at(
        self,
        problem: SparseTokenProblem,
        query: Query,
        projected: float,
        positive: np.ndarray,
        rng: np.random.Generator,
    ) -> Scalars:
        """Draw (A, B, C) where the signal moves scores by theta times `projected`, in widths."""
        shift = problem.strength * projected
        strength = abs(shift)
        cosine = math.copysign(1.0, shift)
        like = dataclasses.replace(problem, strength=strength, tokens=Isotropic())
        turned = Query(cosine, query.sharpness)
        return self.scalars(like, turned, positive, rng)

    def correlated_scores(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        moments: ScoreMoments,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield N(theta A <w, xi> + B <w, u> + b, C^2 (w^T S_w w - <w, u>^2) + w^T S_b w)."""
        assert query is not None
        (signal,), along = moments.signal, moments.along
        beside = max(moments.within - along**2, 0.0)

        def of_class(positive: bool, n: int) -> NormalScores:
            at = np.full(n, positive)
            A, B, C = self._scalars_at(problem, query, moments.projected, at, rng)
            m = problem.strength * A * signal + B * along + bias
            return NormalScores(m, np.sqrt(C**2 * beside + moments.between))

        for n in chunk_sizes(DRAWS, scalar_rows(problem.length)):
            yield ClassScores(of_class(True, n), of_class(False, n))

    def features(self, X: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return X^T a."""
        assert trained is not None
        sharpness = trained.query.sharpness * trained.scale
        scores = sharpness * (X @ trained.vector.astype(X.dtype))
        return pool(X, self.weights(scores))

    def axes(self, signal: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the direction of the query, and of the signal beside it."""
        assert trained is not None
        qhat, s = trained.vector, trained.query.cosine
        beside = signal - s * qhat
        norm = np.linalg.norm(beside)
        return np.stack([qhat, beside / norm if abs(s) < 1 and norm > 0 else 0 * signal])

    def overlaps(self, split: Split, bias: float) -> Overlaps:
        """Return the overlaps with both directions."""
        w_1, w_2 = split.named
        return Overlaps(float(w_1), float(w_2), split.rest, bias)

    def scores(
        self,
        problem: SparseTokenProblem,
        query: Query | None,
        split: Split,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield N(w_1 (theta s A + B) + w_2 theta sqrt(1-s^2) A + b, C^2 tau^2) by draws."""
        assert query is not None
        (w_1, w_2), theta, s = split.named, problem.strength, query.cosine

        def of_class(positive: bool, n: int) -> NormalScores:
            A, B, C = self.scalars(problem, query, np.full(n, positive), rng)
            m = w_1 * (theta * s * A + B) + w_2 * theta * np.sqrt(1 - s**2) * A + bias
            return NormalScores(m, C * np.hypot(w_2, split.rest))

        for n in chunk_sizes(draws_for(split.dimension, DRAWS), scalar_rows(problem.length)):
            yield ClassScores(of_class(True, n), of_class(False, n))
