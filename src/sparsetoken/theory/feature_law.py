"""The law of the pooled features: three scalars for each sample."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri_exp
from scipy.stats import qmc

from sparsetoken.attention import ACTIVATIONS, check_exponent
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.training import Query
from sparsetoken.validation import InvalidInput

__all__ = ["FeatureLaw", "feature_law"]

SCRAMBLES = 8
_COARSE = 64
_SEED = 20250929  # any fixed number: the same nodes in every run

_MOST_TOKENS = qmc.Sobol.MAXDIM

_KEPT_BYTES = 2**24

Nodes = Float[np.ndarray, "scrambles nodes"]
Tokens = tuple[np.ndarray, np.ndarray]


@dataclasses.dataclass(frozen=True)
class FeatureLaw:
    """Weighted nodes of the law of (A, B, C, y), and what else stage 4 depends on.

    The feature of a sample is ``theta A xi + (B + sqrt(shared) g) qhat + C h`` with
    g ~ N(0, 1) and h ~ N(0, I - qhat qhat^T) independent of the nodes (theory of the
    attention features; exact at every d).

    Attributes
    ----------
    along, across : arrays of shape (scrambles, nodes)
        X_1 = theta s A + B and X_2 = theta sqrt(1 - s^2) A, the parts of the mean
        feature along qhat and along e_2.
    C : array of shape (scrambles, nodes)
        Length of the pooling weights.
    y : array of shape (scrambles, nodes)
        Labels in {-1, +1}.
    weight : array of shape (scrambles, nodes)
        Adds up to 1 in each scramble.
    shared : float
        Variance of the Gaussian part of B that is independent of (A, C).
    weights_per_dimension : int
        Number of trained weights divided by d: L for ``vectorized``, else 1.
    exact : bool
        Whether the nodes are the law itself, not a sample of it.
    """

    along: Nodes
    across: Nodes
    C: Nodes
    y: Nodes
    weight: Nodes
    shared: float = 0.0
    weights_per_dimension: int = 1
    exact: bool = False

    @property
    def featureless(self) -> bool:
        """Whether all features vanish."""
        return not self.C.any()

    def coarse(self) -> FeatureLaw:
        """Return a law of few nodes that stands for this one, to start from.

        The first points of a Sobol sequence are spread evenly themselves.
        """
        if self.exact:
            return self
        points = self.C.shape[1] // 2  # positives first, then negatives
        few = [*range(_COARSE), *range(points, points + _COARSE)]
        columns = {f: getattr(self, f)[:1, few] for f in ("along", "across", "C", "y", "weight")}
        columns["weight"] = columns["weight"] * (points / _COARSE)
        return dataclasses.replace(self, **columns)


def feature_law(
    model: str,
    problem: SparseTokenProblem,
    query: Query,
    activation: str,
    points: int,
) -> FeatureLaw:
    """Return nodes of the law of the features of a model.

    Equation: feature-law.

    Parameters
    ----------
    model : {"attention", "pooled", "vectorized", "elementwise"}
    problem : SparseTokenProblem
        Its position law is not used: positions are uniform.
    query : Query
        Not used by ``pooled`` and ``vectorized``.
    activation : str
        phi of ``elementwise``: erf (1 + erf), sigmoid, tanh, relu, linear (1 + x), exp.
    points : int
        Nodes for each class and scramble, a power of two. ``pooled``, ``vectorized``
        and attention with L = 1 or k = 0 have an exact law of two nodes instead.
    """
    _, theta, R, L = problem.letters
    if model == "pooled":
        return _two_nodes(problem, 0.0, theta * R / L, 1 / math.sqrt(L))
    if model == "vectorized":
        # A linear problem in L d dimensions, the mean of length theta R / sqrt(L).
        law = _two_nodes(problem, 0.0, theta * R / math.sqrt(L), 1.0)
        return dataclasses.replace(law, weights_per_dimension=L)
    if model == "attention" and (L == 1 or query.sharpness == 0):
        s, A = query.cosine, R / L
        across = theta * math.sqrt(1 - s**2) * A
        law = _two_nodes(problem, theta * s * A, across, 1 / math.sqrt(L))
        return dataclasses.replace(law, shared=1 / L)
    return _sampled(model, problem, query, activation, points)


def _two_nodes(problem: SparseTokenProblem, along: float, across: float, C: float) -> FeatureLaw:
    pi = problem.positive_rate
    pair = np.array([[1.0, 0.0]])
    return FeatureLaw(
        along=along * pair,
        across=across * pair,
        C=np.full((1, 2), C),
        y=np.array([[1.0, -1.0]]),
        weight=np.array([[pi, 1 - pi]]),
        exact=True,
    )


def _sampled(
    model: str, problem: SparseTokenProblem, query: Query, activation: str, points: int
) -> FeatureLaw:
    pi, theta, R, L = problem.letters
    if L > _MOST_TOKENS:
        remedy = "Sobol sequences have no more dimensions; simulate instead."
        raise InvalidInput("length (L) of a predicted query model", f"<= {_MOST_TOKENS}", L, remedy)
    s = query.cosine
    softmax = model == "attention"
    weigh = _softmax if softmax else _elementwise(problem, query, activation)
    scrambles = []
    for tokens in _scrambled_tokens(R, L, points):
        columns = []
        for label, informative, g in zip((1.0, -1.0), (R, 0), tokens, strict=True):
            signal = np.arange(L) < informative
            a = weigh(query.sharpness * (g + theta * s * signal))
            A, B = a @ signal.astype(float), np.sum(a * g, axis=1)
            if softmax:  # weights do not see the mean of g, which is N(0, 1/L)
                B -= g.mean(axis=1)
            share = (pi if label > 0 else 1 - pi) / points
            C = np.sqrt(np.sum(a**2, axis=1))
            columns.append((A, B, C, np.full(points, label), np.full(points, share)))
        scrambles.append([np.concatenate(c) for c in zip(*columns, strict=True)])
    A, B, C, y, weight = (np.stack(c) for c in zip(*scrambles, strict=True))
    return FeatureLaw(
        along=theta * s * A + B,
        across=theta * math.sqrt(1 - s**2) * A,
        C=C,
        y=y,
        weight=weight,
        shared=1 / L if softmax else 0.0,
    )


def _scrambled_tokens(R: int, L: int, points: int) -> Iterable[Tokens]:
    """Return the tokens of positives and of negatives, for each scramble.

    They depend on nothing else, so that a grid of predictions draws them once.
    """
    small = SCRAMBLES * 2 * points * L * 8 <= _KEPT_BYTES
    return _kept_tokens(R, L, points) if small else _drawn_tokens(R, L, points)


def _drawn_tokens(R: int, L: int, points: int) -> Iterator[Tokens]:
    rng = np.random.default_rng(_SEED)
    for _ in range(SCRAMBLES):
        yield _tokens(R, L - R, points, rng), _tokens(0, L, points, rng)


@functools.lru_cache(maxsize=8)
def _kept_tokens(R: int, L: int, points: int) -> tuple[Tokens, ...]:
    return tuple(_drawn_tokens(R, L, points))


def _tokens(informative: int, rest: int, points: int, rng: np.random.Generator) -> np.ndarray:
    """Draw normals for the tokens of two exchangeable groups, largest first in each.

    Sharp weights depend on the few largest tokens. Drawn as order statistics, taking
    turns between the groups, those stand in the first and best dimensions of the
    Sobol sequence: its error falls 10 to 100 times against one dimension per token.
    """
    uniforms = qmc.Sobol(informative + rest, rng=rng).random(points)
    uniforms = np.clip(uniforms, 1e-300, 1 - 1e-16)
    rank = np.concatenate([np.arange(informative), np.arange(rest)])
    column = np.empty(len(rank), dtype=int)
    column[np.argsort(rank, kind="stable")] = np.arange(len(rank))
    groups = column[:informative], column[informative:]
    return np.concatenate([_descending(uniforms[:, c]) for c in groups], axis=1)


def _descending(uniforms: np.ndarray) -> np.ndarray:
    """Turn independent uniforms into ordered normals, by Renyi's ratios."""
    count = uniforms.shape[1]
    log_chance = np.cumsum(np.log(uniforms) / np.arange(count, 0, -1), axis=1)
    return ndtri_exp(log_chance)


def _softmax(scores: np.ndarray) -> np.ndarray:
    a = np.exp(scores - scores.max(axis=1, keepdims=True))
    return a / a.sum(axis=1, keepdims=True)


def _elementwise(
    problem: SparseTokenProblem, query: Query, activation: str
) -> Callable[[np.ndarray], np.ndarray]:
    check_exponent(activation, query.sharpness, problem.strength * abs(query.cosine))
    phi = ACTIVATIONS[activation]
    return lambda scores: phi(scores) / problem.length
