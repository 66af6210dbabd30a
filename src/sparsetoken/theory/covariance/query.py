"""Queries among tokens of a covariance: given, and after two gradient steps."""

from __future__ import annotations

import dataclasses
import math

import numpy as np

from sparsetoken.losses.compiled import smoothed_at
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Alignment, Status, StatusCode
from sparsetoken.stages import JointDescent, Query, QueryVector, TwoSteps
from sparsetoken.theory.covariance.spectrum import (
    TokenSpectrum,
    added,
    spectrum_of,
    times,
    trace,
)
from sparsetoken.validation import InvalidInput


@dataclasses.dataclass(frozen=True, eq=False)
class QueryLaw:
    """A query q ~ N(mean, scatter), in the coordinates of a `TokenSpectrum`.

    Attributes
    ----------
    mean : array of shape (d,)
    scatter : array of shape (d,) or (d, d)
        Diagonal or full; of a random direction, or of the noise of training.
    sharpness : float
        beta sigma, sigma^2 = q^T S_w q.
    """

    mean: np.ndarray
    scatter: np.ndarray
    sharpness: float

    @property
    def norm(self) -> float:
        """|q|."""
        return math.sqrt(float(self.mean @ self.mean) + trace(self.scatter))

    def width(self, spectrum: TokenSpectrum) -> float:
        """Return sigma, the standard deviation of a token's score at beta = 1."""
        within = spectrum.within
        return math.sqrt(float(within @ self.mean**2) + trace(self.scatter, within))

    def overlap(self, spectrum: TokenSpectrum) -> float:
        """Return <q, xi>."""
        return float(self.mean @ spectrum.signal)


def query_law(
    problem: SparseTokenProblem, query: Query | QueryVector | TwoSteps | JointDescent
) -> QueryLaw:
    """Return the law of the query of a model.

    Raises
    ------
    InvalidInput
        If scores have no noise along a given query, its size is not that of the tokens, or it
        is found by descent on all weights, which is known for isotropic tokens only.
    """
    if isinstance(query, TwoSteps):
        return _trained(problem, query)[0]
    if isinstance(query, JointDescent):
        remedy = "Descent on all weights is known for isotropic tokens only."
        raise InvalidInput("tokens", "Isotropic() here", problem.tokens, remedy)
    spectrum = spectrum_of(problem)
    law = _directed(spectrum, query) if isinstance(query, QueryVector) else _cone(spectrum, query)
    if law.width(spectrum) <= 0:
        remedy = "Add a little to the diagonal of the within covariance, or turn the query."
        legal = "a direction in which the tokens of a sample vary"
        raise InvalidInput("query", legal, "q^T S q = 0", remedy)
    return law


def _directed(spectrum: TokenSpectrum, query: QueryVector) -> QueryLaw:
    d = len(spectrum.within)
    q = np.array(query.direction)
    if q.shape != (d,):
        raise InvalidInput("direction of the query", f"a vector of {d} numbers", f"{len(q)}")
    return QueryLaw(spectrum.turned(q), np.zeros(d), query.sharpness)


def _cone(spectrum: TokenSpectrum, query: Query) -> QueryLaw:
    """Return a unit vector of a given cosine, whose rest is uniform beside the signal."""
    s, xi = query.cosine, spectrum.signal
    beside = (1 - s**2) * (1 - xi**2) / (len(xi) - 1)
    return QueryLaw(s * xi, beside, query.sharpness)


def described_query(problem: SparseTokenProblem, query: QueryVector) -> Query:
    """Return the cosine and the sharpness of a query that is given as a vector."""
    law = query_law(problem, query)
    cosine = law.overlap(spectrum_of(problem)) / law.norm
    return Query(max(-1.0, min(1.0, cosine)), query.sharpness)


@with_x64
def limit_of_alignment(problem: SparseTokenProblem, steps: TwoSteps) -> Alignment:
    """Return the query after two gradient steps where many directions carry its scatter."""
    law, readout_cosine = _trained(problem, steps)
    spectrum = spectrum_of(problem)
    overlap, norm = law.overlap(spectrum), law.norm
    return Alignment(
        cosine=overlap / norm if norm > 0 else 0.0,
        overlap=overlap,
        norm=norm,
        sharpness=law.sharpness,
        readout_cosine=readout_cosine,
        rate=math.nan,
        status=Status(StatusCode.CONVERGED),
    )


def covariance_margin(problem: SparseTokenProblem, steps: TwoSteps) -> float:
    """Return the overlap of the query at unit steps: its sign is that of the cosine."""
    return _trained(problem, dataclasses.replace(steps, eta_q=1.0, beta=1.0))[0].overlap(
        spectrum_of(problem)
    )


@with_x64
def _trained(problem: SparseTokenProblem, steps: TwoSteps) -> tuple[QueryLaw, float]:
    """Return the law of the query q2, and the cosine of w1.

    Equation: covariance-alignment, as n0 and d grow in proportion.
    Symbols: S_w, S_b, G = S_b + S_w/L; w1 = a1 mu + sqrt(kappa) G^(1/2) g, mu = theta xi;
    h = l'(y, z).
    """
    pi, theta, R, L = problem.letters
    spectrum, loss = spectrum_of(problem), steps.loss
    S, xi = spectrum.within, spectrum.signal
    n0 = steps.alpha0 * len(xi)
    G = spectrum.mean_token(L)
    plus, minus = (float(loss.slope(y, 0.0)) for y in (1.0, -1.0))
    a1 = -steps.eta_w * pi * plus * R / L
    kappa = steps.eta_w**2 * (pi * plus**2 + (1 - pi) * minus**2) / n0
    mu = theta * xi
    overlap = a1 * theta**2  # <w1, mu>
    width = a1**2 * float(mu @ times(G, mu)) + kappa * float(np.sum(G**2))
    signal = np.array([overlap * R / L, 0.0])
    own = -steps.eta_w * np.array([plus, minus]) * trace(G) / n0
    bias = -steps.eta_b * (pi * plus + (1 - pi) * minus)
    spread = np.full(2, math.sqrt(width))
    h = smoothed_at(loss, np.array([1.0, -1.0]), signal + own + bias, spread, np.zeros(2))
    (h_plus, h_minus), (hh_plus, hh_minus) = h.p.tolist(), h.pp.tolist()
    V = R / L * (1 - R / L)
    along = -pi * h_plus * V * overlap
    pulled = -(pi * h_plus + (1 - pi) * h_minus) * (1 - 1 / L)
    w1_S_w1 = a1**2 * float(S @ mu**2) + kappa * trace(G, S)
    forces = pi * hh_plus * (L * V * overlap**2 + (L - 1) * w1_S_w1)
    forces += (1 - pi) * hh_minus * (L - 1) * w1_S_w1
    rho = forces / (n0 * L**2)
    step = steps.eta_q * steps.beta
    mean = step * (along + pulled * a1 * S) * mu
    moved = S**2 * G if G.ndim == 1 else S[:, None] * G * S
    scatter = step**2 * added(pulled**2 * kappa * moved, rho * S)
    law = QueryLaw(mean, scatter, 0.0)
    law = dataclasses.replace(law, sharpness=steps.beta * law.width(spectrum))
    length = math.sqrt(a1**2 * theta**2 + kappa * trace(G))
    return law, a1 * theta / length if length > 0 else 0.0
