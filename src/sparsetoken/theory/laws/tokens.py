"""How the features of a model with a query follow from the tokens, and nodes of their law."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri_exp

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.architectures.networks import QueryNetwork
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query
from sparsetoken.numerics.quadrature import MOST_DIMENSIONS, even_uniforms
from sparsetoken.theory.laws.feature_law import FeatureLaw
from sparsetoken.theory.laws.long_bags import SUMS, SmallSums

SCRAMBLES = 8
SEED = 20250929  # any fixed number: the same nodes in every run

_KEPT_BYTES = 2**24

_ONE_BY_ONE = 128  # tokens of a group, above which only the largest are drawn one by one
_LARGEST = 32

Weigh = Callable[[np.ndarray, "np.ndarray | float"], np.ndarray]
"""Maps projections of tokens, and that of another one, to weights relative to that one."""


@dataclasses.dataclass(frozen=True)
class TokenFeatures:
    """The map from the isotropic tokens of a sample to its feature, for a model with a query.

    With weights a of the tokens, A is their sum over tokens with a signal and B that of a g. Where
    the weights have a total and see no shift of all projections, the mean of g, N(0, 1/L), is
    integrated exactly.
    """

    problem: SparseTokenProblem
    query: Query
    network: QueryNetwork

    def law(self, points: int) -> FeatureLaw:
        """Return nodes of the law, so many for each class and scramble, a power of two.

        Raises
        ------
        InvalidInput
            If there are more tokens than Sobol sequences have dimensions.
        """
        pi, _, R, L = self.problem.letters
        scrambles = [
            [self.of_groups(groups, label) for groups, label in zip(tokens, (1, -1), strict=True)]
            for tokens in _scrambled_tokens(R, L, points, self.most_drawn)
        ]
        a, C = (
            np.stack([np.concatenate(classes) for classes in part])
            for part in zip(*(zip(*each, strict=True) for each in scrambles), strict=True)
        )
        y = np.tile(np.repeat([1.0, -1.0], points), (SCRAMBLES, 1))
        weight = np.where(y > 0, pi / points, (1 - pi) / points)
        return FeatureLaw(a, C, y, weight, self.covariance)

    @property
    def covariance(self) -> np.ndarray:
        """The covariance of the part of (a_1, a_2) that is independent of the nodes."""
        total = self.network.total or 0.0
        return np.diag([total**2 / self.problem.length, 0.0])

    def weights(self, projections: np.ndarray) -> np.ndarray:
        """Return the weights of tokens with projections of shape (nodes, L)."""
        return np.asarray(self.network.weights(self.query.sharpness * projections))

    def of_groups(self, groups: list[Group], label: int) -> tuple[np.ndarray, np.ndarray]:
        """Return a (nodes, 2) and C (nodes, 1) of samples with tokens in these groups.

        The first group is that of the tokens with a signal, if the label is positive.
        """
        if any(group.small for group in groups):
            A, B, C = self._with_small(groups)
        else:
            g = np.concatenate([group.largest for group in groups], axis=1)
            tokens, informative = g.copy(), groups[0].size
            tokens[:, :informative] += self._shift
            w = self.weights(tokens)
            A, B = w[:, :informative].sum(axis=1), np.einsum("nl,nl->n", w, g)
            if self.network.total is not None:
                B -= self.network.total * g.mean(axis=1)
            C = np.sqrt(np.einsum("nl,nl->n", w, w))
        theta, s = self.problem.strength, self.query.cosine
        a = np.stack([theta * s * A + B, theta * math.sqrt(1 - s**2) * A], axis=-1)
        return a, C[:, None]

    def _with_small(self, groups: list[Group]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return A, B and C where only the largest tokens are drawn."""
        shifted = [(t, u) for t, u in zip(groups, (self._shift, 0.0), strict=True) if t.size]
        top = np.max([t.largest[:, 0] + u for t, u in shifted], axis=0)
        sums = [self._sums(t, u, top) for t, u in shifted]
        a, ag, a2, g = np.sum(sums, axis=0)
        A = sums[0][0] if groups[0].size else np.zeros_like(top)
        R, L, total = groups[0].size, self.problem.length, self.network.total
        if total is None:
            return A, ag, np.sqrt(a2)
        C2 = a2 / a**2 + (total**2 - 1) / L  # of weights that are (total - 1)/L larger
        return A / a + (total - 1) * R / L, ag / a - g / L, np.sqrt(np.maximum(C2, 0.0))

    def _sums(self, group: Group, shift: float, top: np.ndarray) -> np.ndarray:
        """Return the sums of (w, w g, w^2, g) over a group, w relative to a token at `top`."""
        weigh, g = self._weight_of_token(), group.largest
        w = weigh(g + shift, top[:, None])
        products = [np.einsum("nl,nl->n", w, factor) for factor in (g, w)]
        sums = np.stack([w.sum(axis=1), *products, g.sum(axis=1)])
        if group.small == 0:
            return sums
        cut = g[:, -1]
        small = _small_sums(self, shift, group.size, g.shape[1]).at(cut, group.normals).T
        small[2] = np.maximum(small[2], small[0] ** 2 / group.small)  # Cauchy and Schwarz
        if self.network.total is not None:
            scale = weigh(cut + shift, top)
            small[:3] *= np.stack([scale, scale, scale**2])
        return sums + small

    def _weight_of_token(self) -> Weigh:
        weigh, k = self.network.token_weights(self.problem.length), self.query.sharpness
        assert weigh is not None  # without it all tokens are drawn
        return lambda t, other: weigh(k * t, k * other)

    @property
    def most_drawn(self) -> int:
        """The size of groups up to which tokens are drawn one by one."""
        length = self.problem.length
        return length if self.network.token_weights(length) is None else _ONE_BY_ONE

    def layout(self, label: int) -> Layout:
        """Return which coordinates stand for which tokens of this class."""
        informative = self.problem.informative if label > 0 else 0
        return Layout(informative, self.problem.length - informative, most=self.most_drawn)

    @property
    def _shift(self) -> float:
        """What the signal adds to the projection of a token."""
        return self.problem.strength * self.query.cosine


