"""The law of a query in the limit, given or after two gradient steps."""

from __future__ import annotations

import dataclasses
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.losses.gaussian_means import smoothed_at
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, TwoSteps, query_cosines
from sparsetoken.model.tokens import require_varying
from sparsetoken.theory.spectrum import TokenSpectrum, spectrum_of


@dataclasses.dataclass(frozen=True, eq=False)
class QueryDistribution:
    """A query q ~ N(mean, scatter), in the coordinates of a `TokenSpectrum`.

    The scatter, by its diagonal, is that of a random direction, or the noise of
    training. The sharpness is beta sigma, sigma^2 = q^T S_w q.
    """

    mean: Float[np.ndarray, " d"]
    scatter: Float[np.ndarray, " d"]
    sharpness: float

    @property
    def norm(self) -> float:
        """|q|."""
        return math.sqrt(float(self.mean @ self.mean) + float(self.scatter.sum()))

    def width(self, spectrum: TokenSpectrum) -> float:
        """Return sigma, the standard deviation of a token's score at beta = 1."""
        within = spectrum.within
        return math.sqrt(float(within @ (self.mean**2 + self.scatter)))

    def overlap(self, spectrum: TokenSpectrum) -> float:
        """Return <q, xi>."""
        return float(self.mean @ spectrum.signal)


def query_distribution(problem: SparseTokenProblem, query: Query | TwoSteps) -> QueryDistribution:
    """Return the law of the query of a model.

    Raises
    ------
    InvalidInput
        If scores have no noise along a given query, or it is none of these tokens.
    """
    if isinstance(query, TwoSteps):
        return trained_law(problem, query)[0]
    (s,) = query_cosines(query, ("",), problem.tokens)
    spectrum = spectrum_of(problem)
    if query.vector is not None:
        q = spectrum.turned(np.array(query.vector))
        law = QueryDistribution(q, np.zeros(len(q)), query.sharpness)
    else:  # a unit vector, whose rest is uniform beside the signal
        xi = spectrum.signal
        law = QueryDistribution(s * xi, (1 - s**2) * (1 - xi**2) / (len(xi) - 1), query.sharpness)
    require_varying(law.width(spectrum))
    return law


class FirstStep(NamedTuple):
    """Readout and bias after their first step: w1 = along mu + sqrt(noise/n0) G^(1/2) g.

    Symbols: mu = theta xi, G = S_b + S_w/L the covariance of mean tokens, g ~ N(0, I).

    Attributes
    ----------
    samples : float
        n0 in (0, inf], in units in which the trace of the identity is the size of the spectrum.
    along, noise, bias : float
    own : array of shape (2,)
        What a sample's own part of w1 adds to its score, y = +1, -1.
    width, norm : float
        Root of w1^T G w1, the standard deviation of scores, and |w1|.
    """

    samples: float
    along: float
    noise: float
    bias: float
    own: np.ndarray
    width: float
    norm: float


def first_step(problem: SparseTokenProblem, steps: TwoSteps, alpha0: float) -> FirstStep:
    """Return the readout after its first step.

    Equation: first-step. A sample enters its own readout: D0 is used twice.
    """
    pi, theta, R, L = problem.letters
    spectrum = spectrum_of(problem)
    G, mu, n0 = spectrum.mean_token(L), theta * spectrum.signal, alpha0 * len(spectrum.signal)
    plus, minus = (float(steps.loss.slope(y, 0.0)) for y in (1.0, -1.0))
    along, total = -steps.eta_w * pi * plus * R / L, float(G.sum())
    noise = steps.eta_w**2 * (pi * plus**2 + (1 - pi) * minus**2)
    return FirstStep(
        samples=n0,
        along=along,
        noise=noise,
        bias=-steps.eta_b * (pi * plus + (1 - pi) * minus),
        own=-steps.eta_w * np.array([plus, minus]) * total / n0,
        width=math.sqrt(along**2 * float(G @ mu**2) + noise / n0 * float(G @ G)),
        norm=math.sqrt(along**2 * theta**2 + noise / n0 * total),
    )


def slopes(problem: SparseTokenProblem, steps: TwoSteps, first: FirstStep) -> list[np.ndarray]:
    """Return the means of h = l'(y, z) and of h^2 over samples of y = +1 and of y = -1."""
    _, theta, R, L = problem.letters
    at = np.array([first.along * theta**2 * R / L, 0.0]) + first.own + first.bias
    width = np.full(2, first.width)
    h = smoothed_at(steps.loss, np.array([1.0, -1.0]), at, width, np.zeros(2))
    return [h.p, h.pp]


def second_step(
    problem: SparseTokenProblem, steps: TwoSteps, first: FirstStep
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and n0 times the scatter of the query after its step of size 1 at beta = 1.

    Equation: covariance-alignment, as n0 and d grow in proportion. For isotropic tokens it is
    Equation: query-alignment: theta along = -P/L, pulled = -Q/L, and the scatter over n0 adds up
    to (Q^2 (|w1|^2 - m1^2) + N) / L^2.
    """
    pi, theta, R, L = problem.letters
    spectrum = spectrum_of(problem)
    S, G, mu = spectrum.within, spectrum.mean_token(L), theta * spectrum.signal
    h, hh = (values.tolist() for values in slopes(problem, steps, first))
    V, overlap = R / L * (1 - R / L), first.along * theta**2  # <w1, mu>
    along = -pi * h[0] * V * overlap
    pulled = -(pi * h[0] + (1 - pi) * h[1]) * (1 - 1 / L)
    w1_S_w1 = first.along**2 * float(S @ mu**2) + first.noise / first.samples * float(G @ S)
    forces = pi * hh[0] * (L * V * overlap**2 + (L - 1) * w1_S_w1)
    forces += (1 - pi) * hh[1] * (L - 1) * w1_S_w1
    scatter = pulled**2 * first.noise * S**2 * G + forces / L**2 * S
    return (along + pulled * first.along * S) * mu, scatter


def trained_law(problem: SparseTokenProblem, steps: TwoSteps) -> tuple[QueryDistribution, float]:
    """Return the law of the query after two gradient steps, and the cosine of w1.

    The query is in units of its step eta_q beta, of which squares may underflow.
    """
    first = first_step(problem, steps, steps.alpha0)
    mean, scatter = second_step(problem, steps, first)
    step = steps.eta_q * steps.beta
    moved = float(step > 0)
    law = QueryDistribution(moved * mean, moved * scatter / first.samples, 0.0)
    sharpness = steps.beta * step * law.width(spectrum_of(problem))
    law = dataclasses.replace(law, sharpness=sharpness)
    return law, first.along * problem.strength / first.norm if first.norm > 0 else 0.0
