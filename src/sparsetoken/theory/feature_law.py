"""The distribution of the pooled features: three scalars for each sample."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri, ndtri_exp

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.numerics.quadrature import MOST_DIMENSIONS, sobol_sequence
from sparsetoken.theory.small_tokens import SUMS, SmallSums

SCRAMBLES = 8
SEED = 20250929  # any fixed number: the same nodes in every run

COLUMNS = ("along", "across", "C", "y", "weight")

_KEPT_BYTES = 2**24

Nodes = Float[np.ndarray, "scrambles nodes"]

_ONE_BY_ONE = 128  # tokens of a group, above which only the largest are drawn one by one
_LARGEST = 32


@dataclasses.dataclass(frozen=True)
class FeatureLaw:
    """Weighted nodes of the distribution of (A, B, C, y), and all else that stage 4 depends on.

    The feature of a sample is ``theta A xi + (B + sqrt(gaussian_variance) g) qhat + C h`` with
    g ~ N(0, 1) and h ~ N(0, I - qhat qhat^T) independent of the nodes (theory of the
    attention features; exact at every d).

    Attributes
    ----------
    along, across : arrays of shape (scrambles, nodes)
        X_1 = theta s A + B and X_2 = theta sqrt(1 - s^2) A, the parts of the mean
        feature along qhat and along e_2.
    C : array of shape (scrambles, nodes)
        Norm of the pooling weights.
    y : array of shape (scrambles, nodes)
        Labels in {-1, +1}.
    weight : array of shape (scrambles, nodes)
        Adds up to 1 in each scramble.
    gaussian_variance : float
        Variance of the Gaussian part of B that is independent of (A, C).
    weights_per_dimension : int
        Number of trained weights divided by d: L for ``vectorized``, else 1.
    exact : bool
        Whether the nodes are the law itself, not a sample of it.
    features : TokenFeatures or None
        What the nodes were sampled from; None for a law that is known exactly.
    """

    along: Nodes
    across: Nodes
    C: Nodes
    y: Nodes
    weight: Nodes
    gaussian_variance: float = 0.0
    weights_per_dimension: int = 1
    exact: bool = False
    features: TokenFeatures | None = None

    @property
    def featureless(self) -> bool:
        """Whether all features vanish."""
        return not self.C.any()


@dataclasses.dataclass(frozen=True)
class TokenFeatures:
    """The map from the tokens of a sample to the three scalars of its feature.

    Attributes
    ----------
    problem : SparseTokenProblem
    query : Query
    weigh : callable
        Maps projections of the tokens on the query, of shape (nodes, L), to their weights.
    sees_mean : bool
        Whether a shift of all projections changes the weights. Where it does not and the
        weights add up to 1, the mean of the noise, N(0, 1/L), is integrated exactly.
    codimension : float
        Of the projections of a token at which its weight is 0: 0 for a range, 1 for single ones,
        inf where there are none.
    up_to_factor : bool
        Whether the weights of each sample are known up to a factor > 0 only.
    token_weight : callable, optional
        Maps projections of tokens, and the projection of another one, to their weights where
        those belong to each token by itself. Where `sees_mean` is false, it returns weights
        relative to that of the other token, and they add up to 1 after division by their sum.
        With it, the many small tokens of a long sample need not be drawn one by one.

    See Also
    --------
    sampled_law : The law by sampling the projections of the tokens.
    FeatureLaw : The law of such features.

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
    codimension: float = math.inf
    up_to_factor: bool = False
    token_weight: Callable[[np.ndarray, np.ndarray | float], np.ndarray] | None = None

    @property
    def gaussian_variance(self) -> float:
        """The variance of the part of B that is independent of the nodes."""
        return 0.0 if self.sees_mean else 1 / self.problem.length

    def law(self, g: np.ndarray, label: int, weight: np.ndarray) -> FeatureLaw:
        """Return one scramble of the law of one class at noise g of shape (nodes, L)."""
        informative = self.informative(label)
        tokens = g.copy()
        tokens[:, :informative] += self._shift
        a = self.weigh(tokens)
        A, B = a[:, :informative].sum(axis=1), np.einsum("nl,nl->n", a, g)
        if not self.sees_mean:
            B -= g.mean(axis=1)
        return self._law(label, weight, A, B, np.sqrt(np.einsum("nl,nl->n", a, a)))

    def law_of_groups(self, groups: list[Group], label: int, weight: np.ndarray) -> FeatureLaw:
        """Return the same at the groups of tokens that carry the signal and that do not."""
        if not any(group.small for group in groups):
            return self.law(np.concatenate([t.largest for t in groups], axis=1), label, weight)
        shifted = [(t, u) for t, u in zip(groups, (self._shift, 0.0), strict=True) if t.size]
        top = np.max([t.largest[:, 0] + u for t, u in shifted], axis=0)
        sums = [self._sums(t, u, top) for t, u in shifted]
        a, ag, a2, g = np.sum(sums, axis=0)
        A = sums[0][0] if label > 0 else np.zeros_like(top)
        if self.sees_mean:
            return self._law(label, weight, A, ag, np.sqrt(a2))
        B = ag / a - g / self.problem.length
        return self._law(label, weight, A / a, B, np.sqrt(a2) / a)

    def _sums(self, group: Group, shift: float, top: np.ndarray) -> np.ndarray:
        """Return the sums of (w, w g, w^2, g) over a group, w relative to a token at `top`."""
        weigh, g = self.weight_of_token, group.largest
        w = weigh(g + shift, top[:, None])
        products = [np.einsum("nl,nl->n", w, factor) for factor in (g, w)]
        sums = np.stack([w.sum(axis=1), *products, g.sum(axis=1)])
        if group.small == 0:
            return sums
        cut = g[:, -1]
        small = _small_sums(self, shift, group.size, g.shape[1]).at(cut, group.normals).T
        small[2] = np.maximum(small[2], small[0] ** 2 / group.small)  # Cauchy and Schwarz
        if not self.sees_mean:
            scale = weigh(cut + shift, top)
            small[:3] *= np.stack([scale, scale, scale**2])
        return sums + small

    def _law(
        self, label: int, weight: np.ndarray, A: np.ndarray, B: np.ndarray, C: np.ndarray
    ) -> FeatureLaw:
        theta, s = self.problem.strength, self.query.cosine
        return FeatureLaw(
            along=(theta * s * A + B)[None],
            across=(theta * math.sqrt(1 - s**2) * A)[None],
            C=C[None],
            y=np.full((1, len(A)), float(label)),
            weight=weight[None],
            gaussian_variance=self.gaussian_variance,
        )

    @property
    def inverse_moments(self) -> float:
        """The number p from which on E[C^-p] is infinite, as all tokens can have the weight 0."""
        return self.codimension * self.problem.length

    @property
    def most_drawn(self) -> int:
        """The size of groups up to which tokens are drawn one by one."""
        return _ONE_BY_ONE if self.token_weight else self.problem.length

    def layout(self, label: int) -> Layout:
        """Return which coordinates stand for which tokens of this class."""
        informative = self.informative(label)
        return Layout(informative, self.problem.length - informative, most=self.most_drawn)

    @property
    def weight_of_token(self) -> Callable[[np.ndarray, np.ndarray | float], np.ndarray]:
        """`token_weight`, which must be there where not all tokens are drawn."""
        if self.token_weight is None:
            raise TypeError("Tokens that are not drawn need a `token_weight`.")
        return self.token_weight

    @property
    def _shift(self) -> float:
        """What the signal adds to the projection of a token."""
        return self.problem.strength * self.query.cosine

    def informative(self, label: int) -> int:
        """Return how many tokens of a sample with this label carry the signal."""
        return self.problem.informative if label > 0 else 0


