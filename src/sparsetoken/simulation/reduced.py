"""The experiment without tokens: the same distribution from a few scalars per sample."""

from __future__ import annotations

import dataclasses
import functools

import numpy as np

from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.simulation.features import FeatureSampler
from sparsetoken.simulation.frames import (
    Design,
    IsotropicFrame,
    TokenFrame,
    TrainedQuery,
    frame_of,
    training_size,
)
from sparsetoken.simulation.seeds import Stream, stream


@dataclasses.dataclass(frozen=True)
class ReducedEngine:
    """Samples the experiment without tokens, by vectors in the frame of their distribution.

    Of isotropic tokens that is O(n0) scalars and an n1 x d Gaussian at most. The dimension is at
    least 3: two directions are named, and a third is needed.
    """

    problem: SparseTokenProblem
    dimension: int
    seed: int

    @functools.cached_property
    def frame(self) -> TokenFrame:
        """The coordinates of vectors."""
        return frame_of(self.problem.tokens) or IsotropicFrame.of_steps(self.dimension)

    def train_query(self, steps: TwoSteps) -> TrainedQuery:
        """Run stages 1-3 on the sufficient scalars of a fresh D0.

        The same law as with real tokens, for any h0(y) = l'(y, 0). The sum of the mean tokens,
        weighted by the slopes of the first step, is one Gaussian vector; given it the scores are
        Gaussian. The centred tokens are independent of it.
        """
        frame, rng = self.frame, stream(self.seed, Stream.D0)
        n = training_size(steps.alpha0, self.dimension)
        y = self.problem.sample_labels(n, rng)
        w1, h = self._first_step(steps, y, rng)
        overlap, (width, along) = float(w1 @ frame.signal), frame.along(w1)
        va, za, noise = centred_sums(self.problem, overlap, width, y, h, rng)
        step = -steps.eta_q * steps.beta / (n * self.problem.length)
        beside = frame.beside_vector(w1, rng)
        q = step * (self.problem.strength * va * frame.signal + za * along + noise * beside)
        return frame.trained(q, steps.beta, w1)

    def _first_step(
        self, steps: TwoSteps, y: np.ndarray, rng: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return w1, and h_i = l'(y_i, score).

        u = sum_i h0_i zbar_i ~ N(0, S (S_w/L + S_b)), S = sum_i h0_i^2. Given u, the projections
        <zbar_i, w1> are Gaussian with mean h0_i <u, w1> / S.
        """
        _, theta, R, L = self.problem.letters
        n, loss, frame = len(y), steps.loss, self.frame
        h0 = np.asarray(loss.slope(y, np.zeros(n)), dtype=float)
        S = h0 @ h0
        u = np.sqrt(S) * frame.mean_vector(L, rng)
        w1 = -steps.eta_w / n * (u + theta * R / L * h0[y == 1].sum() * frame.signal)
        shares = h0 / S if S > 0 else h0
        g = rng.standard_normal(n)
        z = shares * (u @ w1) + frame.mean_width(w1, L) * (g - shares * (h0 @ g))
        b1 = -steps.eta_b * h0.mean()
        score = theta * R / L * (w1 @ frame.signal) * (y == 1) + z + b1
        return w1, np.asarray(loss.slope(y, score), dtype=float)

    def design(self, sampler: FeatureSampler, trained: TrainedQuery | None, n: int) -> Design:
        """Draw the features of D1 from their law."""
        rng = stream(self.seed, Stream.D1)
        y = self.problem.sample_labels(n, rng)
        frame, facing = self.frame.facing(trained)
        features = sampler.draw(frame, facing, y, rng)
        return Design(features, y, frame, facing)


def centred_sums(
    problem: SparseTokenProblem,
    m: float,
    width: float,
    y: np.ndarray,
    h: np.ndarray,
    rng: np.random.Generator,
) -> tuple[float, float, float]:
    """Draw what sum_i h_i X_i^T a_i is made of, a_i the centred scores of the tokens.

    With rows a_i = width z_i + theta m v_i 1{+}: the sum of h_i <v_i, a_i> over positives, that of
    h_i <z_i, a_i>, and the root of that of h_i^2 |a_i|^2. Of the centred Gaussian z_i only its part
    p along v_i and its norm enter. m is <w1, xi>, and the width the standard deviation of the
    noise of a token's score.
    """
    _, theta, R, L = problem.letters
    n, V = len(y), R * (1 - R / L)
    p = rng.standard_normal(n) * (L > 1)
    zz = p**2 + (rng.chisquare(L - 2, n) if L > 2 else 0.0)
    signal = theta * m * (y == 1)
    va = (width * np.sqrt(V) * p + V * signal) * (y == 1)
    za = width * zz + signal * np.sqrt(V) * p
    aa = width * za + signal * (width * np.sqrt(V) * p + V * signal)
    return float(h @ va), float(h @ za), float(np.sqrt(h**2 @ aa))
