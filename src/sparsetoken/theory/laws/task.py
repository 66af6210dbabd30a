"""Bags of a task with the noise of their tokens, evenly spread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from scipy.special import ndtri

from sparsetoken.model.base import Latent, Problem
from sparsetoken.numerics.quadrature import even_uniforms


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
