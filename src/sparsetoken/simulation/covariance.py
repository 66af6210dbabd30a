"""The experiment without its tensor, for tokens of a covariance."""

from __future__ import annotations

import dataclasses
from typing import NamedTuple

import numpy as np

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.designs import VectorDesign
from sparsetoken.simulation.engine import TrainedQuery, training_size
from sparsetoken.simulation.features import FeatureSampler
from sparsetoken.simulation.frames import TokenFrame, frame_of
from sparsetoken.simulation.reduced import centred_sums
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.stages import Query, QueryVector, TwoSteps


class _FirstStep(NamedTuple):
    """Readout and slopes after the first step."""

    w1: np.ndarray
    h: np.ndarray


@dataclasses.dataclass(frozen=True)
class CorrelatedEngine:
    """Samples the law of tokens of a covariance without the tokens: vectors of R^d instead.

    Parameters
    ----------
    problem : SparseTokenProblem
        Its tokens have a covariance.
    dimension : int
    seed : int
    """

    problem: SparseTokenProblem
    dimension: int
    seed: int

    @property
    def frame(self) -> TokenFrame:
        """The vectors and roots of the covariance."""
        frame = frame_of(self.problem.tokens)
        assert frame is not None
        return frame

    def train_query(self, steps: TwoSteps) -> TrainedQuery:
        """Run stages 1-3 on the sufficient scalars of a fresh D0.

        The same law as with real tokens. The sum of the mean tokens, weighted by the slopes of
        the first step, is one Gaussian vector; given it the scores are Gaussian. The centred
        tokens are independent of it.
        """
        frame, rng = self.frame, stream(self.seed, Stream.D0)
        n = training_size(steps.alpha0, self.dimension)
        y = self.problem.sample_labels(n, rng)
        w1, h = self._first_step(steps, y, rng)
        overlap, width = float(w1 @ frame.signal), frame.within_length(w1)
        va, za, noise = centred_sums(self.problem, overlap, width, y, h, rng)
        along = frame.times_within(w1) / width if width > 0 else 0 * w1
        rest = frame.within_noise(rng)
        if width > 0:  # noise in directions that do not move the scores of w1
            rest = rest - along * (w1 @ rest) / width
        step = -steps.eta_q * steps.beta / (n * self.problem.length)
        q = step * (self.problem.strength * va * frame.signal + za * along + noise * rest)
        found = frame.described(q, steps.beta)
        length = float(np.linalg.norm(w1))
        return dataclasses.replace(found, readout_cosine=overlap / length if length > 0 else 0.0)

    def _first_step(self, steps: TwoSteps, y: np.ndarray, rng: np.random.Generator) -> _FirstStep:
        """Return w1, and h_i = l'(y_i, score)."""
        _, theta, R, L = self.problem.letters
        n, loss, frame = len(y), steps.loss, self.frame
        h0 = np.asarray(loss.slope(y, np.zeros(n)), dtype=float)
        S = h0 @ h0
        u = np.sqrt(S) * frame.mean_noise(L, 1, rng)[0]
        w1 = -steps.eta_w / n * (u + theta * R / L * h0[y == 1].sum() * frame.signal)
        shares = h0 / S if S > 0 else h0
        g = rng.standard_normal(n)
        width = frame.mean_length(w1, L)
        z = shares * (u @ w1) + width * (g - shares * (h0 @ g))
        b1 = -steps.eta_b * h0.mean()
        score = theta * R / L * (w1 @ frame.signal) * (y == 1) + z + b1
        return _FirstStep(w1, np.asarray(loss.slope(y, score), dtype=float))

    def given_query(self, query: Query) -> TrainedQuery:
        """Return a vector with exactly this cosine and sharpness, at beta = 1."""
        return self.frame.given(query, stream(self.seed, Stream.QUERY))

    def given_vector(self, query: QueryVector) -> TrainedQuery:
        """Return a query that is given as a vector, at beta = 1."""
        return self.frame.along(query)

    def design(self, sampler: FeatureSampler, trained: TrainedQuery | None, n: int) -> VectorDesign:
        """Draw the features of D1 from their law."""
        rng = stream(self.seed, Stream.D1)
        y = self.problem.sample_labels(n, rng)
        features = sampler.draw_vectors(self.problem, self.frame, trained, y, rng)
        axes = sampler.axes(self.frame.signal, trained)
        return VectorDesign(features, y, axes, self.frame.moments(trained))