@functools.lru_cache(maxsize=8)
def _small_sums(features: TokenFeatures, shift: float, size: int, largest: int) -> SmallSums:
    weigh = features.weight_of_token
    return SmallSums(lambda g, cut: weigh(g + shift, cut + shift), -shift, size, largest)


class Group(NamedTuple):
    """Exchangeable tokens of many samples.

    `largest`, of shape (nodes, tokens), is the noise of those that are drawn: of all, or of the
    largest ones, falling. `small` is the number of the others, often 0; sums over them are drawn
    from independent N(0, 1), of shape (nodes, SUMS).
    """

    largest: np.ndarray
    small: int
    normals: np.ndarray

    @property
    def size(self) -> int:
        """Number of tokens."""
        return self.largest.shape[1] + self.small


class Layout:
    """Which coordinates stand for which tokens, drawn largest first in each group.

    Sharp weights depend on the few largest tokens. Drawn as order statistics, taking
    turns between the groups, those stand in the first and best dimensions of a
    Sobol sequence: its error falls 10 to 100 times against one dimension per token.
    The sums over small tokens, which rule blunt weights, come after the largest token.

    All tokens of a group of up to `most` are drawn. The columns of each group are those of the
    tokens, then those of the sums.
    """

    def __init__(self, *sizes: int, most: int) -> None:
        self._sizes = sizes
        self._drawn = [size if size <= most else _LARGEST for size in sizes]
        pairs = zip(sizes, self._drawn, strict=True)
        ranks = [[*range(drawn), *[0.5] * (SUMS if drawn < size else 0)] for size, drawn in pairs]
        self.dimensions = sum(map(len, ranks))
        refuse_many_tokens(self.dimensions)
        column = np.empty(self.dimensions, dtype=int)
        column[np.argsort(np.concatenate(ranks), kind="stable")] = np.arange(self.dimensions)
        self.columns = np.split(column, np.cumsum([len(own) for own in ranks])[:-1])

    def groups(
        self,
        log_uniforms: Callable[[np.ndarray], np.ndarray],
        normals: Callable[[np.ndarray], np.ndarray],
    ) -> list[Group]:
        """Return the groups from coordinates, given their columns, in either form."""
        groups = []
        for size, drawn, columns in zip(self._sizes, self._drawn, self.columns, strict=True):
            largest = _largest_of(size, log_uniforms(columns[:drawn]))
            sums = normals(columns[drawn:]) if drawn < size else np.empty((len(largest), 0))
            groups.append(Group(largest, size - drawn, sums))
        return groups


