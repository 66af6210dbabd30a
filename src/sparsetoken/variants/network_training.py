"""Training of attention networks end to end: descent, early stopping, test error.

It needs optax, which the extra ``architectures`` installs; nothing imports it before a network is
trained.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sparsetoken.extras import needed
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import Stream, seed_of, stream
from sparsetoken.tokens import isotropic_only
from sparsetoken.validation import InvalidInput, integer, real
from sparsetoken.values import require_numbers
from sparsetoken.variants.networks import Architecture

CHUNK = 2500
"""Fresh samples scored at once."""
ROWS, LEAST = 80, 4
"""Samples of a chunk in training, and the least number of chunks that there is room for: sets of
different sizes then run the same compiled code."""


@dataclasses.dataclass(frozen=True)
class Recipe:
    """How a network is trained: full-batch Adam with decoupled weight decay.

    The logistic loss on a share of the samples is minimised, and the weights with the
    smallest loss on the held-out rest are kept, over all steps and weight decays.

    Parameters
    ----------
    learning_rate : float > 0
    weight_decays : tuple of float >= 0
        Each step shrinks the weights by learning_rate * weight_decay.
    scale : float >= 0
        Size of the weights at the start.
    held_out : float
        Share in (0, 1) of the samples that choose when to stop.
    block : int >= 1
        Steps between two looks at the held-out loss.
    blocks, patience : int >= 1
        Most blocks, and blocks without improvement before the end.

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """

    learning_rate: float = 3e-3
    weight_decays: tuple[float, ...] = (0.1, 3.0)
    scale: float = 0.3
    held_out: float = 0.2
    block: int = 10
    blocks: int = 60
    patience: int = 10

    def __post_init__(self) -> None:
        real("learning_rate", self.learning_rate, 0.0, open_low=True)
        real("scale", self.scale, 0.0)
        real("held_out", self.held_out, 0.0, 1.0, open_low=True, open_high=True)
        for name in ("block", "blocks", "patience"):
            integer(name, getattr(self, name), 1)
        if not self.weight_decays:
            raise InvalidInput("weight_decays", "at least one number >= 0", self.weight_decays)
        for decay in self.weight_decays:
            real("weight_decays", decay, 0.0)


class _Samples(NamedTuple):
    """Samples in chunks, of which some are used; what only fills a chunk up has the share 0."""

    X: Float[Array, "chunks rows L d"]
    y: Float[Array, "chunks rows"]
    share: Float[Array, "chunks rows"]
    used: Array

    @classmethod
    def of(cls, tokens: Float[np.ndarray, "n L d"], labels: np.ndarray) -> _Samples:
        n, used = len(labels), math.ceil(len(labels) / ROWS)
        chunks = max(LEAST, 2 ** math.ceil(math.log2(used)))

        def filled(values: np.ndarray) -> Array:
            found = np.zeros((chunks * ROWS, *values.shape[1:]), np.float32)
            found[:n] = values
            return jnp.asarray(found.reshape(chunks, ROWS, *values.shape[1:]))

        shares = np.full(n, 1 / n)
        return cls(filled(tokens), filled(labels), filled(shares), jnp.int32(used))

    def total(self, of: Callable[..., Any], start: Any) -> Any:
        """Return the sum over chunks of a function of X, y and share."""

        def added(i: Array, found: Any) -> Any:
            more = of(self.X[i], self.y[i], self.share[i])
            return jax.tree.map(jnp.add, found, more)

        return jax.lax.fori_loop(0, self.used, added, start)


class Trained(NamedTuple):
    """A network at the step with the least held-out loss, which is inf if none was finite."""

    network: Any
    held_out_loss: float
    steps: int


def require_optax() -> Any:
    """Return optax, or raise `InvalidInput` with the extra that installs it."""
    return needed("optax", "to train other architectures", "architectures")


def train(
    network: Any, tokens: Float[np.ndarray, "n L d"], labels: np.ndarray, recipe: Recipe
) -> Trained:
    """Train a network by a recipe; the last samples are those held out."""
    require_optax()
    n = len(labels)
    held_out = round(recipe.held_out * n)
    if not 0 < held_out < n:
        raise InvalidInput("samples", "enough for two parts", n, "Take more samples.")
    fitted = _Samples.of(tokens[:-held_out], labels[:-held_out])
    checked = _Samples.of(tokens[-held_out:], labels[-held_out:])
    found = [_descent(network, fitted, checked, decay, recipe) for decay in recipe.weight_decays]
    return min(found, key=lambda trained: trained.held_out_loss)


def _descent(
    network: Any, fitted: _Samples, checked: _Samples, decay: float, recipe: Recipe
) -> Trained:
    """Return the best network on the way of one descent."""
    advance, begin = _advance(recipe.learning_rate, recipe.block)
    state = begin(network)
    best = Trained(network, math.inf, 0)
    for block in range(1, recipe.blocks + 1):
        network, state, loss = advance(network, state, fitted, checked, jnp.float32(decay))
        held_out_loss = float(loss)
        steps = block * recipe.block
        if held_out_loss < best.held_out_loss:
            best = Trained(network, held_out_loss, steps)
        if steps - best.steps >= recipe.patience * recipe.block:
            break
    return best


@functools.cache
def _advance(rate: float, steps: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a compiled block of steps, and what starts its state."""
    optax = require_optax()

    def optimiser(decay: Any) -> Any:
        return optax.adamw(rate, weight_decay=decay)

    @jax.jit
    def advance(network: Any, state: Any, fitted: Any, checked: Any, decay: Array) -> Any:
        def step(carry: Any, _: None) -> tuple[Any, None]:
            network, state = carry
            slope_on = functools.partial(jax.grad(_loss), network)
            slope = fitted.total(slope_on, jax.tree.map(jnp.zeros_like, network))
            change, state = optimiser(decay).update(slope, state, network)
            return (optax.apply_updates(network, change), state), None

        (network, state), _ = jax.lax.scan(step, (network, state), None, length=steps)
        on = functools.partial(_loss, network)
        return network, state, checked.total(on, jnp.float32(0))

    return advance, optimiser(0.0).init


