"""Test error and attention of the weights of a network on new bags."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import ndtr, ndtri
from jaxtyping import Float, Int
from scipy import special

from sparsetoken.model.concepts import TaskLaw
from sparsetoken.model.network_checks import is_symmetric
from sparsetoken.model.networks import Architecture
from sparsetoken.numerics.quadrature import MOST_DIMENSIONS, sobol_sequence
from sparsetoken.theory.dynamics.replica import States
from sparsetoken.theory.dynamics.samples import placed_signals

POINTS = 512
_SEED = 20250930  # any fixed number: the same new bags in every run
_STATES = 16  # in one call: descents of any number of steps share what is compiled
_SINGULAR = 1e-12  # a column with a smaller share of new variance brings none


class NetworkOutcome(NamedTuple):
    """Test errors, and fractions of bags whose most attended token is informative, by state."""

    test_error: np.ndarray
    attended: np.ndarray

    def each(self, function: Callable[[np.ndarray], np.ndarray]) -> NetworkOutcome:
        """Return a function of each array."""
        return NetworkOutcome(*map(function, self))


class _Nodes(NamedTuple):
    """New bags of each kind: normals of what is drawn, uniforms for Genz's products, and orders.

    The orders of the tokens are empty for a network to which they are all alike.
    """

    normals: Float[np.ndarray, "kinds n entries drawn"]
    uniforms: Float[np.ndarray, "kinds n K-2"]
    orders: Int[np.ndarray, "kinds n L"]


def network_outcome(
    network: Architecture, law: TaskLaw, states: States, scramble: int = 0
) -> NetworkOutcome:
    """Return test error and attention of the weights of some states on new bags.

    Equation: network-error. New bags have H = s theta M^T + noise, where M = U^T xi, the noise of a
    token has the covariance U^T S_w U, and that of what the tokens of a bag share U^T S_b U. In
    readouts the scores are affine, so given the projections on all other columns they are Gaussian:
    the chance of an error follows from their mean and covariance, and only the other columns are
    drawn, on the `POINTS` nodes of a scramble for each kind of bag. States have one axis before
    those of columns.
    """
    readouts = network.readouts(law.outputs)
    columns = range(states.overlaps.shape[1])
    order = [*(j for j in columns if j not in readouts), *readouts]
    drawn = len(order) - len(readouts)
    has_effect = bool(states.between.any())
    grams = (states.within, states.between) if has_effect else (states.within,)
    roots = [np.array([_triangular(S) for S in gram[:, order][..., order]]) for gram in grams]
    mixed = not is_symmetric(network, law.length, law.outputs)
    nodes = _nodes(law, law.length + has_effect, drawn, scramble, mixed)
    outcome, count = _compiled(network, law, tuple(order), drawn), len(states.loss)
    parts = []
    for first in range(0, count, _STATES):
        some = np.minimum(np.arange(first, first + _STATES), count - 1)
        at = states.overlaps[some][:, order], [root[some] for root in roots], states.c[some]
        with jax.enable_x64(True):
            parts.append(outcome(at, nodes))
    return NetworkOutcome(*(np.concatenate(x)[:count] for x in zip(*parts, strict=True)))


def _triangular(S: Float[np.ndarray, "m m"]) -> Float[np.ndarray, "m m"]:
    """Return a lower triangular root of a covariance that may be singular."""
    root, left = np.zeros_like(S), S.copy()
    for j in range(len(S)):
        if left[j, j] > _SINGULAR * S[j, j] > 0:
            root[j:, j] = left[j:, j] / np.sqrt(left[j, j])
            left = left - np.outer(root[:, j], root[:, j])
    return root


@functools.lru_cache(maxsize=8)
def _nodes(law: TaskLaw, entries: int, drawn: int, scramble: int, mixed: bool) -> _Nodes:
    """Return evenly spread new bags, of each kind its own."""
    kinds, more = len(law.rates), max(law.outputs - 2, 0)
    dimensions = entries * drawn + more
    points = POINTS if dimensions or mixed else 1  # else every bag of a kind is alike
    rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(scramble,)))
    if 0 < dimensions <= MOST_DIMENSIONS:
        uniforms = np.stack([sobol_sequence(dimensions, rng).random(points) for _ in range(kinds)])
    else:
        uniforms = rng.random((kinds, points, dimensions))
    inside = np.clip(uniforms, 2.0**-31, 1 - 2.0**-31)  # 0 has no normal
    normals = special.ndtri(inside[..., more:]).reshape(kinds, points, entries, drawn)
    orders = rng.random((kinds, points, law.length if mixed else 0)).argsort(axis=2)
    return _Nodes(normals, inside[..., :more], orders)


@functools.lru_cache(maxsize=64)
def _compiled(
    network: Architecture, law: TaskLaw, order: tuple[int, ...], drawn: int
) -> Callable[[Any, _Nodes], tuple[Any, Any]]:
    """Return what maps states and nodes to test errors and shares of attended tokens."""
    L, place = law.length, np.argsort(order)
    signals, rates = placed_signals(law), np.array(law.rates)
    holding = np.array(law.patterns).sum(axis=1)
    informative = holding > 0

    def of_bag(state: Any, kind: int, nodes: _Nodes) -> tuple[Any, Any]:
        overlaps, (within, *between), c = state
        token, bag = nodes.normals[:L], nodes.normals[L:]
        order = nodes.orders if nodes.orders.shape[0] else jnp.arange(L)
        H = _times(jnp.asarray(signals[kind]).T[order], overlaps)
        H = H + _times(token, within[:, :drawn])
        if between:
            H = H + _times(bag, between[0][:, :drawn])

        def scores(readouts: Any) -> Any:
            ordered = jnp.concatenate([H[:, :drawn], readouts], axis=1)
            return network.scores(ordered[:, place], c, law.outputs)

        means = scores(H[:, drawn:])
        by_readouts = jax.jacrev(scores)(H[:, drawn:])  # (K, L, readouts)
        own = _times(by_readouts, within[drawn:, drawn:].T)
        roots = [own.reshape(len(own), -1)]
        if between:
            roots.append(_times(by_readouts.sum(axis=1), between[0][drawn:, drawn:].T))
        error = _error(means, jnp.concatenate(roots, axis=1), law.targets[kind], nodes.uniforms)
        weights = network.attention(H[:, place], c) if informative[kind] else None
        if weights is None:
            return error, jnp.nan
        most = weights >= weights.max()
        return error, (most * (order < holding[kind])).sum() / most.sum()

    def of_state(state: Any, nodes: _Nodes) -> tuple[Any, Any]:
        errors, attended = [], []
        for kind in range(len(rates)):
            own = _Nodes(*(part[kind] for part in nodes))
            error, share = jax.vmap(functools.partial(of_bag, state, kind))(own)
            errors.append(error.mean())
            attended.append(share.mean())
        there = rates * informative
        shares = sum(rate * share for rate, share in zip(there, attended, strict=True) if rate)
        return rates @ jnp.stack(errors), shares / there.sum() if there.any() else jnp.nan

    return jax.jit(lambda states, nodes: jax.lax.map(lambda s: of_state(s, nodes), states))


def _times(rows: Any, root: Any) -> Any:
    """Return rows @ root^T by sums, which compile better than products of few rows."""
    return (rows[..., None, :] * root).sum(axis=-1)


def _error(scores: Any, root: Any, target: int, uniforms: Any) -> Any:
    """Return the chance of the wrong class for scores with the covariance root root^T.

    For K > 2 classes, the chance that the score of the class is the largest is a product of chances
    of one difference after the other, given those before it (Genz, Journal of Computational and
    Graphical Statistics 1, 1992).
    """
    if len(scores) == 1:
        return 1 - _above_zero(target * scores[0], jnp.sqrt((root**2).sum()))
    others = [k for k in range(len(scores)) if k != target]
    means = scores[target] - scores[jnp.array(others)]
    B = root[target] - root[jnp.array(others)]
    S, right = B @ B.T, 1.0
    done: list[tuple[tuple[Any, ...], Any]] = []
    for j in range(len(others)):
        mean, variance = means[j], S[j, j]
        row: list[Any] = []
        for i, (column, normal) in enumerate(done):
            known = sum(a * b for a, b in zip(row, column, strict=False))
            row.append((S[j, i] - known) / column[i])
            mean, variance = mean + row[i] * normal, variance - row[i] ** 2
        width = jnp.sqrt(jnp.maximum(variance, _SINGULAR * S[j, j]))
        chance = _above_zero(mean, width)
        right = right * chance
        if j < len(others) - 1:
            normal = -ndtri(jnp.clip(uniforms[j] * chance, 1e-300, 1.0))
            done.append(((*row, jnp.where(width > 0, width, 1.0)), normal))
    sure = jnp.where(means.min() >= 0, 1 / (1 + (means == 0).sum()), 0.0)
    return 1 - jnp.where(jnp.trace(S) > 0, right, sure)


def _above_zero(mean: Any, width: Any) -> Any:
    """Return P(mean + width g > 0); a tie counts one half."""
    sure = jnp.heaviside(mean, 0.5)
    return jnp.where(width > 0, ndtr(mean / jnp.where(width > 0, width, 1.0)), sure)
