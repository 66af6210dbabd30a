"""Vectors among tokens, and the noise of tokens in their coordinates."""

from __future__ import annotations

import dataclasses
import functools
import math
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.stages import Query
from sparsetoken.model.tokens import TokenCovariance, TokenDistribution, require_varying


@dataclasses.dataclass(frozen=True)
class TrainedQuery:
    """A query of stage 3, or a given one.

    Attributes
    ----------
    query : Query
    overlap : float
        <q, xi>.
    norm : float
        |q|.
    direction : array of shape (k,)
        q / |q| in the coordinates of its frame. For q = 0 it is a unit vector orthogonal to xi.
    readout_cosine : float
        <w1, xi> / |w1|; nan for a given query.
    scale : float
        What a projection on the direction is multiplied with to have noise of width 1.
    effect_width : float
        Width of what the projections of a sample's tokens share, over that of their noise.
    """

    query: Query
    overlap: float
    norm: float
    direction: Float[np.ndarray, " k"]
    readout_cosine: float = float("nan")
    scale: float = 1.0
    effect_width: float = 0.0

    @property
    def projected(self) -> float:
        """<q, xi> over the width of the noise."""
        return self.query.cosine * self.scale


class Along(NamedTuple):
    """What a covariance S has along a vector q: the width sqrt(q^T S q), and S q / width.

    The vector, which is u for the within covariance, is 0 where the width is.
    """

    width: float
    vector: Float[np.ndarray, " k"]


