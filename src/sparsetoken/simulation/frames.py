"""Vectors and roots of the covariances of tokens."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Float

from sparsetoken.simulation.engine import ScoreMoments, TrainedQuery
from sparsetoken.stages import Query, QueryVector
from sparsetoken.tokens import TokenCovariance, TokenLaw
from sparsetoken.validation import InvalidInput


@dataclasses.dataclass(frozen=True, eq=False)
class TokenFrame:
    """What sampling asks of a `TokenCovariance`.

    Parameters
    ----------
    law : TokenCovariance
    """

    law: TokenCovariance

    @property
    def signal(self) -> Float[np.ndarray, " d"]:
        """The direction of the signal."""
        return self.law.signal

    @functools.cached_property
    def _within_root(self) -> np.ndarray:
        return _factor(self.law.within)

    @functools.cached_property
    def _between_root(self) -> np.ndarray | None:
        return None if self.law.between is None else _factor(self.law.between)

    def times_within(self, w: np.ndarray) -> np.ndarray:
        """Return S_w w."""
        S = self.law.within
        return S * w if S.ndim == 1 else S @ w

    def _between_square(self, w: np.ndarray) -> float:
        S = self.law.between
        if S is None:
            return 0.0
        return float(w @ (S * w if S.ndim == 1 else S @ w))

    def within_length(self, w: np.ndarray) -> float:
        """Return sqrt(w^T S_w w)."""
        return float(np.sqrt(max(w @ self.times_within(w), 0.0)))

    def mean_length(self, w: np.ndarray, length: int) -> float:
        """Return the standard deviation of <mean token, w>."""
        return float(np.sqrt(w @ self.times_within(w) / length + self._between_square(w)))

    def within_noise(self, rng: np.random.Generator, *shape: int) -> np.ndarray:
        """Draw N(0, S_w)."""
        return _noise(self._within_root, shape, rng)

    def between_noise(self, rng: np.random.Generator, *shape: int) -> np.ndarray | float:
        """Draw N(0, S_b), or 0 where samples have no effect of their own."""
        return 0.0 if self._between_root is None else _noise(self._between_root, shape, rng)

    def mean_noise(self, length: int, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the noise of n mean tokens."""
        return self.within_noise(rng, n) / np.sqrt(length) + self.between_noise(rng, n)

    def beside_noise(self, q: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw N(0, S_w - u u^T), u = S_w q/sigma: the noise that moves no score."""
        noise = self.within_noise(rng, n)
        width = self.within_length(q)
        noise -= np.outer(noise @ q / width**2, self.times_within(q))
        return noise

    def described(self, q: np.ndarray, beta: float) -> TrainedQuery:
        """Return a query vector by what the features need of it."""
        norm, overlap = float(np.linalg.norm(q)), float(q @ self.signal)
        width = self.within_length(q)
        if norm == 0 or width == 0:
            direction = np.zeros_like(q)
            direction[np.argmin(np.abs(self.signal))] = 1.0
            direction -= (direction @ self.signal) * self.signal
            direction /= np.linalg.norm(direction)
            return TrainedQuery(Query(0.0, 0.0), 0.0, 0.0, direction=direction)
        cosine = float(np.clip(overlap / norm, -1, 1))
        query = Query(cosine, beta * width)
        return TrainedQuery(query, overlap, norm, direction=q / norm, scale=norm / width)

    def given(self, query: Query, rng: np.random.Generator) -> TrainedQuery:
        """Return a vector of a given cosine and sharpness, otherwise random, at beta = 1."""
        s, xi = query.cosine, self.signal
        g = rng.standard_normal(len(xi))
        g -= (g @ xi) * xi
        direction = s * xi + np.sqrt(1 - s**2) * g / np.linalg.norm(g)
        return self._at_sharpness(direction, s, query.sharpness)

    def along(self, query: QueryVector) -> TrainedQuery:
        """Return a query that is given as a vector, at beta = 1."""
        direction = np.array(query.direction)
        if direction.shape != self.signal.shape:
            legal = f"a vector of {len(self.signal)} numbers"
            raise InvalidInput("direction of the query", legal, f"{len(direction)}")
        cosine = float(np.clip(direction @ self.signal, -1, 1))
        return self._at_sharpness(direction, cosine, query.sharpness)

    def _at_sharpness(self, direction: np.ndarray, cosine: float, k: float) -> TrainedQuery:
        width = self.within_length(direction)
        if width == 0:
            remedy = "Add a little to the diagonal of the within covariance, or turn the query."
            legal = "a direction in which the tokens of a sample vary"
            raise InvalidInput("query", legal, "q^T S q = 0", remedy)
        norm = k / width
        query = Query(cosine, k)
        return TrainedQuery(query, norm * cosine, norm, direction=direction, scale=1 / width)

    def moments(self, trained: TrainedQuery | None) -> Callable[[np.ndarray], ScoreMoments]:
        """Return what maps a readout, a row for each position, to the law of its scores."""
        q = None if trained is None else trained.vector
        width = 0.0 if q is None else self.within_length(q)
        u = 0 * self.signal if q is None or width == 0 else self.times_within(q) / width
        projected = 0.0 if q is None or width == 0 else float(q @ self.signal) / width

        def of(W: np.ndarray) -> ScoreMoments:
            return ScoreMoments(
                signal=W @ self.signal,
                along=float(W[0] @ u),
                within=float(sum(w @ self.times_within(w) for w in W)),
                between=self._between_square(W.sum(axis=0)),
                projected=projected,
            )

        return of


def _factor(S: np.ndarray) -> np.ndarray:
    """Return a matrix (or a diagonal) whose rows mix normals into N(0, S)."""
    if S.ndim == 1:
        return np.sqrt(S)
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)


def _noise(factor: np.ndarray, shape: tuple[int, ...], rng: np.random.Generator) -> np.ndarray:
    g = rng.standard_normal((*shape, len(factor)))
    return g * factor if factor.ndim == 1 else g @ factor


_FRAMES: dict[str, Callable[[TokenCovariance], TokenFrame]] = {"covariance": TokenFrame}
"""By the name of the law; tokens of other laws look the same in every frame."""


def frame_of(law: TokenLaw) -> TokenFrame | None:
    """Return the frame of the tokens, None for isotropic ones."""
    return _cached(law) if law.name in _FRAMES else None


@functools.lru_cache(maxsize=4)
def _cached(law: TokenCovariance) -> TokenFrame:
    return _FRAMES[law.name](law)


def known_frame(frame: TokenFrame | None, query: QueryVector) -> TokenFrame:
    """Return the frame, or raise `InvalidInput` where a query is a vector without one."""
    if frame is None:
        remedy = "A vector needs tokens with a covariance, TokenCovariance(...)."
        raise InvalidInput("query", "Query(cosine, sharpness) for isotropic tokens", query, remedy)
    return frame
