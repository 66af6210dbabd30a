"""The samples that are followed: normal coordinates, signals in their tokens, slopes of losses."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from sparsetoken.model.architectures.base import Architecture, scores_of
from sparsetoken.model.network_checks import sample_loss
from sparsetoken.model.task_law import TaskLaw
from sparsetoken.model.training import Training
from sparsetoken.numerics.quadrature import BITS, MOST_DIMENSIONS, sobol_sequence

_SEED = 20250929  # any fixed number: the same samples in every run
_LATENT_SEED = 20251126  # of the latent variables of tasks that ask for random numbers
EVEN_ROWS = 9  # coordinates drawn evenly: signal, start, and the gradients of three steps


class Normals:
    """Independent N(0, 1) coordinates of the bags of half a replica, row after row.

    The first rows are a Sobol sequence with a random digital shift in each kind of bag: they decide
    the first steps, where the error falls many times. Later rows are pseudo-random. A row has
    `entries` coordinates of each bag: one for each token, and one for the effect of the bag. Of
    each kind there are `size` samples, a power of two, and `even` rows are spread evenly. A path of
    numbers says which samples they are: replica, half, and step where each has its own. The first
    rows are taken in one call.

    Attributes
    ----------
    uniforms : array of shape (n, k)
        Numbers of which the latent variables of bags are made, of tasks that ask for them.
    latents : numpy.random.Generator
        For latent variables of other tasks.
    """

    def __init__(
        self, law: TaskLaw, entries: int, size: int, even: int, path: tuple[int, ...]
    ) -> None:
        kinds = len(law.rates)
        self._shape, self._kinds = (entries, kinds * size), kinds
        self._even, self.uniforms, state = _beginning(
            even, law.uniforms, entries, kinds, size, path
        )
        self._rng = np.random.default_rng(0)
        self._rng.bit_generator.state = state
        self.latents = np.random.default_rng(np.random.SeedSequence(_LATENT_SEED, spawn_key=path))
        self._used = 0

    def take(self, rows: int) -> Float[np.ndarray, "rows entries n"]:
        """Return the next rows."""
        first, self._used = self._used, self._used + rows
        if self._used <= len(self._even):
            return self._even[first : self._used]
        return self._rng.standard_normal((rows, *self._shape), dtype=np.float32)

    def batches(self, count: int) -> Int[np.ndarray, " n"]:
        """Return the batch of each sample, equally many of each kind in each."""
        size = self._shape[1] // self._kinds
        own = np.arange(size) % count
        return np.concatenate([self._rng.permutation(own) for _ in range(self._kinds)])

    def order(self, length: int) -> Int[np.ndarray, "L n"]:
        """Return a random order of the tokens of each sample."""
        return np.argsort(self._rng.random((length, self._shape[1])), axis=0)


@functools.lru_cache(maxsize=4)  # by a whole replica and its halves, in a search more often
def _beginning(
    most: int, uniforms: int, entries: int, kinds: int, size: int, path: tuple[int, ...]
) -> tuple[Float[np.ndarray, "rows entries n"], Float[np.ndarray, "n k"], Any]:
    """Return evenly spread rows, uniform numbers spread with them, and the generator's state after.

    The rows, at most so many, and the uniform numbers are not to be written to.
    """
    rng = np.random.default_rng(np.random.SeedSequence(_SEED, spawn_key=path))
    rows = min(most, (MOST_DIMENSIONS - uniforms) // entries)
    even = np.empty((rows, entries, kinds * size))
    u = np.empty((kinds * size, uniforms))
    for first in range(0, kinds * size, size) if rows or uniforms else ():
        spread = _shifted(uniforms + rows * entries, size, rng)
        u[first : first + size] = spread[:uniforms].T
        normals = ndtri(spread[uniforms:])
        even[:, :, first : first + size] = normals.reshape(rows, entries, size)
    even.flags.writeable = u.flags.writeable = False
    return even, u, rng.bit_generator.state


def _shifted(rows: int, size: int, rng: np.random.Generator) -> Float[np.ndarray, "rows size"]:
    """Return evenly spread independent uniform numbers."""
    shift = rng.integers(2**BITS, size=(rows, 1), dtype=np.uint32)
    return ((_points(rows, size) ^ shift) + 0.5) / 2**BITS


@functools.lru_cache(maxsize=4)
def _points(rows: int, size: int) -> np.ndarray:
    """Return a Sobol sequence as whole numbers below 2^30."""
    points = sobol_sequence(rows).random(size)
    return np.ascontiguousarray((points * 2**BITS).astype(np.uint32).T)


class Slopes(NamedTuple):
    """The loss of each sample, and its slopes by projections, further weights and U^T U.

    Those by U^T U are None for networks that do not depend on it.
    """

    losses: Float[np.ndarray, " n"]
    by_H: Float[np.ndarray, "m L n"]
    by_c: Float[np.ndarray, "C n"]
    by_gram: Float[np.ndarray, "m m n"] | None


def slopes_of(
    training: Training,
    H: Float[np.ndarray, "m L n"],
    c: np.ndarray,
    gram: Float[np.ndarray, "m m"],
    y: np.ndarray,
    pieces: int = 1,
) -> Slopes:
    """Return the loss of each sample and its slopes.

    Samples in one piece or in several equal ones share what is compiled for a piece.
    """
    import jax  # on first use

    compiled = _compiled(training.network, training.loss, training.law.outputs)
    size = len(y) // pieces
    some = [slice(first, first + size) for first in range(0, len(y), size)]
    with jax.enable_x64(True):
        parts = [compiled(H[..., own], c, gram, y[own]) for own in some]
    joined = [np.concatenate(x, axis=-1) for x in zip(*parts, strict=True)]
    return Slopes(*joined, *(() if training.network.uses_gram else (None,)))


@functools.lru_cache(maxsize=64)
def _compiled(network: Architecture, loss: Any, outputs: int) -> Callable[..., Any]:
    """Return what maps projections, weights, Gram matrix and targets to losses and slopes."""
    import jax

    of_sample, count = sample_loss(loss, outputs), 3 if network.uses_gram else 2

    def of_bag(H: Any, c: Any, gram: Any, y: Any) -> tuple[Any, ...]:
        def value(H: Any, c: Any, gram: Any) -> Any:
            return of_sample(scores_of(network, H.T, c, gram, outputs), y)

        loss, slopes = jax.value_and_grad(value, argnums=tuple(range(count)))(H, c, gram)
        return (loss, *slopes)

    out_axes = (0, 2, 1, 2)[: count + 1]
    return jax.jit(jax.vmap(of_bag, in_axes=(2, None, None, 0), out_axes=out_axes))