@dataclasses.dataclass(frozen=True, eq=False)
class TokenFrame:
    """Coordinates of R^d, and the covariances of tokens in them.

    Parameters
    ----------
    signal : array of shape (k,)
        xi.
    within : array of shape (), (k,) or (k, k)
        S_w, of the noise of each token; a number stands for a multiple of the identity, a vector
        for a diagonal.
    between : array of shape (), (k,) or (k, k)
        S_b, of what the tokens of a sample share.
    """

    signal: Float[np.ndarray, " k"]
    within: np.ndarray = dataclasses.field(default_factory=lambda: np.array(1.0))
    between: np.ndarray = dataclasses.field(default_factory=lambda: np.array(0.0))

    @functools.cached_property
    def _within_root(self) -> np.ndarray:
        return factor(self.within)

    @functools.cached_property
    def _between_root(self) -> np.ndarray:
        return factor(self.between)

    def along(self, q: np.ndarray) -> Along:
        """Return what the within covariance has along a vector."""
        return _along(self.within, q)

    def between_along(self, q: np.ndarray) -> Along:
        """Return what the between covariance has along a vector."""
        return _along(self.between, q)

    def mean_width(self, w: np.ndarray, length: int) -> float:
        """Return the standard deviation of <mean token, w>."""
        return math.hypot(self.along(w).width / math.sqrt(length), self.between_along(w).width)

    def within_noise(self, n: int, rng: np.random.Generator, copies: int = 1) -> np.ndarray:
        """Draw rows of noise of `copies` concatenated tokens, their coordinates first."""
        k = len(self.signal)
        return _mixed(rng.standard_normal((n, copies, k)), self._within_root).reshape(n, -1)

    def between_noise(self, n: int, rng: np.random.Generator) -> np.ndarray | None:
        """Draw the effects shared by the tokens of n samples; None if they are 0."""
        if not self.between.any():
            return None
        return _mixed(rng.standard_normal((n, len(self.signal))), self._between_root)

    def mean_noise(self, n: int, length: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the noise of n mean tokens."""
        noise = self.within_noise(n, rng)
        noise /= np.sqrt(length)
        effect = self.between_noise(n, rng)
        return noise if effect is None else noise + effect

    def beside_noise(self, q: np.ndarray, n: int, rng: np.random.Generator) -> np.ndarray:
        """Draw N(0, S_w - u u^T): the noise that moves no projection on q."""
        noise = self.within_noise(n, rng)
        k, (width, u) = len(q), self.along(q)
        if width > 0:
            noise[:, :k] -= np.outer(noise[:, :k] @ q / width, u)
        return noise

    def mean_vector(self, length: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the noise of one mean token."""
        return self.mean_noise(1, length, rng)[0]

    def beside_vector(self, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw one vector of noise that moves no projection on q."""
        return self.beside_noise(q, 1, rng)[0]

    def trained(self, q: np.ndarray, beta: float, w: np.ndarray) -> TrainedQuery:
        """Return a query vector by what the features need of it, and the cosine of its readout."""
        norm, width, norm_w = float(np.linalg.norm(q)), self.along(q).width, np.linalg.norm(w)
        if norm == 0 or width == 0:
            direction = _beside(np.eye(1, len(q), int(np.argmin(np.abs(self.signal))))[0], self)
            trained = TrainedQuery(Query(0.0, 0.0), 0.0, 0.0, direction)
        else:
            cosine = float(np.clip(q @ self.signal / norm, -1, 1))
            trained = self._at(q / norm, Query(cosine, beta * width), norm)
        readout_cosine = float(w @ self.signal / norm_w) if norm_w > 0 else 0.0
        return dataclasses.replace(trained, readout_cosine=readout_cosine)

    def given(self, query: Query, rng: np.random.Generator) -> TrainedQuery:
        """Return a given vector, or one of a given cosine that is otherwise random; beta = 1."""
        xi, k = self.signal, query.sharpness
        if query.vector is not None:
            direction = np.array(query.vector)
            query = Query(float(np.clip(direction @ xi, -1, 1)), k)
        else:
            s = query.cosine
            if len(xi) == 1 and abs(s) < 1:
                raise InvalidInput("cosine", "-1 or 1 at dimension 1", s)
            direction = s * xi + np.sqrt(1 - s**2) * _beside(rng.standard_normal(len(xi)), self)
        width = self.along(direction).width
        require_varying(width)
        return self._at(direction, query, k / width)

    def _at(self, direction: np.ndarray, query: Query, norm: float) -> TrainedQuery:
        width, effect = self.along(direction).width, self.between_along(direction).width
        overlap = norm * query.cosine
        return TrainedQuery(
            query, overlap, norm, direction, scale=1 / width, effect_width=effect / width
        )

    def facing(self, trained: TrainedQuery | None) -> tuple[TokenFrame, TrainedQuery | None]:
        """Return the frame in which features are drawn, and the query in its coordinates."""
        return self, trained


@dataclasses.dataclass(frozen=True, eq=False)
class IsotropicFrame(TokenFrame):
    """Coordinates along a few directions of R^d, and isotropic noise in all d >= 3.

    Isotropic noise looks the same in every frame: the directions that matter come first, and
    the rest of the noise enters by its norms and inner products alone.
    """

    dimension: int = dataclasses.field(kw_only=True)

    @classmethod
    def of_steps(cls, dimension: int) -> IsotropicFrame:
        """Return the frame (xi, the rest of w1, the rest) of two steps."""
        return cls(np.array([1.0, 0.0, 0.0]), dimension=dimension)

    def mean_vector(self, length: int, rng: np.random.Generator) -> np.ndarray:
        """Draw the noise of one mean token, which turns the second axis to itself."""
        noise = rng.standard_normal(), np.sqrt(rng.chisquare(self.dimension - 1)), 0.0
        return np.array(noise) / np.sqrt(length)

    def beside_vector(self, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Draw noise orthogonal to q, a vector of the first plane; it turns the third axis."""
        norm = float(np.linalg.norm(q))
        cos, sin = (q[0] / norm, q[1] / norm) if norm > 0 else (1.0, 0.0)
        turn, rest = rng.standard_normal(), np.sqrt(rng.chisquare(self.dimension - 2))
        return np.array([-turn * sin, turn * cos, rest])

    def given(self, query: Query, rng: np.random.Generator) -> TrainedQuery:
        """Return the query in the frame that is turned to fit it; beta = 1."""
        k = query.sharpness
        return TrainedQuery(query, k * query.cosine, k, np.array([1.0, 0.0]))

    def facing(self, trained: TrainedQuery | None) -> tuple[TokenFrame, TrainedQuery | None]:
        """Return the frame (query, signal beside it, rest), or (signal, rest) without a query."""
        if trained is None:
            return IsotropicFrame(np.ones(1), dimension=self.dimension), None
        s = trained.query.cosine
        turned = IsotropicFrame(np.array([s, np.sqrt(1 - s**2)]), dimension=self.dimension)
        return turned, dataclasses.replace(trained, direction=np.array([1.0, 0.0]))

    def within_noise(self, n: int, rng: np.random.Generator, copies: int = 1) -> np.ndarray:
        """Draw rows of noise of `copies` tokens, their coordinates first, then what is left.

        For fewer samples than directions p of the second part that part is Bartlett's
        lower-triangular factor, whose Gram matrix is that of n Gaussian vectors of R^p: diagonal
        chi with p, p - 1, ... degrees of freedom, N(0, 1) below. A ridge fit does not see the
        rotation.
        """
        named = copies * len(self.signal)
        p = copies * self.dimension - named
        if n >= p:
            return rng.standard_normal((n, named + p))
        rows = np.zeros((n, named + n))
        for i, row in enumerate(rows):
            rng.standard_normal(out=row[: named + i])
        rows[np.arange(n), named + np.arange(n)] = np.sqrt(rng.chisquare(p - np.arange(n)))
        return rows


def _beside(vector: np.ndarray, frame: TokenFrame) -> np.ndarray:
    """Return the unit vector of the part orthogonal to xi, 0 where there is none."""
    beside = vector - (vector @ frame.signal) * frame.signal
    norm = np.linalg.norm(beside)
    return np.asarray(beside / norm if norm > 0 else beside)


def _along(S: np.ndarray, q: np.ndarray) -> Along:
    turned = S * q if S.ndim < 2 else S @ q
    width = math.sqrt(max(q @ turned, 0.0))
    return Along(width, turned / width if width > 0 else 0 * turned)


def factor(S: np.ndarray) -> np.ndarray:
    """Return a matrix (or a diagonal) whose rows mix normals into N(0, S)."""
    if S.ndim < 2:
        return np.sqrt(S)
    values, vectors = np.linalg.eigh(S)
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0.0))).T)


def _mixed(normals: np.ndarray, factor: np.ndarray) -> np.ndarray:
    return normals * factor if factor.ndim < 2 else normals @ factor


@functools.lru_cache(maxsize=4)
def frame_of(law: TokenDistribution) -> TokenFrame | None:
    """Return the frame of tokens with a covariance; others look the same in every frame."""
    if not isinstance(law, TokenCovariance):
        return None
    return TokenFrame(
        law.signals[0], law.within, np.array(0.0) if law.between is None else law.between
    )


class Design(NamedTuple):
    """Features and labels of stage 4 in the coordinates of a frame, and the query in these."""

    features: Float[np.ndarray, "n m"]
    labels: Int[np.ndarray, " n"]
    frame: TokenFrame
    query: TrainedQuery | None


def training_size(alpha: float, dimension: int) -> int:
    """Return round(alpha d), at least 1; raise `InvalidInput` for infinite data."""
    if alpha == math.inf:
        raise InvalidInput("alpha", "finite in a simulation", alpha)
    return max(1, round(alpha * dimension))
