"""Queries that are random at the dimension of the tokens, and their law."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, TypeGuard

import numpy as np
from jaxtyping import Float

from sparsetoken.losses import Loss
from sparsetoken.losses.gaussian_means import smoothed_at
from sparsetoken.model.problem import Isotropic, SparseTokenProblem
from sparsetoken.model.stages import Query, TwoSteps
from sparsetoken.numerics.quadrature import gaussian_panels
from sparsetoken.results import CONVERGED, Alignment
from sparsetoken.theory.alignment.limit import query_law
from sparsetoken.theory.spectrum import TokenSpectrum, spectrum_of

LEAST_DIRECTIONS = 50.0
"""Effective directions from which on a query may be replaced by its limit: the logarithm of the
sharpness has a standard deviation of at most 1/10, which moves the mean of a smooth function by its
curvature times half the square, 1/200."""

DRAWS = 2048
"""Draws of the query that means are taken over; each costs some O(d) operations."""

_BLOCK = 2**20  # numbers of a vector for each of the draws that are made together
_ROUNDING = 1e-12  # relative, of a variance
_LABELS = np.array([[1.0], [-1.0]])  # a row for each class


def effective_directions(problem: SparseTokenProblem, query: TwoSteps | Query) -> float:
    """Return the dimension at which the query of isotropic tokens fluctuates as much as this one.

    It is r of docs/equations.md, random-query. The limit replaces forms of the query q ~ N(m, Q) by
    their means, as if many directions carried its scatter: that of q^T S q, S = S_w, has the
    variance 2 tr((SQ)^2) + 4 m^T S Q S m around m^T S m + tr(SQ). A given cosine leaves a uniform
    direction, of norm 1; among isotropic tokens the number is then infinite.
    """
    spectrum = spectrum_of(problem)
    S, xi = spectrum.within, spectrum.signal
    if isinstance(query, Query):
        mean, variance = _moments_beside(S, xi, query.cosine)
        return 2 * mean**2 / variance if variance > 0 else math.inf
    law = query_law(problem, query)
    Q, m = law.scatter, law.mean
    mean = float(S @ (m**2 + Q))
    variance = 2 * float(np.sum((S * Q) ** 2)) + 4 * float(Q @ (S * m) ** 2)
    r = 2 * mean**2 / variance if variance > 0 else math.inf
    along = float(Q @ xi**2)
    with np.errstate(divide="ignore", invalid="ignore"):
        kept = float(np.sum(np.where(xi == 0, 0.0, xi**2 / S)))
    return min(r, mean * kept / along) if along > 0 else r


def _moments_beside(S: np.ndarray, xi: np.ndarray, cosine: float) -> tuple[float, float]:
    """Return mean and variance of q^T S q, q of a cosine and otherwise uniform beside the signal.

    With P = I - xi xi^T the uniform part u has E[u^T S u] = tr(PSP)/(d - 1) and
    Var(u^T S u) = 2 [tr((PSP)^2) - tr(PSP)^2/(d - 1)]/((d - 1)(d + 1)), and xi^T S u the variance
    |P S xi|^2/(d - 1).
    """
    s2, n = cosine**2, len(xi) - 1
    along, along_squared = float(S @ xi**2), float(S**2 @ xi**2)
    first = float(S.sum()) - along
    second = float(S @ S) - 2 * along_squared + along**2
    apart = max(second - first**2 / n, 0.0)
    mixed = max(along_squared - along**2, 0.0) / n
    variance = (1 - s2) ** 2 * 2 * apart / (n * (n + 2)) + 4 * s2 * (1 - s2) * mixed
    mean = s2 * along + (1 - s2) * first / n
    return mean, variance if variance > _ROUNDING * mean**2 else 0.0


class DrawnQueries(NamedTuple):
    """Independent draws of a random query.

    The vectors are q2 of `TwoSteps`, or unit vectors, in the coordinates of the user's tokens; the
    others are as of `Alignment`, where the readout cosine is nan for a given query.
    """

    vectors: Float[np.ndarray, "draws d"]
    cosine: Float[np.ndarray, " draws"]
    overlap: Float[np.ndarray, " draws"]
    norm: Float[np.ndarray, " draws"]
    sharpness: Float[np.ndarray, " draws"]
    readout_cosine: Float[np.ndarray, " draws"]


def drawn_queries(
    problem: SparseTokenProblem, query: TwoSteps | Query, draws: int, seed: int = 0
) -> DrawnQueries:
    """Draw the query as it is at the dimension of tokens with a covariance.

    Of `TwoSteps` that is the query of independent sets D0, see `trained_vectors`; of a `Query`
    a uniformly random direction at the given cosine, beta such that the sharpness is as given.
    Equal seeds draw equal numbers; the first draws are the same whatever their number.
    """
    spectrum = spectrum_of(problem)
    rng = np.random.default_rng(seed)
    if isinstance(query, TwoSteps):
        block = max(1, _BLOCK // len(spectrum.signal))
        sizes = [min(block, draws - first) for first in range(0, draws, block)]
        parts = [trained_vectors(problem, query, size, rng) for size in sizes]
        q, readout_cosine = (np.concatenate(part) for part in zip(*parts, strict=True))
    else:
        query_law(problem, query)  # refuses one along which scores have no noise
        g = rng.standard_normal((draws, len(spectrum.signal))) * _signs(spectrum)
        q = _uniform_beside(spectrum.signal, query.cosine, g)
        readout_cosine = np.full(draws, math.nan)
    overlap, norm = q @ spectrum.signal, np.linalg.norm(q, axis=1)
    width = np.sqrt(q**2 @ spectrum.within)
    beta = query.beta if isinstance(query, TwoSteps) else query.sharpness / width
    return DrawnQueries(
        vectors=q if spectrum.basis is None else q @ spectrum.basis.T,
        cosine=_ratio(overlap, norm),
        overlap=overlap,
        norm=norm,
        sharpness=beta * width,
        readout_cosine=readout_cosine,
    )


def align_over_draws(
    problem: SparseTokenProblem, steps: TwoSteps, *, draws: int = DRAWS, seed: int = 0
) -> Alignment:
    """Return means over draws of D0 at the dimension of the tokens, and the cosine's spread."""
    drawn = drawn_queries(problem, steps, draws, seed)
    names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine")
    means: dict[str, Any] = {name: float(getattr(drawn, name).mean()) for name in names}
    return Alignment(
        **means,
        rate=math.nan,
        status=CONVERGED,
        spread=float(np.std(drawn.cosine)),
        notes=(randomness_advice(problem, steps),),
    )


