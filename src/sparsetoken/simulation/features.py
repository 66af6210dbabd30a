"""The features of each model: how they are sampled, with tokens and without, and their scores."""

from __future__ import annotations

import abc
import dataclasses
import itertools
import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from sparsetoken.model.models import HardAttention, Model, Pooled, Vectorized
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.simulation.frames import TokenFrame, TrainedQuery
from sparsetoken.simulation.performance import Projections, Scores, draws_for
from sparsetoken.simulation.sizes import chunk_sizes, scalar_rows

_ENUMERATED = 5000  # sets of positions


@dataclasses.dataclass(frozen=True)
class FeatureSampler(abc.ABC):
    """How the features of one model are sampled on one problem, with tokens and without.

    Parameters
    ----------
    model : Model
    problem : SparseTokenProblem
    """

    model: Any
    problem: SparseTokenProblem

    @property
    def positions(self) -> int:
        """How many positions have weights of their own."""
        return int(self.model.weights_per_dimension(self.problem.length))

    def check_query(self, trained: TrainedQuery) -> None:  # noqa: B027
        """Raise `InvalidInput` if the model cannot work with this query."""

    @abc.abstractmethod
    def draw(
        self,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: Int[np.ndarray, " n"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "n m"]:
        """Draw features without tokens, in the coordinates of the frame."""

    @abc.abstractmethod
    def features(
        self, X: Float[np.ndarray, "n L d"], trained: TrainedQuery | None
    ) -> Float[np.ndarray, "n m"]:
        """Return the features of real tokens."""

    @abc.abstractmethod
    def scores(
        self, trained: TrainedQuery | None, projections: Projections, rng: np.random.Generator
    ) -> Iterator[Scores]:
        """Yield the Gaussian scores of new samples given the few scalars they depend on."""


class PooledSampler(FeatureSampler):
    """Samples the mean of the tokens."""

    def draw(
        self,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw N(0, S_b + S_w/L), with the mean theta R/L xi on positives."""
        _, theta, R, L = self.problem.letters
        features = frame.mean_noise(len(y), L, rng)
        features[:, : len(frame.signal)] += np.outer(theta * R / L * (y == 1), frame.signal)
        return features

    def features(self, X: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the mean token."""
        return X.mean(axis=1)

    def scores(
        self, trained: TrainedQuery | None, projections: Projections, rng: np.random.Generator
    ) -> Iterator[Scores]:
        """Yield the scores, which are Gaussian in each class."""
        _, theta, R, L = self.problem.letters
        m = np.outer([theta * R / L, 0.0], projections.signal) + projections.overlaps.bias
        width = np.sqrt(projections.beside / L + projections.between)
        yield Scores(m, np.full(m.shape, width))


class VectorizedSampler(FeatureSampler):
    """Samples the L d entries of the tokens."""

    def draw(
        self,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw the noise of all tokens, with the signal at the positions of each positive."""
        n, L, k = len(y), self.problem.length, len(frame.signal)
        v = np.concatenate(list(self._drawn_positions(n, rng))) & (y == 1)[:, None]
        features = frame.within_noise(n, rng, copies=L)
        effect = frame.between_noise(n, rng)
        if effect is not None:
            features += np.tile(effect, L)
        features[:, : L * k] += self.problem.strength * np.kron(v, frame.signal)
        return features

    def features(self, X: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the concatenated tokens."""
        return X.reshape(len(X), -1)

    def scores(
        self, trained: TrainedQuery | None, projections: Projections, rng: np.random.Generator
    ) -> Iterator[Scores]:
        """Yield the scores of positives by their positions."""
        width = np.sqrt(projections.beside + projections.between)
        for v in self._position_sets(rng):
            m = self.problem.strength * np.stack([v @ projections.signal, np.zeros(len(v))])
            yield Scores(m + projections.overlaps.bias, np.full(m.shape, width))

    def _drawn_positions(
        self, n: int, rng: np.random.Generator
    ) -> Iterator[Bool[np.ndarray, "rows L"]]:
        """Draw n sets of positions, in chunks."""
        for rows in chunk_sizes(n, scalar_rows(self.problem.length)):
            yield self.problem.sample_positions(rows, rng)

    def _position_sets(self, rng: np.random.Generator) -> Iterator[Bool[np.ndarray, "rows L"]]:
        """Yield all sets of positions if they are few, else draws."""
        L, R = self.problem.length, self.problem.informative
        if math.comb(L, R) > _ENUMERATED:
            yield from self._drawn_positions(draws_for(None), rng)
            return
        sets = itertools.combinations(range(L), R)
        while some := list(itertools.islice(sets, scalar_rows(L))):
            v = np.zeros((len(some), L), dtype=bool)
            np.put_along_axis(v, np.array(some), True, axis=1)
            yield v


class Scalars(NamedTuple):
    """What a feature takes of its sample.

    It is ``theta A xi + B u + C (S_w - u u^T)^(1/2) h + D e``, with h ~ N(0, I) and what the tokens
    of the sample share, ``e = zeta u_b + (S_b - u_b u_b^T)^(1/2) h'``. Here ``u = S_w q/sigma`` and
    ``u_b = S_b q/sigma_b`` are what the covariances have along the query. A is the sum of the
    weights at the places of the signal, B that of the weights times the noise of the projections, C
    the norm of the weights and D their sum; zeta is what the projections of the tokens share,
    over its width sigma_b, and None where the weights do not depend on it.
    """

    A: Float[np.ndarray, " n"]
    B: Float[np.ndarray, " n"]
    C: Float[np.ndarray, " n"]
    D: Float[np.ndarray, " n"]
    zeta: Float[np.ndarray, " n"] | None = None


class QueriedSampler(FeatureSampler):
    """Samples features X^T a with the weights a that the model gives to the scores beta X q."""

    def check_query(self, trained: TrainedQuery) -> None:
        """Refuse weights that overflow."""
        noise = math.hypot(1.0, trained.effect_width)
        shift = self.problem.strength * abs(trained.projected) / noise
        self.model.network.check_sharpness(trained.query.sharpness * noise, shift)

    def sharpness(self, query: Query) -> float:
        """Return the factor of the projections, in widths of their noise."""
        return float(query.sharpness)

    def draw(
        self,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw the scalars of each sample, and the noise of all other directions."""
        assert trained is not None
        q, k, n = trained.direction, len(frame.signal), len(y)
        A, B, C, D, zeta = self.scalars(trained, y == 1, rng)
        features = frame.beside_noise(q, n, rng)
        features *= C[:, None]
        features[:, :k] += np.outer(self.problem.strength * A, frame.signal)
        features[:, :k] += np.outer(B, frame.along(q).vector)
        effect = frame.between_noise(n, rng)
        if effect is not None:
            if zeta is not None:  # given the part along the query, the rest keeps its law
                width, u = frame.between_along(q)
                effect += np.outer(zeta - effect @ q / width, u)
            features += D[:, None] * effect
        return features

    def scalars(
        self, trained: TrainedQuery, positive: Bool[np.ndarray, " n"], rng: np.random.Generator
    ) -> Scalars:
        """Draw the scalars of samples whose class is given, chunk by chunk.

        Tokens enter only through sums over positions, so the informative ones may come first.
        """
        rows = scalar_rows(self.problem.length)
        parts = (positive[i : i + rows] for i in range(0, len(positive), rows))
        *sums, zeta = zip(*(self._scalar_chunk(trained, part, rng) for part in parts), strict=True)
        A, B, C, D = map(np.concatenate, sums)
        return Scalars(A, B, C, D, None if zeta[0] is None else np.concatenate(zeta))

    def _scalar_chunk(
        self, trained: TrainedQuery, positive: np.ndarray, rng: np.random.Generator
    ) -> Scalars:
        _, theta, R, L = self.problem.letters
        g = rng.standard_normal((len(positive), L))
        t, zeta = g.copy(), None
        t[:, :R] += theta * trained.projected * positive[:, None]
        if self.model.network.total is None and trained.effect_width > 0:
            zeta = rng.standard_normal(len(positive))
            t += trained.effect_width * zeta[:, None]
        t *= self.sharpness(trained.query)
        a = self.model.network.weights(t)
        return Scalars(
            A=np.where(positive, a[:, :R].sum(axis=1), 0.0),
            B=np.einsum("nl,nl->n", a, g),
            C=np.sqrt(np.einsum("nl,nl->n", a, a)),
            D=a @ np.ones(L),
            zeta=zeta,
        )

    def features(self, X: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return X^T a."""
        assert trained is not None
        sharpness = self.sharpness(trained.query) * trained.scale
        scores = sharpness * (X @ trained.direction)
        return np.matmul(self.model.network.weights(scores)[:, None, :], X)[:, 0]

    def scores(
        self, trained: TrainedQuery | None, projections: Projections, rng: np.random.Generator
    ) -> Iterator[Scores]:
        """Yield the scores by draws of the scalars.

        Their mean is ``theta A <w, xi> + B <w, u> + D zeta <w, u_b> + b``, their variance
        ``C^2 w^T (S_w - u u^T) w + D^2 w^T (S_b - u_b u_b^T) w``. Where the weights do not depend
        on zeta its part counts to the variance.
        """
        assert trained is not None
        theta, at = self.problem.strength, projections
        for n in chunk_sizes(draws_for(at.dimension), scalar_rows(self.problem.length)):
            m, T = np.empty((2, n)), np.empty((2, n))
            for row, positive in enumerate((True, False)):
                A, B, C, D, zeta = self.scalars(trained, np.full(n, positive), rng)
                m[row] = theta * A * at.signal + B * at.along + at.overlaps.bias
                between = at.between
                if zeta is not None:
                    m[row] += D * zeta * at.along_effect
                    between = max(between - at.along_effect**2, 0.0)
                T[row] = np.sqrt(C**2 * at.beside + D**2 * between)
            yield Scores(m, T)


class HardSampler(QueriedSampler):
    """Samples the token with the largest projection on the query, at any sharpness."""

    def sharpness(self, query: Query) -> float:
        """Return 1: the order of the projections must survive a sharpness of 0."""
        return 1.0


def sampler_of(model: Model, problem: SparseTokenProblem) -> FeatureSampler:
    """Return what samples the features of a model on a problem."""
    if isinstance(model, Pooled):
        return PooledSampler(model, problem)
    if isinstance(model, Vectorized):
        return VectorizedSampler(model, problem)
    if isinstance(model, HardAttention):
        return HardSampler(model, problem)
    return QueriedSampler(model, problem)
