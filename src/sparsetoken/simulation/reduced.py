"""The experiment without its tensor: the same law from a few scalars per sample."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.design import Split, TrainedQuery, training_size
from sparsetoken.simulation.scalars import draw_positions, draw_scalars
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.stages import FourStageTraining, Query

__all__ = ["ReducedDesign", "ReducedEngine", "noise_rows"]


@dataclasses.dataclass(frozen=True)
class ReducedDesign:
    """Features in a frame whose first columns are the named directions."""

    features: np.ndarray
    labels: np.ndarray
    named: int
    parallel: bool = False
    """Whether query and signal are parallel, so that there is no second direction."""

    def split(self, w: np.ndarray) -> Split:
        """Return the named coordinates of a readout, and the length of the rest."""
        named, rest = w[: self.named].copy(), w[self.named :]
        if self.parallel:
            named[1], rest = 0.0, w[1:]
        return Split(named, float(np.linalg.norm(rest)))


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

    def train_query(self, training: FourStageTraining) -> TrainedQuery:
        """Run stages 1-3 on the sufficient scalars of a fresh D0.

        The same law as with real tokens, for any h0(y) = l'(y, 0). Vectors live in the frame
        (xi, the part of w1 orthogonal to xi, the rest).
        """
        rng = stream(self.seed, Stream.D0)
        n = training_size(training.alpha0, self.dimension)
        y = self.problem.sample_labels(n, rng)
        m, across, h = self._first_step(training, y, rng)
        along, orthogonal, beyond = self._query_step(training, y, m, across, h, rng)
        norm = float(np.sqrt(along**2 + orthogonal**2 + beyond**2))
        cosine = along / norm if norm > 0 else 0.0
        length = np.hypot(m, across)
        return TrainedQuery(
            Query(float(np.clip(cosine, -1, 1)), training.beta * norm),
            float(along),
            norm,
            float(m / length) if length > 0 else 0.0,
        )

    def _first_step(
        self, training: FourStageTraining, y: np.ndarray, rng: np.random.Generator
    ) -> tuple[float, float, np.ndarray]:
        """Return <w1, xi>, the length of the rest of w1, and h_i = l'(y_i, score).

        u = sum_i h0_i zbar_i ~ N(0, S/L I), S = sum_i h0_i^2. Given u, the projections
        <zbar_i, w1> are Gaussian with mean h0_i <u, w1> / S.
        """
        _, theta, R, L = self.problem.letters
        n, d, loss = len(y), self.dimension, training.loss
        h0 = np.asarray(loss.slope(y, np.zeros(n)), dtype=float)
        S = h0 @ h0
        u = np.sqrt(S / L) * np.array([rng.standard_normal(), np.sqrt(rng.chisquare(d - 1))])
        step = -training.eta_w / n
        w1 = step * (u + np.array([theta * R / L * h0[y == 1].sum(), 0.0]))
        shares = h0 / S if S > 0 else h0
        g = rng.standard_normal(n)
        z = shares * (u @ w1) + np.linalg.norm(w1) / np.sqrt(L) * (g - shares * (h0 @ g))
        b1 = -training.eta_b * h0.mean()
        score = theta * R / L * w1[0] * (y == 1) + z + b1
        return w1[0], w1[1], np.asarray(loss.slope(y, score), dtype=float)

    def _query_step(
        self,
        training: FourStageTraining,
        y: np.ndarray,
        m: float,
        across: float,
        h: np.ndarray,
        rng: np.random.Generator,
    ) -> tuple[float, float, float]:
        """Return q2 in the frame.

        sum_i h_i X_i^T a_i with centred rows a_i = |w1| z_i + theta m v_i 1{+}; of the
        centred Gaussian z_i only its part p along v_i and its length enter.
        """
        _, theta, R, L = self.problem.letters
        n, V, length = len(y), R * (1 - R / L), float(np.hypot(m, across))
        p = rng.standard_normal(n) * (L > 1)
        zz = p**2 + (rng.chisquare(L - 2, n) if L > 2 else 0.0)
        signal = theta * m * (y == 1)
        va = (length * np.sqrt(V) * p + V * signal) * (y == 1)
        za = length * zz + signal * np.sqrt(V) * p
        aa = length * za + signal * (length * np.sqrt(V) * p + V * signal)
        noise = np.sqrt(h**2 @ aa)
        cos, sin = (m / length, across / length) if length > 0 else (1.0, 0.0)
        turn = noise * rng.standard_normal()
        step = -training.eta_q * training.beta / (n * L)
        along = theta * (h @ va) + (h @ za) * cos - turn * sin
        orthogonal = (h @ za) * sin + turn * cos
        beyond = noise * np.sqrt(rng.chisquare(self.dimension - 2))
        return step * along, step * orthogonal, step * beyond

    def given_query(self, query: Query) -> TrainedQuery:
        """Return the query itself; a frame can be turned to fit it. Here beta = 1."""
        k = query.sharpness
        return TrainedQuery(query, k * query.cosine, k)

    def design(self, model: str, trained: TrainedQuery, n: int, activation: str) -> ReducedDesign:
        """Draw the features of D1 in the frame (named directions, rest)."""
        rng = stream(self.seed, Stream.D1)
        y = self.problem.sample_labels(n, rng)
        if model == "vectorized":
            return self._vectorized(y, rng)
        if model == "pooled":
            return self._pooled(y, rng)
        return self._queried(model, trained.query, y, activation, rng)

    def _queried(
        self,
        model: str,
        query: Query,
        y: np.ndarray,
        activation: str,
        rng: np.random.Generator,
    ) -> ReducedDesign:
        theta, s = self.problem.strength, query.cosine
        sine = np.sqrt(1 - s**2)
        A, B, C = draw_scalars(model, self.problem, query, y == 1, activation, rng)
        features = noise_rows(len(y), 2, self.dimension - 2, rng)
        features *= C[:, None]
        features[:, 0] = theta * s * A + B
        features[:, 1] += theta * sine * A
        return ReducedDesign(features, y, 2, parallel=sine == 0)

    def _pooled(self, y: np.ndarray, rng: np.random.Generator) -> ReducedDesign:
        _, theta, R, L = self.problem.letters
        features = noise_rows(len(y), 1, self.dimension - 1, rng)
        features /= np.sqrt(L)
        features[:, 0] += theta * R / L * (y == 1)
        return ReducedDesign(features, y, 1)

    def _vectorized(self, y: np.ndarray, rng: np.random.Generator) -> ReducedDesign:
        L, n = self.problem.length, len(y)
        v = np.concatenate(list(draw_positions(self.problem, n, rng))) & (y == 1)[:, None]
        features = noise_rows(n, L, L * (self.dimension - 1), rng)
        features[:, :L] += self.problem.strength * v
        return ReducedDesign(features, y, L)


def noise_rows(n: int, named: int, p: int, rng: np.random.Generator) -> np.ndarray:
    """Return Gaussian rows of R^named, each with a row that stands for one of R^p.

    For n < p the second part is Bartlett's lower-triangular factor, whose Gram matrix is that
    of n Gaussian vectors of R^p: diagonal chi with p, p - 1, ... degrees of freedom, N(0, 1)
    below. A ridge fit does not see the rotation.
    """
    if n >= p:
        return rng.standard_normal((n, named + p))
    rows = np.zeros((n, named + n))
    for i, row in enumerate(rows):
        rng.standard_normal(out=row[: named + i])
    rows[np.arange(n), named + np.arange(n)] = np.sqrt(rng.chisquare(p - np.arange(n)))
    return rows