def may_vary(query: object, problem: SparseTokenProblem) -> TypeGuard[TwoSteps | Query]:
    """Return whether a query is a random one of tokens that have a dimension."""
    known = isinstance(problem.tokens, Isotropic)
    given = isinstance(query, Query) and query.cosine is not None
    return not known and (given or isinstance(query, TwoSteps))


def randomness_advice(problem: SparseTokenProblem, query: object) -> str:
    """Return what to say of a query that is random at the dimension of the tokens, "" if not."""
    if not may_vary(query, problem):
        return ""
    directions = effective_directions(problem, query)
    if directions >= LEAST_DIRECTIONS:
        return ""
    random = f"as random as one of isotropic tokens in {max(directions, 1.0):.2g} dimensions"
    if isinstance(query, Query):
        return (
            f"A query of this cosine, otherwise uniform, is {random}: few directions carry the "
            "covariance. The prediction is a mean over such queries; one of them varies by the "
            "spread. Give the query as a vector, or whiten the tokens first."
        )
    return (
        f"The query of the two steps is {random}: few directions carry the covariance. The "
        "prediction is a mean over data sets D0; a single one varies by the spread. Whiten the "
        "tokens first, or raise alpha0."
    )


def _signs(spectrum: TokenSpectrum) -> np.ndarray | float:
    """Return signs of the signal along eigenvectors, which have no sign of their own.

    With them draws are the same whichever sign a machine gives to an eigenvector.
    """
    return 1.0 if spectrum.basis is None else np.where(spectrum.signal < 0, -1.0, 1.0)


