"""Test error and attention of the weights of a network on new bags."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.model.architectures.base import Architecture, attention_of, scores_of
from sparsetoken.model.base import Problem
from sparsetoken.model.network_checks import is_symmetric, sample_loss
from sparsetoken.numerics.backend import compiled
from sparsetoken.theory.laws.task import bags_of

POINTS = 512  # of each kind of bag
OWN_POINTS = 4096  # of a task whose latent variables and noise along the directions are drawn
_HEIGHTS = 16  # nodes along the one score, shifted together in each bag
_SEED = 20250930  # any fixed number: the same new bags in every run
_STATES = 16  # in one call: descents of any number of steps share what is compiled
_BLOCK = 32  # bags at once: all that is computed of them stays in the cache
_SINGULAR = 1e-12  # a column with a smaller share of new variance brings none


class NetworkOutcome(NamedTuple):
    """Test errors, and fractions of bags whose most attended token is informative, by state.

    The last are test errors on the task of a trained start, nan without one.
    """

    test_error: np.ndarray
    attended: np.ndarray
    previous: np.ndarray

    def each(self, function: Callable[[np.ndarray], np.ndarray]) -> NetworkOutcome:
        """Return a function of each array."""
        return NetworkOutcome(*map(function, self))


class _Nodes(NamedTuple):
    """New bags, with their weights in means.

    They have coefficients and scales, places of informative tokens, targets, normals of what is
    drawn, and uniforms for Genz's products or the shift of the nodes along a score.
    """

    coefficients: Float[np.ndarray, "n L P"]
    scale: Float[np.ndarray, "n L"]
    informative: Float[np.ndarray, "n L"]
    y: np.ndarray
    normals: Float[np.ndarray, "n entries drawn"]
    uniforms: Float[np.ndarray, "n more"]
    weights: Float[np.ndarray, " n"]


def network_outcome(
    network: Architecture,
    task: Problem,
    overlaps: Float[np.ndarray, "n m P"],
    grams: Sequence[Float[np.ndarray, "n k k"]],
    c: Float[np.ndarray, "n C"],
    scramble: int = 0,
) -> NetworkOutcome:
    """Return test error and attention of the weights of some states on new bags.

    Equation: network-error. New bags have H = s M^T + noise, where M = U^T xi, the noise of a token
    has the covariance U^T S_w U, and that of what the tokens of a bag share U^T S_b U. These follow
    U^T U in `grams`; without the last, the tokens of a bag share nothing. Where targets see the
    noise along xi, rows of xi come before those of U, and it is drawn first. In readouts the scores
    are affine, so given the projections on all other columns they are Gaussian: the chance of a
    wrong class follows from their mean and covariance, the mean of a metric of one score from nodes
    along it, and only the other columns are drawn, on the nodes of a scramble. States have one axis
    before those of columns.
    """
    own = len(task.directions) if task.sees_noise else 0
    K, columns = task.outputs, range(overlaps.shape[1])
    readouts = network.readouts(K) if K == 1 or task.metric == "error" else ()
    order = [*(j for j in columns if j not in readouts), *readouts]
    places = [*range(own), *(own + j for j in order)]
    drawn = len(places) - len(readouts)
    gram, within, *between = grams
    has_effect = any(S.any() for S in between)
    noises = (within, *between) if has_effect else (within,)
    roots = [np.array([_triangular(S) for S in noise[:, places][..., places]]) for noise in noises]
    # Of xi alone it is the same in all states, apart from rounding.
    along = tuple(tuple(map(tuple, root[0, :own, :own].round(12).tolist())) for root in roots)
    mixed = task.shuffled and not is_symmetric(network, task.length, K)
    nodes = _nodes(task, task.length + has_effect, drawn, scramble, mixed, along)
    parts, count = [], len(overlaps)
    for first in range(0, count, _STATES):
        some = np.minimum(np.arange(first, first + _STATES), count - 1)
        rows = [root[some][:, own:] for root in roots]
        at = (overlaps[some][:, order], rows, c[some], gram[some])
        parts.append(_outcomes(at, nodes, network, task, tuple(order), drawn))
    error, attended = (np.concatenate(x)[:count] for x in zip(*parts, strict=True))
    return NetworkOutcome(error, attended, np.full(count, math.nan))


def covariances(
    task: Problem, overlaps: Float[np.ndarray, "n m P"], gram: Float[np.ndarray, "n m m"]
) -> tuple[np.ndarray, np.ndarray]:
    """Return U^T U and the covariance of isotropic noise, along xi too where targets see it."""
    if not task.sees_noise:
        return gram, gram
    own = np.broadcast_to(np.eye(overlaps.shape[2]), (len(gram), *[overlaps.shape[2]] * 2))
    return gram, np.block([[own, overlaps.swapaxes(1, 2)], [overlaps, gram]])


def _triangular(S: Float[np.ndarray, "m m"]) -> Float[np.ndarray, "m m"]:
    """Return a lower triangular root of a covariance that may be singular."""
    root, left = np.zeros_like(S), S.copy()
    for j in range(len(S)):
        if left[j, j] > _SINGULAR * S[j, j] > 0:
            root[j:, j] = left[j:, j] / np.sqrt(left[j, j])
            left = left - np.outer(root[:, j], root[:, j])
    return root


@functools.lru_cache(maxsize=8)
def _nodes(
    task: Problem,
    entries: int,
    drawn: int,
    scramble: int,
    mixed: bool,
    along: tuple[tuple[tuple[float, ...], ...], ...],
) -> _Nodes:
    """Return evenly spread new bags, of each kind its own.

    The noise along xi has given roots of its covariances, of tokens and of effects of bags.
    """
    L = task.length
    more = max(task.outputs - 2, 0) if task.metric == "error" else 1
    points = OWN_POINTS if task.sees_noise else POINTS
    if not (task.uniforms or entries * drawn or more or mixed or task.sees_noise):
        points = 1  # every bag of a kind is alike
    rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(scramble,)))
    bags = bags_of(task, entries, drawn, rng, more)(points)
    noise: Any = 0.0
    if task.sees_noise:
        of_token, *of_bag = (np.array(root) for root in along)
        noise = bags.normals[:, :L, : len(of_token)] @ of_token.T
        for root in of_bag:
            noise = noise + bags.normals[:, L:, : len(root)] @ root.T
    _, y = bags.seen(noise)
    coefficients = bags.latent["coefficients"]
    informative = bags.latent.get("informative", np.zeros(bags.scale.shape))
    informative = (informative != 0).astype(float)
    if mixed:
        orders = rng.random(informative.shape).argsort(axis=1)
        coefficients = np.take_along_axis(coefficients, orders[..., None], axis=1)
        informative = np.take_along_axis(informative, orders, axis=1)
    of_bags = bags.normals, bags.uniforms, bags.weights
    return _Nodes(coefficients, bags.scale, informative, y, *of_bags)


@compiled("network", "task", "order", "drawn")
def _outcomes(
    states: Any,
    nodes: _Nodes,
    network: Architecture,
    task: Problem,
    order: tuple[int, ...],
    drawn: int,
) -> tuple[Any, Any]:
    """Return test errors and shares of attended tokens of states."""
    import jax  # on first use, as in what follows
    import jax.numpy as jnp
    from jax.scipy.special import ndtri

    L, K, place = task.length, task.outputs, np.argsort(order)
    seen = drawn - (len(task.directions) if task.sees_noise else 0)  # columns that are drawn
    metric = None if task.metric == "error" else sample_loss(task.metric, K)

    def of_bag(state: Any, bag: _Nodes) -> tuple[Any, Any]:
        overlaps, roots, c, gram = state
        noise = _times(bag.normals[:L], roots[0][:, :drawn])
        for root in roots[1:]:
            noise = noise + _times(bag.normals[L:], root[:, :drawn])
        scale = bag.scale[:, None]
        H = _times(bag.coefficients, overlaps) + scale * noise

        def scores(readouts: Any) -> Any:
            ordered = jnp.concatenate([H[:, :seen], readouts], axis=1)
            return scores_of(network, ordered[:, place], c, gram, K)

        means = scores(H[:, seen:])
        by_readouts = jax.jacrev(scores)(H[:, seen:]) * scale  # (K, L, readouts)
        parts = [_times(by_readouts, roots[0][seen:, drawn:].T).reshape(K, -1)]
        for root in roots[1:]:
            parts.append(_times(by_readouts.sum(axis=1), root[seen:, drawn:].T))
        spread = jnp.concatenate(parts, axis=1)
        if metric is None:
            value = _error(means, spread, bag.y, bag.uniforms)
        elif seen < len(order):
            width = jnp.sqrt((spread**2).sum())
            heights = ndtri((jnp.arange(_HEIGHTS) + bag.uniforms[0]) / _HEIGHTS)
            value = jax.vmap(lambda g: metric(means + width * g, bag.y))(heights).mean()
        else:
            value = metric(means, bag.y)
        weights = attention_of(network, H[:, place], c, gram)
        if weights is None:
            return value, jnp.nan
        most = weights >= weights.max()
        return value, jnp.where(most, bag.informative, 0.0).sum() / jnp.where(most, 1.0, 0.0).sum()

    def of_state(state: Any, nodes: _Nodes) -> tuple[Any, Any]:
        def of_block(bags: _Nodes) -> tuple[Any, Any]:
            values, attended = jax.vmap(functools.partial(of_bag, state))(bags)
            return bags.weights @ values, (bags.weights * bags.informative.max(axis=1)) @ attended

        there = (nodes.weights * nodes.informative.max(axis=2)).sum()
        value, attended = (x.sum() for x in jax.lax.map(of_block, nodes))
        return value, attended / there

    size = math.gcd(len(nodes.weights), _BLOCK)
    bags = jax.tree.map(lambda x: x.reshape(len(x) // size, size, *x.shape[1:]), nodes)
    return jax.lax.map(lambda state: of_state(state, bags), states)


def _times(rows: Any, root: Any) -> Any:
    """Return rows @ root^T by sums, which compile better than products of few rows."""
    return (rows[..., None, :] * root).sum(axis=-1)


def _error(scores: Any, root: Any, target: Any, uniforms: Any) -> Any:
    """Return the chance of the wrong class for scores with the covariance root root^T.

    For K > 2 classes, the chance that the score of the class is the largest is a product of chances
    of one difference after the other, given those before it (Genz, Journal of Computational and
    Graphical Statistics 1, 1992).
    """
    import jax.numpy as jnp
    from jax.scipy.special import ndtri

    if len(scores) == 1:
        return 1 - _above_zero(target * scores[0], jnp.sqrt((root**2).sum()))
    others = jnp.arange(len(scores) - 1)
    others = jnp.where(others < target, others, others + 1)
    means = scores[target] - scores[others]
    B = root[target] - root[others]
    S, right = B @ B.T, 1.0
    done: list[tuple[tuple[Any, ...], Any]] = []
    for j in range(len(scores) - 1):
        mean, variance = means[j], S[j, j]
        row: list[Any] = []
        for i, (column, normal) in enumerate(done):
            known = sum(a * b for a, b in zip(row, column, strict=False))
            row.append((S[j, i] - known) / column[i])
            mean, variance = mean + row[i] * normal, variance - row[i] ** 2
        width = jnp.sqrt(jnp.maximum(variance, _SINGULAR * S[j, j]))
        chance = _above_zero(mean, width)
        right = right * chance
        if j < len(scores) - 2:
            normal = -ndtri(jnp.clip(uniforms[j] * chance, 1e-300, 1.0))
            done.append(((*row, jnp.where(width > 0, width, 1.0)), normal))
    sure = jnp.where(means.min() >= 0, 1 / (1 + (means == 0).sum()), 0.0)
    return 1 - jnp.where(jnp.trace(S) > 0, right, sure)


def _above_zero(mean: Any, width: Any) -> Any:
    """Return P(mean + width g > 0); a tie counts one half."""
    import jax.numpy as jnp
    from jax.scipy.special import ndtr

    sure = jnp.heaviside(mean, 0.5)
    return jnp.where(width > 0, ndtr(mean / jnp.where(width > 0, width, 1.0)), sure)
