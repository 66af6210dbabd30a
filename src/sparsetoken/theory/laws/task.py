"""Bags of a task with the noise of their tokens, evenly spread."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from sparsetoken.model.architectures.base import Architecture
from sparsetoken.model.base import Latent, Problem
from sparsetoken.model.network_checks import is_symmetric
from sparsetoken.numerics.quadrature import even_uniforms

_SEED = 20261127  # any fixed number: the same nodes in every run


class Bags(NamedTuple):
    """Bags with their weights in means: of each kind equally many, one kind after the other.

    The noise of a token is its scale times normals; uniforms are numbers for anything else.
    """

    task: Problem
    latent: Latent
    scale: Float[np.ndarray, "n L"]
    normals: Float[np.ndarray, "n entries columns"]
    uniforms: Float[np.ndarray, "n more"]
    weights: Float[np.ndarray, " n"]

    def seen(self, noise: Any) -> tuple[Float[np.ndarray, "n L P"], np.ndarray]:
        """Return projections on the directions, of noise of the scale 1 along them, and targets."""
        Z = self.latent["coefficients"] + self.scale[..., None] * noise
        return Z, self.task.targets(self.latent, Z)


def bags_of(
    task: Problem, entries: int, columns: int, rng: np.random.Generator, more: int = 0
) -> Callable[[int], Bags]:
    """Return what draws the next bags, so many of each kind.

    Kinds have evenly spread numbers of their own. Entries of a bag are its tokens, and its effect
    if it has one.
    """
    own = task.uniforms
    dimensions = own + more + entries * columns
    sequences = [even_uniforms(dimensions, rng) for _ in task.rates]

    def draw(size: int) -> Bags:
        u = np.concatenate([drawn(size) for drawn in sequences])
        latent = task.of_each_kind(size, rng, u[:, :own])
        scale = np.asarray(latent.get("scale", np.ones((len(u), task.length))), float)
        normals = ndtri(u[:, own + more :]).reshape(len(u), entries, columns)
        weights = np.repeat(np.array(task.rates) / size, size)
        return Bags(task, latent, scale, normals, u[:, own : own + more], weights)

    return draw


class Nodes(NamedTuple):
    """Bags with their weights in means: of each kind equally many.

    Attributes
    ----------
    Z : array of shape (n, L, P)
    scale : array of shape (n, L)
    y : array
    g : array of shape (n, L, m)
        Normals of the projections on the columns beside the signals.
    weights : array of shape (n,)
    """

    Z: Float[np.ndarray, "n L P"]
    scale: Float[np.ndarray, "n L"]
    y: np.ndarray
    g: Float[np.ndarray, "n L m"]
    weights: Float[np.ndarray, " n"]


@functools.lru_cache(maxsize=8)
def nodes_of(network: Architecture, task: Problem, size: int, scramble: int) -> Nodes:
    """Return bags as a network sees them, spread evenly.

    There are `size` of each of one or two kinds; more kinds have as many together as two. Tokens
    that stand in a random order are put into it if it matters to the network.
    """
    P, m = len(task.directions), len(network.column_names(task.outputs))
    each = 2 ** int(math.log2(2 * size / max(len(task.rates), 2)))
    rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=(scramble,)))
    bags = bags_of(task, task.length, P + m, rng)(each)
    Z, y = bags.seen(bags.normals[..., :P])
    if task.shuffled and not is_symmetric(network, task.length, task.outputs):
        order = rng.random(bags.scale.shape).argsort(axis=1)
        Z = np.take_along_axis(Z, order[..., None], axis=1)
    return Nodes(Z, bags.scale, y, np.ascontiguousarray(bags.normals[..., P:]), bags.weights)