def _loss(network: Any, X: Array, y: Array, share: Array) -> Array:
    return jnp.sum(share * jax.nn.softplus(-y * jax.vmap(network)(X)))


def test_error(
    network: Any,
    problem: SparseTokenProblem,
    signal: Float[np.ndarray, " d"],
    samples: int,
    rng: np.random.Generator,
) -> float:
    """Return the share of fresh samples, in whole chunks of 2500, not on the right side."""
    wrong = []
    for _ in range(math.ceil(samples / CHUNK)):
        X, y = problem.sample(CHUNK, signal, rng, np.float32)
        wrong.append(1 - np.mean(np.asarray(_scores(network, X)) * y > 0))
    return float(np.mean(wrong))


@jax.jit
def _scores(network: Any, X: Array) -> Array:
    return jax.vmap(network)(X)


def trial_error(
    architecture: Architecture,
    problem: SparseTokenProblem,
    recipe: Recipe,
    *,
    dimension: int,
    samples: int,
    test_samples: int = 20_000,
    seed: int = 0,
) -> float:
    """Return the test error of one training, nan if its loss was never finite.

    The seed fixes the random numbers of signal, samples and test samples, the same for all
    architectures, problems and sizes.
    """
    dimension = integer("dimension", dimension, 1)
    samples = integer("samples", samples, 2)
    require_numbers(problem)
    isotropic_only(problem.tokens, "This experiment")
    base = seed_of("architectures", integer("seed", seed, 0))
    xi = stream(base, Stream.SIGNAL).standard_normal(dimension)
    xi /= np.linalg.norm(xi)
    X, y = problem.sample(samples, xi, stream(base, Stream.D1), np.float32)
    start = architecture.start(dimension, recipe.scale, base % 2**31)
    trained = train(start, X, y, recipe)
    if not math.isfinite(trained.held_out_loss):
        return math.nan
    return test_error(trained.network, problem, xi, test_samples, stream(base, Stream.FRESH))
