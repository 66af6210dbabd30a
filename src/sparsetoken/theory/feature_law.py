"""The law of the pooled features: three scalars for each sample."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Literal

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri_exp

from sparsetoken.numerics.sobol import MOST_DIMENSIONS, sobol_sequence
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Query
from sparsetoken.validation import InvalidInput

SCRAMBLES = 8
_COARSE = 64
_SEED = 20250929  # any fixed number: the same nodes in every run

COLUMNS = ("along", "across", "C", "y", "weight")
MOST_TOKENS = MOST_DIMENSIONS

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
    vanishes : bool
        Whether a share of each class has the feature 0: no readout separates the classes.
    features : TokenFeatures or None
        What the nodes were sampled from; None for a law that is known exactly.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import feature_law
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> law = feature_law(st.Pooled(), problem, None, 64)
    >>> law.along.shape == law.across.shape
    True
    """

    along: Nodes
    across: Nodes
    C: Nodes
    y: Nodes
    weight: Nodes
    shared: float = 0.0
    weights_per_dimension: int = 1
    exact: bool = False
    vanishes: bool = False
    features: TokenFeatures | None = None

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
        columns = {f: getattr(self, f)[:1, few] for f in COLUMNS}
        columns["weight"] = columns["weight"] * (points / _COARSE)
        return dataclasses.replace(self, **columns)


Coordinates = Literal["ordered", "summed"]
"""What the leading coordinates stand for in each group of tokens (with the signal, without).

``ordered``: the largest tokens, which decide sharp weights. ``summed``: the sum of the
tokens, which decides smooth ones.
"""


@dataclasses.dataclass(frozen=True)
class TokenFeatures:
    """How the tokens of a sample become the three scalars of its feature.

    Attributes
    ----------
    problem : SparseTokenProblem
    query : Query
    weigh : callable
        Maps projections of the tokens on the query, of shape (nodes, L), to their weights.
    sees_mean : bool
        Whether a shift of all projections changes the weights. Where it does not and the
        weights add up to 1, the mean of the noise, N(0, 1/L), is integrated exactly.
    coordinates : tuple of {"ordered", "summed"}
        Worth trying where nodes are drawn from a proposal.
    needs_bias : bool
        Whether a separating readout needs a bias.
    infinite_cost : bool
        Whether E[1/C^2] is infinite, and with it what a bias costs the capacity.
    up_to_factor : bool
        Whether the weights of each sample are known up to a factor > 0 only.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import TokenFeatures
    >>> problem, query = st.SparseTokenProblem(length=3), st.Query(cosine=0.8, sharpness=1.0)
    >>> features = TokenFeatures(problem, query, lambda scores: scores**2 / 3, sees_mean=True)
    >>> features.query.cosine
    0.8
    """

    problem: SparseTokenProblem
    query: Query
    weigh: Callable[[np.ndarray], np.ndarray]
    sees_mean: bool
    coordinates: tuple[Coordinates, ...] = ("summed", "ordered")
    needs_bias: bool = True
    infinite_cost: bool = False
    up_to_factor: bool = False

    @property
    def shared(self) -> float:
        """The variance of the part of B that is independent of the nodes."""
        return 0.0 if self.sees_mean else 1 / self.problem.length

    def law(self, g: np.ndarray, label: int, weight: np.ndarray) -> FeatureLaw:
        """Return one scramble of the law of one class at noise g of shape (nodes, L)."""
        informative, s = self.informative(label), self.query.cosine
        theta = self.problem.strength
        tokens = g.copy()
        tokens[:, :informative] += theta * s
        a = self.weigh(tokens)
        A, B = a[:, :informative].sum(axis=1), np.einsum("nl,nl->n", a, g)
        if not self.sees_mean:
            B -= g.mean(axis=1)
        return FeatureLaw(
            along=(theta * s * A + B)[None],
            across=(theta * math.sqrt(1 - s**2) * A)[None],
            C=np.sqrt(np.einsum("nl,nl->n", a, a))[None],
            y=np.full((1, len(g)), float(label)),
            weight=weight[None],
            shared=self.shared,
        )

    def informative(self, label: int) -> int:
        """Return how many tokens of a sample with this label carry the signal."""
        return self.problem.informative if label > 0 else 0


def two_nodes(problem: SparseTokenProblem, along: float, across: float, C: float) -> FeatureLaw:
    """Return the law of features that are Gaussian given the label, with these means on positives.

    Parameters
    ----------
    problem : SparseTokenProblem
    along, across : float
        Means along the query and along the rest of the signal.
    C : float
        Standard deviation in every other direction.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import two_nodes
    >>> problem = st.SparseTokenProblem(length=4, strength=4.0)
    >>> two_nodes(problem, along=0.0, across=1.0, C=0.5).across.tolist()
    [[1.0, 0.0]]
    """
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


def sampled_law(features: TokenFeatures, points: int) -> FeatureLaw:
    """Return nodes of the law of features that weigh tokens by their projections on the query.

    Parameters
    ----------
    features : TokenFeatures
    points : int
        Nodes for each class and scramble, a power of two.

    Raises
    ------
    InvalidInput
        If there are more tokens than Sobol sequences have dimensions.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import TokenFeatures, sampled_law
    >>> problem = st.SparseTokenProblem(length=3, strength=4.0)
    >>> query = st.Query(cosine=0.8, sharpness=1.0)
    >>> features = TokenFeatures(problem, query, lambda scores: scores**2 / 3, sees_mean=True)
    >>> law = sampled_law(features, points=64)
    >>> law.along.shape == law.weight.shape
    True
    """
    pi, _, R, L = features.problem.letters
    if L > MOST_TOKENS:
        remedy = "Sobol sequences have no more dimensions; simulate instead."
        raise InvalidInput("length (L) of a predicted query model", f"<= {MOST_TOKENS}", L, remedy)
    scrambles = []
    for tokens in _scrambled_tokens(R, L, points):
        classes = [
            features.law(g, label, np.full(points, chance / points))
            for g, label, chance in zip(tokens, (1, -1), (pi, 1 - pi), strict=True)
        ]
        scrambles.append([np.concatenate([getattr(law, c)[0] for law in classes]) for c in COLUMNS])
    along, across, C, y, weight = (np.stack(column) for column in zip(*scrambles, strict=True))
    return FeatureLaw(along, across, C, y, weight, shared=features.shared, features=features)


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
    uniforms = sobol_sequence(informative + rest, rng).random(points)
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
