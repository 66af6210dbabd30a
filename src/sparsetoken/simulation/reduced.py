"""The experiment without its tensor: the same law from a few scalars per sample."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.designs import ReducedDesign
from sparsetoken.simulation.engine import TrainedQuery, training_size
from sparsetoken.simulation.features import FeatureSampler
from sparsetoken.simulation.frames import known_frame
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.stages import Query, QueryVector, TwoSteps


@dataclasses.dataclass(frozen=True)
class ReducedEngine:
    """Samples the law of the experiment in O(n0) scalars and an n1 x d Gaussian.

    Parameters
    ----------
    problem : SparseTokenProblem
    dimension : int, at least 3
        Two directions are named, and a third is needed.
    seed : int
    """

    problem: SparseTokenProblem
    dimension: int
    seed: int

    def train_query(self, steps: TwoSteps) -> TrainedQuery:
        """Run stages 1-3 on the sufficient scalars of a fresh D0.

        The same law as with real tokens, for any h0(y) = l'(y, 0). Vectors live in the frame
        (xi, the part of w1 orthogonal to xi, the rest).
        """
        rng = stream(self.seed, Stream.D0)
        n = training_size(steps.alpha0, self.dimension)
        y = self.problem.sample_labels(n, rng)
        m, across, h = self._first_step(steps, y, rng)
        along, orthogonal, beyond = self._query_step(steps, y, m, across, h, rng)
        norm = float(np.sqrt(along**2 + orthogonal**2 + beyond**2))
        cosine = along / norm if norm > 0 else 0.0
        length = np.hypot(m, across)
        return TrainedQuery(
            Query(float(np.clip(cosine, -1, 1)), steps.beta * norm),
            float(along),
            norm,
            float(m / length) if length > 0 else 0.0,
        )

    def _first_step(
        self, steps: TwoSteps, y: np.ndarray, rng: np.random.Generator
    ) -> tuple[float, float, np.ndarray]:
        """Return <w1, xi>, the length of the rest of w1, and h_i = l'(y_i, score).

        u = sum_i h0_i zbar_i ~ N(0, S/L I), S = sum_i h0_i^2. Given u, the projections
        <zbar_i, w1> are Gaussian with mean h0_i <u, w1> / S.
        """
        _, theta, R, L = self.problem.letters
        n, d, loss = len(y), self.dimension, steps.loss
        h0 = np.asarray(loss.slope(y, np.zeros(n)), dtype=float)
        S = h0 @ h0
        u = np.sqrt(S / L) * np.array([rng.standard_normal(), np.sqrt(rng.chisquare(d - 1))])
        step = -steps.eta_w / n
        w1 = step * (u + np.array([theta * R / L * h0[y == 1].sum(), 0.0]))
        shares = h0 / S if S > 0 else h0
        g = rng.standard_normal(n)
        z = shares * (u @ w1) + np.linalg.norm(w1) / np.sqrt(L) * (g - shares * (h0 @ g))
        b1 = -steps.eta_b * h0.mean()
        score = theta * R / L * w1[0] * (y == 1) + z + b1
        return w1[0], w1[1], np.asarray(loss.slope(y, score), dtype=float)

    def _query_step(
        self,
        steps: TwoSteps,
        y: np.ndarray,
        m: float,
        across: float,
        h: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[float, float, float]:
        """Return q2 in the frame."""
        theta, L = self.problem.strength, self.problem.length
        n, length = len(y), float(np.hypot(m, across))
        va, za, noise = centred_sums(self.problem, m, length, y, h, rng)
        cos, sin = (m / length, across / length) if length > 0 else (1.0, 0.0)
        turn = noise * rng.standard_normal()
        step = -steps.eta_q * steps.beta / (n * L)
        along = theta * va + za * cos - turn * sin
        orthogonal = za * sin + turn * cos
        beyond = noise * np.sqrt(rng.chisquare(self.dimension - 2))
        return step * along, step * orthogonal, step * beyond

    def given_query(self, query: Query) -> TrainedQuery:
        """Return the query itself; a frame can be turned to fit it. Here beta = 1."""
        k = query.sharpness
        return TrainedQuery(query, k * query.cosine, k)

    def given_vector(self, query: QueryVector) -> TrainedQuery:
        """Refuse a query that is given as a vector: isotropic tokens have no frame."""
        return known_frame(None, query).along(query)

    def design(
        self, sampler: FeatureSampler, trained: TrainedQuery | None, n: int
    ) -> ReducedDesign:
        """Draw the features of D1 in the frame (named directions, rest)."""
        rng = stream(self.seed, Stream.D1)
        y = self.problem.sample_labels(n, rng)
        query = None if trained is None else trained.query
        return sampler.draw(self.problem, query, y, self.dimension, rng)


class CentredSums(NamedTuple):
    """Sums over samples of centred tokens times their scores, weighted by the slopes h."""

    va: float
    za: float
    noise: float


def centred_sums(
    problem: SparseTokenProblem,
    m: float,
    width: float,
    y: np.ndarray,
    h: np.ndarray,
    rng: np.random.Generator,
) -> CentredSums:
    """Draw what sum_i h_i X_i^T a_i is made of, a_i the centred scores of the tokens.

    With rows a_i = width z_i + theta m v_i 1{+}: the sum of h_i <v_i, a_i> over positives, that
    of h_i <z_i, a_i>, and the root of that of h_i^2 |a_i|^2. Of the centred Gaussian z_i only
    its part p along v_i and its length enter.

    Parameters
    ----------
    problem : SparseTokenProblem
    m : float
        <w1, xi>.
    width : float
        Standard deviation of the noise of a token's score.
    y, h : arrays of shape (n,)
    rng : numpy.random.Generator
    """
    _, theta, R, L = problem.letters
    n, V = len(y), R * (1 - R / L)
    p = rng.standard_normal(n) * (L > 1)
    zz = p**2 + (rng.chisquare(L - 2, n) if L > 2 else 0.0)
    signal = theta * m * (y == 1)
    va = (width * np.sqrt(V) * p + V * signal) * (y == 1)
    za = width * zz + signal * np.sqrt(V) * p
    aa = width * za + signal * (width * np.sqrt(V) * p + V * signal)
    return CentredSums(float(h @ va), float(h @ za), float(np.sqrt(h**2 @ aa)))