def _ratio(top: np.ndarray, bottom: np.ndarray) -> np.ndarray:
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _uniform_beside(xi: np.ndarray, cosine: float, g: np.ndarray) -> np.ndarray:
    beside = g - np.outer(g @ xi, xi)
    beside /= np.linalg.norm(beside, axis=1, keepdims=True)
    return cosine * xi + math.sqrt(1 - cosine**2) * beside


def trained_vectors(
    problem: SparseTokenProblem, steps: TwoSteps, draws: int, rng: np.random.Generator
) -> tuple[Float[np.ndarray, "draws d"], Float[np.ndarray, " draws"]]:
    """Return queries of two gradient steps at the dimension of the tokens, and cosines of w1.

    Equation: random-query. n0 = alpha0 d samples, n_y of class y. Given the numbers n_y and the
    sums N_y ~ N(0, n_y G) of the noise of the mean tokens of each class, G = S_b + S_w/L,

        w1 = -(eta_w/n0) [(n_+ c_+ R/L) mu + c_+ N_+ + c_- N_-],    c_y = l'(y, 0),

    is fixed, and the scores of class y are m_y + s_1 (g_i - mean of g) with
    m_y = <w1, N_y>/n_y + b1 + (R/L) <w1, mu> 1{+} and s_1^2 = w1^T G w1. The centred noise of
    the tokens is independent of the mean tokens. With s^2 = w1^T S_w w1 and tokens' centred
    scores a_i the query is

        q2 = -(eta_q beta/(n0 L)) [P mu + Q S_w w1/s + sqrt(A) N(0, S_w - S_w w1 w1^T S_w/s^2)],

    where P, Q and A are the sums over samples of h_i <a_i, v_i>, of h_i <a_i, x_i>, x_i being
    the centred noise of the scores in units of s, and of h_i^2 |a_i|^2. They are drawn from
    their joint Gaussian law given w1 and m_y, with their exact means and their covariances to
    leading order in n_y; all else is exact, also where few directions carry the covariance.
    """
    pi, theta, R, L = problem.letters
    spectrum, loss = spectrum_of(problem), steps.loss
    S, xi = spectrum.within, spectrum.signal
    d, mu = len(xi), theta * xi
    n = max(1, round(steps.alpha0 * d))
    counts, g = rng.spawn(2)
    n_plus = counts.binomial(n, pi, draws)
    sizes = np.stack([n_plus, n - n_plus]).astype(float)
    normal = g.standard_normal((draws, 3 * d + 3))
    plus, minus, rest = (part * _signs(spectrum) for part in np.split(normal[:, 3:], 3, axis=1))
    root = np.sqrt(spectrum.mean_token(L))
    noise = np.sqrt(sizes)[..., None] * np.stack([root * plus, root * minus])
    first = np.array([[float(loss.slope(y, 0.0))] for y in (1.0, -1.0)])
    w1 = np.einsum("ck,cnd->nd", first, noise) + np.outer(sizes[0] * first[0] * R / L, mu)
    w1 *= -steps.eta_w / n
    b1 = -steps.eta_b / n * (sizes * first).sum(axis=0)
    o, s = w1 @ mu, np.sqrt(w1**2 @ S)
    s1 = np.sqrt(np.maximum(w1**2 @ spectrum.mean_token(L), 0.0))
    at = b1 + _ratio(np.einsum("nd,cnd->cn", w1, noise), sizes)
    at[0] += R / L * o
    spread = s1 * np.sqrt(np.maximum(1 - _ratio(np.ones_like(sizes), sizes), 0.0))
    mean, covariance = _sums(loss, sizes, at, spread, *_of_a_sample(o, s, R * (1 - R / L), L))
    P, Q, A = mean + np.einsum("nij,nj->in", _root(np.moveaxis(covariance, -1, 0)), normal[:, :3])
    A = np.maximum(A, 0.0)
    along = S * _ratio(w1.T, s).T
    rest = np.sqrt(S) * rest
    rest -= along * _ratio(np.einsum("nd,nd->n", w1, rest), s)[:, None]
    q = np.outer(P, mu) + Q[:, None] * along + np.sqrt(A)[:, None] * rest
    step = -steps.eta_q * steps.beta / (n * L)
    return step * q, _ratio(w1 @ xi, np.linalg.norm(w1, axis=1))