@functools.lru_cache(maxsize=8)
def _small_sums(features: TokenFeatures, shift: float, size: int, largest: int) -> SmallSums:
    weigh = features._weight_of_token()
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
    The sums over small tokens, which rule nearly equal weights, come after the largest token.

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

    def groups(self, log_uniforms: Float[np.ndarray, "n dimensions"]) -> list[Group]:
        """Return the groups from the logs of uniform coordinates."""
        groups = []
        for size, drawn, columns in zip(self._sizes, self._drawn, self.columns, strict=True):
            largest = largest_of(size, log_uniforms[:, columns[:drawn]])
            normals = ndtri_exp(log_uniforms[:, columns[drawn:]])
            groups.append(Group(largest, size - drawn, normals))
        return groups


Tokens = tuple[list[Group], list[Group]]
"""The groups of positives and of negatives."""


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
        positives, negatives = (
            layout.groups(np.log(even_uniforms(layout.dimensions, rng)(points)))
            for layout in layouts
        )
        yield positives, negatives


@functools.lru_cache(maxsize=8)
def _kept_tokens(R: int, L: int, points: int, most: int) -> tuple[Tokens, ...]:
    return tuple(_drawn_tokens(R, L, points, most))


def largest_of(size: int, log_uniforms: Float[np.ndarray, "n k"]) -> Float[np.ndarray, "n k"]:
    """Return the largest of so many normals, falling, by Renyi's ratios of order statistics."""
    count = log_uniforms.shape[1]
    log_chance = np.cumsum(log_uniforms / np.arange(size, size - count, -1), axis=1)
    return ndtri_exp(np.minimum(log_chance, -1e-300))
