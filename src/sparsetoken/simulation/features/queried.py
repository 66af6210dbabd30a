"""Features that weight tokens by their projections on a query: softmax, hard and elementwise."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.model.models import QueriedModel
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.results import Overlaps
from sparsetoken.simulation.budget import chunk_sizes, scalar_rows
from sparsetoken.simulation.features.base import FeatureSampler, Projections
from sparsetoken.simulation.frames import TokenFrame, TrainedQuery
from sparsetoken.simulation.performance import DRAWS, ClassScores, NormalScores, draws_for


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

    model: QueriedModel
    directions = 2

    def check_query(self, problem: SparseTokenProblem, trained: TrainedQuery) -> None:
        """Refuse weights that overflow."""
        noise = math.hypot(1.0, trained.effect_width)
        shift = problem.strength * abs(trained.projected) / noise
        self.model.check_sharpness(trained.query.sharpness * noise, shift)

    def sharpness(self, query: Query) -> float:
        """Return the factor of the projections, in widths of their noise."""
        return float(query.sharpness)

    def draw(
        self,
        problem: SparseTokenProblem,
        frame: TokenFrame,
        trained: TrainedQuery | None,
        y: np.ndarray,
        rng: np.random.Generator,
    ) -> np.ndarray:
        """Draw the scalars of each sample, and the noise of all other directions."""
        assert trained is not None
        q, k, n = trained.direction, len(frame.signal), len(y)
        A, B, C, D, zeta = self.scalars(problem, trained, y == 1, rng)
        features = frame.beside_noise(q, n, rng)
        features *= C[:, None]
        features[:, :k] += np.outer(problem.strength * A, frame.signal)
        features[:, :k] += np.outer(B, frame.along(q).vector)
        effect = frame.between_noise(n, rng)
        if effect is not None:
            if zeta is not None:  # given the part along the query, the rest keeps its law
                width, u = frame.between_along(q)
                effect += np.outer(zeta - effect @ q / width, u)
            features += D[:, None] * effect
        return features

    def scalars(
        self,
        problem: SparseTokenProblem,
        trained: TrainedQuery,
        positive: Bool[np.ndarray, " n"],
        rng: np.random.Generator,
    ) -> Scalars:
        """Draw the scalars of samples whose class is given.

        Tokens enter only through sums over positions, so the informative ones may come first.
        """
        rows = scalar_rows(problem.length)
        drawn = [
            self._scalar_chunk(problem, trained, positive[i : i + rows], rng)
            for i in range(0, len(positive), rows)
        ]
        *sums, zeta = zip(*drawn, strict=True)
        A, B, C, D = (np.concatenate(parts) for parts in sums)
        return Scalars(A, B, C, D, None if zeta[0] is None else np.concatenate(zeta))

    def _scalar_chunk(
        self,
        problem: SparseTokenProblem,
        trained: TrainedQuery,
        positive: np.ndarray,
        rng: np.random.Generator,
    ) -> Scalars:
        _, theta, R, L = problem.letters
        g = rng.standard_normal((len(positive), L))
        t, zeta = g.copy(), None
        t[:, :R] += theta * trained.projected * positive[:, None]
        if self.model.sees_mean and trained.effect_width > 0:
            zeta = rng.standard_normal(len(positive))
            t += trained.effect_width * zeta[:, None]
        t *= self.sharpness(trained.query)
        a = self.model.weights(t)
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
        scores = sharpness * (X @ trained.direction.astype(X.dtype))
        return np.matmul(self.model.weights(scores)[:, None, :], X)[:, 0]

    def axes(self, signal: np.ndarray, trained: TrainedQuery | None) -> np.ndarray:
        """Return the direction of the query, and of the signal beside it."""
        assert trained is not None
        qhat, s = trained.direction, trained.query.cosine
        beside = signal - s * qhat
        norm = np.linalg.norm(beside)
        return np.stack([qhat, beside / norm if abs(s) < 1 and norm > 0 else 0 * signal])

    def overlaps(self, projections: Projections, bias: float) -> Overlaps:
        """Return the overlaps with both directions."""
        w_1, w_2 = projections.named
        return Overlaps(float(w_1), float(w_2), projections.rest, bias)

    def scores(
        self,
        problem: SparseTokenProblem,
        trained: TrainedQuery | None,
        projections: Projections,
        bias: float,
        rng: np.random.Generator,
    ) -> Iterator[ClassScores]:
        """Yield the scores by draws of the scalars.

        Their mean is ``theta A <w, xi> + B <w, u> + D zeta <w, u_b> + b``, their variance
        ``C^2 w^T (S_w - u u^T) w + D^2 w^T (S_b - u_b u_b^T) w``. Where the weights do not depend
        on zeta its part counts to the variance.
        """
        assert trained is not None

        def of_class(positive: bool, n: int) -> NormalScores:
            at = np.full(n, positive)
            A, B, C, D, zeta = self.scalars(problem, trained, at, rng)
            m = problem.strength * A * projections.signal + B * projections.along + bias
            between = projections.between
            if zeta is not None:
                m += D * zeta * projections.along_effect
                between = max(between - projections.along_effect**2, 0.0)
            return NormalScores(m, np.sqrt(C**2 * projections.beside + D**2 * between))

        for n in chunk_sizes(draws_for(projections.dimension, DRAWS), scalar_rows(problem.length)):
            yield ClassScores(of_class(True, n), of_class(False, n))


class HardSampler(QueriedSampler):
    """Samples the token with the largest projection on the query, at any sharpness."""

    def sharpness(self, query: Query) -> float:
        """Return 1: the order of the projections must survive a sharpness of 0."""
        return 1.0
