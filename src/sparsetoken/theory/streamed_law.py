"""Nodes of the feature law in any number, block by block, drawn where they count.

Means over the feature law of what happens rarely (a violated margin) need many plain nodes.
Here a few leading coordinates of scrambled Sobol points are drawn from a proposal, a normal
law fitted to where the integrand is large, and weighted by the ratio of densities.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import log_ndtr, ndtri, ndtri_exp
from scipy.stats import qmc

from sparsetoken.attention import ACTIVATIONS, check_exponent
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.theory.feature_law import FeatureLaw
from sparsetoken.theory.proposal import Proposal
from sparsetoken.training import Query

__all__ = ["SCRAMBLES", "ClassNodes", "Coordinates", "Features", "sampled_features"]

SCRAMBLES = 16
_SEED = 20250929  # any fixed number: the same nodes in every run
_BLUNT = 1.0  # sharpness below which the sum of tokens may rule softmax weights
_BITS = 30
_BLOCK = 2**17  # tokens in memory at once
_LARGEST_LOG_WEIGHT = 300.0  # squares are finite

Coordinates = Literal["ordered", "summed"]
"""What the leading coordinates stand for in each group of tokens (with the signal, without).

``ordered``: the largest tokens, which decide sharp weights. ``summed``: the sum of the
tokens, which decides smooth ones.
"""


@dataclasses.dataclass(frozen=True)
class Features:
    """How the tokens of a sample become its three scalars.

    Attributes
    ----------
    problem : SparseTokenProblem
    query : Query
    weigh : callable
        Maps scores of shape (nodes, L) to pooling weights of that shape.
    shared : float
        Variance of the mean token: 1/L where the weights do not change when all scores
        move together, so that it is independent of the nodes; otherwise 0.
    coordinates : tuple of {"ordered", "summed"}
        Worth trying.
    needs_bias : bool
        Whether a bias is sought.
    infinite_cost : bool
        Whether E[1/C^2] is infinite, and with it what a bias costs.
    """

    problem: SparseTokenProblem
    query: Query
    weigh: Callable[[np.ndarray], np.ndarray]
    shared: float
    coordinates: tuple[Coordinates, ...]
    needs_bias: bool = True
    infinite_cost: bool = False

    def law(self, g: np.ndarray, label: int, weight: np.ndarray) -> FeatureLaw:
        """Return one scramble of the feature law at noise g of shape (nodes, L)."""
        informative, s = self.informative(label), self.query.cosine
        theta = self.problem.strength
        tokens = g.copy()
        tokens[:, :informative] += theta * s
        a = self.weigh(self.query.sharpness * tokens)
        A, B = a[:, :informative].sum(axis=1), np.einsum("nl,nl->n", a, g)
        if self.shared:
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


def sampled_features(
    model: str, problem: SparseTokenProblem, query: Query, activation: str
) -> Features:
    """Return the features of attention or of elementwise weights.

    Only for directions of features and their lengths: elementwise weights of a sample that
    are all below e^-300 or some above e^300 are scaled to that size together.
    """
    L, k = problem.length, query.sharpness
    if model == "attention":
        few: tuple[Coordinates, ...] = ("summed", "ordered") if k < _BLUNT else ("ordered",)
        return Features(problem, query, _softmax, 1 / L, few)
    check_exponent(activation, k, problem.strength * abs(query.cosine))
    weigh = _LOG_WEIGHTS.get(activation, ACTIVATIONS[activation])
    both: tuple[Coordinates, ...] = ("summed", "ordered")
    # Weights that pass through 0 do so in L dimensions; 1 + erf(k t) falls as e^(-k^2 t^2).
    vanishing = {"tanh": L <= 2, "linear": L <= 2 and k > 0}.get(activation, False)
    infinite = vanishing or (activation == "erf" and 4 * k**2 >= L)
    return Features(problem, query, weigh, 0.0, both, not vanishing, infinite)


def _softmax(scores: np.ndarray) -> np.ndarray:
    a = np.exp(scores - scores.max(axis=1, keepdims=True))
    a /= a.sum(axis=1, keepdims=True)
    return a


def _log_erf(x: np.ndarray) -> np.ndarray:
    """Return log(1 + erf(x))."""
    return math.log(2) + log_ndtr(math.sqrt(2) * x)


def _within_range(log_weights: np.ndarray) -> np.ndarray:
    top = log_weights.max(axis=1, keepdims=True)
    limited = np.clip(top, -_LARGEST_LOG_WEIGHT, _LARGEST_LOG_WEIGHT)
    return np.exp(log_weights - (top - limited))


_LOG_WEIGHTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "erf": lambda scores: _within_range(_log_erf(scores)),
    "exp": _within_range,
}


class Block(NamedTuple):
    """Some nodes of one scramble."""

    scramble: int
    law: FeatureLaw
    leading: Float[np.ndarray, "n size"]


@dataclasses.dataclass(frozen=True)
class ClassNodes:
    """A supply of nodes of one class.

    Attributes
    ----------
    features : Features
    label : {1, -1}
    proposal : Proposal
        Of as many coordinates as `Proposal.standard` has.
    coordinates : {"ordered", "summed"}
    stage : int
        Other nodes for each whole number.
    """

    features: Features
    label: int
    proposal: Proposal
    coordinates: Coordinates
    stage: int

    def stream(self) -> NodeStream:
        """Return the nodes from the first on, the same at each call."""
        return NodeStream(self)


class NodeStream:
    """The nodes of a class in blocks, without end."""

    def __init__(self, nodes: ClassNodes) -> None:
        self._nodes = nodes
        problem = nodes.features.problem
        pi = problem.positive_rate
        self._chance = pi if nodes.label > 0 else 1 - pi
        self._groups = _alternating(nodes.features.informative(nodes.label), problem.length)
        self._most = 2 ** max(6, int(math.log2(_BLOCK / problem.length)))
        seeds = np.random.SeedSequence([_SEED, nodes.stage, nodes.label > 0]).spawn(SCRAMBLES)
        generators = map(np.random.default_rng, seeds)
        self._sobol = [qmc.Sobol(problem.length, bits=_BITS, rng=rng) for rng in generators]

    def blocks(self, points: int) -> Iterator[Block]:
        """Yield the next `points` nodes of each scramble; a weight is a chance times a ratio.

        Weights add up to about `points` times the chance of the class.
        """
        nodes, size = self._nodes, len(self._nodes.proposal.mean)
        for scramble, sobol in enumerate(self._sobol):
            for first in range(0, points, self._most):
                # Middles of the cells of the net: an end would be a normal of 37 sd.
                uniforms = sobol.random(min(self._most, points - first)) + 0.5 ** (_BITS + 1)
                z, log_ratio = nodes.proposal.draw(uniforms[:, :size])
                g = _TOKENS[nodes.coordinates](z, uniforms[:, size:], self._groups)
                law = nodes.features.law(g, nodes.label, self._chance * np.exp(log_ratio))
                yield Block(scramble, law, z)


Groups = tuple[np.ndarray, ...]


def _alternating(informative: int, length: int) -> Groups:
    """Return the columns of each group; the groups take turns for the best columns."""
    rank = np.concatenate([np.arange(informative), np.arange(length - informative)])
    column = np.empty(length, dtype=int)
    column[np.argsort(rank, kind="stable")] = np.arange(length)
    return column[:informative], column[informative:]


def _ordered(z: np.ndarray, rest: np.ndarray, groups: Groups) -> np.ndarray:
    """Return tokens, largest first in each group, by Renyi's ratios of order statistics."""
    logs = np.concatenate([log_ndtr(z), np.log(rest)], axis=1)
    columns = []
    for group in groups:
        log_chance = np.cumsum(logs[:, group] / np.arange(len(group), 0, -1), axis=1)
        columns.append(ndtri_exp(np.minimum(log_chance, -1e-300)))
    return np.concatenate(columns, axis=1)


def _summed(z: np.ndarray, rest: np.ndarray, groups: Groups) -> np.ndarray:
    """Return tokens, the first coordinate of each group being their sum over sqrt(size)."""
    normals = np.concatenate([z, ndtri(rest)], axis=1)
    return np.concatenate([_reflected(normals[:, group]) for group in groups], axis=1)


def _reflected(z: np.ndarray) -> np.ndarray:
    """Apply the reflection that exchanges e_1 and (1, ..., 1)/sqrt(n)."""
    n = z.shape[1]
    if n < 2:
        return z
    axis = np.full(n, -1 / math.sqrt(n))
    axis[0] += 1
    axis /= np.linalg.norm(axis)
    return z - 2 * np.outer(z @ axis, axis)


_TOKENS: dict[Coordinates, Callable[[np.ndarray, np.ndarray, Groups], np.ndarray]] = {
    "ordered": _ordered,
    "summed": _summed,
}