Tokens = tuple[list[Group], list[Group]]
"""The groups of positives and of negatives."""


def two_nodes(problem: SparseTokenProblem, along: float, across: float, C: float) -> FeatureLaw:
    """Return the law of features that are Gaussian given the label, with these means on positives.

    Parameters
    ----------
    problem : SparseTokenProblem
    along, across : float
        Means along the query and along the rest of the signal.
    C : float
        Standard deviation in every other direction.
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

    See Also
    --------
    TokenFeatures : How features depend on the tokens.

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
    shares = [np.full(points, chance / points) for chance in (pi, 1 - pi)]
    scrambles = []
    for tokens in _scrambled_tokens(R, L, points, features.most_drawn):
        classes = [
            features.law_of_groups(groups, label, share)
            for groups, label, share in zip(tokens, (1, -1), shares, strict=True)
        ]
        scrambles.append([np.concatenate([getattr(law, c)[0] for law in classes]) for c in COLUMNS])
    along, across, C, y, weight = (np.stack(column) for column in zip(*scrambles, strict=True))
    return FeatureLaw(
        along, across, C, y, weight, gaussian_variance=features.gaussian_variance, features=features
    )


def refuse_many_tokens(length: int) -> None:
    """Refuse samples whose tokens are drawn one by one if they are longer than Sobol sequences.

    Raises
    ------
    InvalidInput
        If they are.
    """
    if length > MOST_DIMENSIONS:
        remedy = "Sobol sequences have no more dimensions; simulate instead."
        name = "length (L) of samples whose tokens are drawn one by one"
        raise InvalidInput(name, f"<= {MOST_DIMENSIONS}", length, remedy)


def _scrambled_tokens(R: int, L: int, points: int, most: int) -> Iterable[Tokens]:
    """Return the tokens of positives and of negatives, for each scramble.

    They depend on nothing else, so that a grid of predictions draws them once. Groups of up to
    `most` tokens are drawn one by one.
    """
    drawn = min(L, 2 * most)
    small = SCRAMBLES * 2 * points * drawn * 8 <= _KEPT_BYTES
    return (_kept_tokens if small else _drawn_tokens)(R, L, points, most)


def _drawn_tokens(R: int, L: int, points: int, most: int) -> Iterator[Tokens]:
    rng = np.random.default_rng(SEED)
    layouts = Layout(R, L - R, most=most), Layout(0, L, most=most)
    for _ in range(SCRAMBLES):
        yield _groups(layouts[0], points, rng), _groups(layouts[1], points, rng)


@functools.lru_cache(maxsize=8)
def _kept_tokens(R: int, L: int, points: int, most: int) -> tuple[Tokens, ...]:
    return tuple(_drawn_tokens(R, L, points, most))


def _groups(layout: Layout, points: int, rng: np.random.Generator) -> list[Group]:
    uniforms = sobol_sequence(layout.dimensions, rng).random(points)
    uniforms = np.clip(uniforms, 1e-300, 1 - 1e-16)
    return layout.groups(lambda own: np.log(uniforms[:, own]), lambda own: ndtri(uniforms[:, own]))


def _largest_of(size: int, log_uniforms: np.ndarray) -> np.ndarray:
    """Return the largest of so many normals, falling, by Renyi's ratios of order statistics."""
    count = log_uniforms.shape[1]
    log_chance = np.cumsum(log_uniforms / np.arange(size, size - count, -1), axis=1)
    return ndtri_exp(np.minimum(log_chance, -1e-300))