def _of_a_sample(o: np.ndarray, s: np.ndarray, V: float, L: int) -> tuple[np.ndarray, np.ndarray]:
    """Return means and covariances of what P, Q and A have of a sample besides h, by class.

    With p ~ N(0, 1) the part of x along v/sqrt(V) and |x|^2 ~ chi^2 of L - 1, uncorrelated, they
    are s sqrt(V) p + V o on positives; s |x|^2 + o sqrt(V) p on positives, s |x|^2 on others; and
    s^2 |x|^2 + (2 s o sqrt(V) p + V o^2) on positives.
    """
    none = np.zeros_like(o)
    positive = [
        [V * o, math.sqrt(V) * s, none],
        [none, math.sqrt(V) * o, s],
        [V * o**2, 2 * math.sqrt(V) * s * o, s**2],
    ]
    negative = [[none, none, none], [none, none, s], [none, none, s**2]]
    # In 1, p and |x|^2, for each class and draw.
    linear = np.moveaxis(np.array([positive, negative]), 0, 2)
    mean, varied = linear[:, 0] + (L - 1) * linear[:, 2], linear[:, 1:]
    return mean, np.einsum("iu...,ju...,u->ij...", varied, varied, np.array([1.0, 2.0 * (L - 1)]))


def _sums(
    loss: Loss,
    sizes: np.ndarray,
    at: np.ndarray,
    spread: np.ndarray,
    mean: np.ndarray,
    covariance: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the means and covariances of P, Q and A of `trained_vectors`.

    Each is a sum over the samples of a class of powers (1, 1, 2) of h, at scores of a mean and a
    spread, times independent numbers.
    """
    y = np.broadcast_to(_LABELS, at.shape)
    exact = smoothed_at(loss, y, at, spread, np.zeros_like(at))
    total = (sizes * mean * np.stack([exact.p, exact.p, exact.pp])).sum(axis=1)
    g, weight = gaussian_panels()
    h = np.asarray(loss.slope(y[..., None], at[..., None] + spread[..., None] * g), dtype=float)
    powers = [1, 1, 2]
    moments = [(h**k) @ weight for k in range(5)]
    shares = [(h**k) @ (weight * g) for k in range(3)]  # what the mean score has fixed
    varied = np.empty_like(covariance)
    for i, a in enumerate(powers):
        for j, b in enumerate(powers):
            own = moments[a + b] - moments[a] * moments[b] - shares[a] * shares[b]
            varied[i, j] = moments[a + b] * covariance[i, j] + own * mean[i] * mean[j]
    return total, (sizes * varied).sum(axis=2)


def _root(covariances: np.ndarray) -> np.ndarray:
    """Return roots of stacked covariances, which may be singular."""
    size = np.sqrt(np.maximum(np.einsum("nii->ni", covariances), 0.0))
    scale = np.where(size > 0, size, 1.0)
    like = covariances / (scale[:, :, None] * scale[:, None])
    values, vectors = np.linalg.eigh(like)
    # The symmetric root: unlike eigenvectors it does not turn with rounding.
    half = (vectors * np.sqrt(np.maximum(values, 0.0))[:, None]) @ np.swapaxes(vectors, 1, 2)
    return half * scale[:, :, None]
