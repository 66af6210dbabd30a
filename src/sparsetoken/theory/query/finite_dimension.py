"""The query of two gradient steps at finite dimension, by draws of its distribution."""

from __future__ import annotations

import dataclasses
import math
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.results import CONVERGED, Alignment
from sparsetoken.theory.spectrum import TokenSpectrum, spectrum_of

DRAWS = 2048
"""Of which means are taken: the error of a mean is a 45th of the spread of one draw."""

_LARGEST = 10**6  # dimension: of a draw, some ten vectors are in memory
_SEED = 20261129  # any fixed number: the same draws in every run


class DrawnQueries(NamedTuple):
    """Independent draws of the query, each of its own D0.

    The vectors, of the first draws alone, are q2 of `TwoSteps` in the coordinates of the user's
    tokens, (draws, 0) for isotropic tokens. The others are as of `Alignment`.
    """

    vectors: Float[np.ndarray, "few d"]
    cosine: Float[np.ndarray, " draws"]
    overlap: Float[np.ndarray, " draws"]
    norm: Float[np.ndarray, " draws"]
    sharpness: Float[np.ndarray, " draws"]
    readout_cosine: Float[np.ndarray, " draws"]


def drawn_queries(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    dimension: int,
    draws: int = DRAWS,
    vectors: int = 0,
) -> DrawnQueries:
    """Draw the query as it is at a dimension d, which is the tokens' own where they have one.

    The first draws are the same whatever their number.

    Raises
    ------
    InvalidInput
        If tokens have another dimension.
    """
    spectrum = _spectrum(problem, dimension)
    rng = np.random.default_rng(_SEED)
    numbers, kept = [], []
    for i in range(draws):
        w, q = _draw(problem, steps, spectrum, rng)
        norm, of_w = float(np.linalg.norm(q)), float(np.linalg.norm(w))
        overlap, width = float(q @ spectrum.signal), math.sqrt(float(q**2 @ spectrum.within))
        readout_cosine = float(w @ spectrum.signal) / of_w if of_w > 0 else 0.0
        cosine = overlap / norm if norm > 0 else 0.0
        numbers.append((cosine, overlap, norm, steps.beta * width, readout_cosine))
        if i < vectors:
            kept.append(q if spectrum.basis is None else spectrum.basis @ q)
    return DrawnQueries(np.array(kept), *np.array(numbers).T)


def _spectrum(problem: SparseTokenProblem, dimension: int) -> TokenSpectrum:
    """Return the spectrum of tokens at a dimension."""
    d, own = integer("dimension (d)", dimension, 2, _LARGEST), problem.tokens.dimension
    if own is None:
        return TokenSpectrum(np.ones(d), np.zeros(d), np.eye(1, d)[0], None)
    if d != own:
        raise InvalidInput("dimension (d)", f"{own}, that of the tokens", d)
    spectrum = spectrum_of(problem)
    if spectrum.basis is None:
        return spectrum
    # Eigenvectors have no sign of their own: draws are the same whichever a machine gives them.
    signs = np.where(spectrum.signal < 0, -1.0, 1.0)
    return dataclasses.replace(
        spectrum, signal=signs * spectrum.signal, basis=spectrum.basis * signs
    )


def _draw(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    spectrum: TokenSpectrum,
    rng: np.random.Generator,
) -> tuple[Float[np.ndarray, " d"], Float[np.ndarray, " d"]]:
    """Draw the readout w1 and the query q2.

    Equation: finite-query. Of Gaussian tokens the mean and the centred tokens are independent, so
    that w1 and the slopes h_i are independent of the centred tokens. A rotation makes these L - 1
    independent ones, the first of which has the signal, and they are drawn given their projections
    on w1: the others count by the sum of the squares of theirs.
    Symbols: S = S_w, G = S_b + S_w/L; c_i = l'(y_i, 0), h_i = l'(y_i, f_i).
    """
    pi, theta, R, L = problem.letters
    S, G, xi = spectrum.within, spectrum.mean_token(int(L)), spectrum.signal
    n, share = max(1, round(steps.alpha0 * len(xi))), R / L
    y = np.where(rng.random(n) < pi, 1.0, -1.0)
    positive = y > 0
    c = np.asarray(steps.loss.slope(y, np.zeros(n)), dtype=float)
    second = float((c * c).mean())
    v = np.sqrt(second / n * G) * rng.standard_normal(len(xi))  # the mean of c_i v_i
    w = -steps.eta_w * ((c * positive).mean() * theta * share * xi + v)
    m, s2 = float(w @ xi), float(w**2 @ S)
    e = math.sqrt(float(w**2 @ G)) * rng.standard_normal(n)
    e += c * ((float(v @ w) - (c * e).mean()) / second if second > 0 else 0.0)
    f = positive * theta * share * m + e - steps.eta_b * c.mean()
    h = np.asarray(steps.loss.slope(y, f), dtype=float)
    if L == 1:  # no token differs from the mean
        return w, np.zeros(len(xi))
    s, Sw = math.sqrt(s2), S * w
    to_w = Sw / s if s > 0 else Sw  # of a token, by its projection on w in units of s
    length = positive * theta * math.sqrt(R * (1 - share))
    g = rng.standard_normal(n)
    u = s * g + length * m
    others = rng.chisquare(L - 2, n) if L > 2 else np.zeros(n)
    noise = np.sqrt(S) * rng.standard_normal(len(xi))
    if s > 0:
        noise -= to_w * float(noise @ w) / s
    q = float(h @ (u * g + s * others)) * to_w
    q += float(h @ (u * length)) * xi
    q += math.sqrt(float((h * h) @ (u * u + s2 * others))) * noise
    q /= n * L
    return w, -steps.eta_q * steps.beta * q


def align_at(problem: SparseTokenProblem, steps: TwoSteps, dimension: int) -> Alignment:
    """Return means over draws of D0 at a dimension, and how the cosine varies."""
    drawn = drawn_queries(problem, steps, dimension)
    names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine")
    means: dict[str, Any] = {name: float(getattr(drawn, name).mean()) for name in names}
    return Alignment(
        **means,
        rate=math.nan,
        status=CONVERGED,
        spread=float(np.std(drawn.cosine)),
        anti_aligned=float((drawn.cosine < 0).mean()),
    )
