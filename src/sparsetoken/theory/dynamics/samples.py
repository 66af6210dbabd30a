"""The samples that are followed: normal coordinates, signals in their tokens, slopes of losses."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import ndtri

from sparsetoken.model.architectures.base import Architecture, scores_of
from sparsetoken.model.base import Problem
from sparsetoken.model.network_checks import sample_loss
from sparsetoken.model.training import Training
from sparsetoken.numerics.backend import compiled
from sparsetoken.numerics.quadrature import BITS, MOST_DIMENSIONS, sobol_sequence

_SEED = 20250929  # any fixed number: the same samples in every run
_LATENT_SEED = 20251126  # of the latent variables of tasks that ask for random numbers
_BLOCK = 64  # samples at once: all that is computed of them stays in the cache
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
        self, task: Problem, entries: int, size: int, even: int, path: tuple[int, ...]
    ) -> None:
        kinds = len(task.rates)
        self._shape, self._kinds = (entries, kinds * size), kinds
        self._even, self.uniforms, state = _beginning(
            even, task.uniforms, entries, kinds, size, path
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


class Samples(NamedTuple):
    """What the slopes of samples depend on beside the weights; samples come last.

    They are coefficients of the tokens along the signals, scales of their noise, which may be one
    for all tokens, targets, and the weights of samples in a mean, > 0.
    """

    signals: Float[np.ndarray, "P L n"]
    scale: Float[np.ndarray, "#L n"]
    y: np.ndarray
    weights: Float[np.ndarray, " n"]


class Slopes(NamedTuple):
    """The mean loss of samples, and the slopes of that of a batch.

    Those by the noise are of each sample. By U^T U they are 0 for networks that do not depend on
    it.
    """

    loss: float
    by_noise: Float[np.ndarray, "A m entries n"]
    by_overlaps: Float[np.ndarray, "m P"]
    by_c: Float[np.ndarray, " C"]
    by_gram: Float[np.ndarray, "m m"]


def slopes_of(
    training: Training,
    pieces: Sequence[Samples],
    noise: Float[np.ndarray, "A m entries n"],
    widths: Float[np.ndarray, "2 A"],
    at: Sequence[np.ndarray],
    shares: Float[np.ndarray, " n"],
) -> Slopes:
    """Return the mean loss of samples and the slopes of that of a batch.

    Parameters
    ----------
    training : Training
    pieces : sequence of Samples
        Equal pieces share what is compiled.
    noise : array of shape (A, m, entries, n)
        Projections of the noise of each atom on the columns, times the roots of the weights of the
        samples. Entries are the tokens, and the effect of the bag if it has one.
    widths : array of shape (2, A)
        Standard deviations of the noise of tokens and of effects of bags.
    at : sequence of arrays
        Overlaps U^T xi, further weights c and U^T U.
    shares : array of shape (n,)
        By what each sample counts in the batch.
    """
    static = training.network, training.loss, training.task.outputs
    parts = zip(*(np.split(x, len(pieces), axis=-1) for x in (noise, shares)), pieces, strict=True)
    slopes = [_slopes(at, widths, part, *static) for part in parts]
    loss, by_noise, by_at = zip(*slopes, strict=True)
    sums = (sum(by) for by in zip(*by_at, strict=True))
    return Slopes(float(sum(loss)), np.concatenate(by_noise, axis=-1), *sums)


@compiled("network", "loss", "outputs")
def _slopes(
    at: Any, widths: Any, given: tuple[Any, ...], network: Architecture, loss: Any, outputs: int
) -> tuple[Any, Any, Any]:
    """Return the mean loss at some weights, and slopes by noise and weights."""
    import jax  # on first use
    import jax.numpy as jnp

    of_sample = sample_loss(loss, outputs)

    def total(noise: Any, at: Any, widths: Any, shares: Any, samples: Samples) -> Any:
        (overlaps, c, gram), L = at, samples.signals.shape[1]
        within, between = widths[:, :, None, None, None]
        own = (within * noise[:, :, :L]).sum(axis=0)
        if noise.shape[2] > L:
            own = own + (between * noise[:, :, L:]).sum(axis=0)
        H = (overlaps[:, :, None, None] * samples.signals).sum(axis=1)
        H = H + samples.scale * own / jnp.sqrt(samples.weights)

        def of_bag(H: Any, y: Any) -> Any:
            return of_sample(scores_of(network, H.T, c, gram, outputs), y)

        losses = jax.vmap(of_bag, in_axes=-1)(H, samples.y) * samples.weights
        return losses @ shares, losses.sum()

    n = given[0].shape[-1]
    size = math.gcd(n, _BLOCK)

    def of_block(block: Any) -> tuple[Any, Any, Any]:
        noise, *others = block
        slopes = jax.grad(total, (0, 1), has_aux=True)
        (by_noise, by_at), loss = slopes(noise, at, widths, *others)
        return loss, by_noise, jax.tree.map(lambda x: x.astype(float), by_at)

    def blocks(x: Any) -> Any:
        return jnp.moveaxis(x.reshape(*x.shape[:-1], n // size, size), -2, 0)

    loss, by_noise, by_at = jax.lax.map(of_block, jax.tree.map(blocks, given))
    by_noise = jnp.moveaxis(by_noise, 0, -2).reshape(given[0].shape)
    return loss.sum(), by_noise, jax.tree.map(lambda x: x.sum(axis=0), by_at)
