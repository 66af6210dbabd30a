"""Training of equinox networks on tokens: descent, early stopping, test error."""

from __future__ import annotations

import dataclasses
import functools
import importlib
import math
from collections.abc import Callable
from types import ModuleType
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.validation import InvalidInput, integer, real

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
    """Samples in chunks; those that only fill a chunk up have weight 0.

    Attributes
    ----------
    X : array of shape (chunks, rows, L, d)
    y, share : arrays of shape (chunks, rows)
        Labels, and what each sample counts in a mean.
    used : int
        Chunks that hold samples.
    """

    X: Array
    y: Array
    share: Array
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
    """A trained network.

    Attributes
    ----------
    network : equinox.Module
    held_out_loss : float
        Mean logistic loss at the chosen step; inf if it was never finite.
    steps : int
        Steps of Adam up to it.
    weight_decay : float
        The chosen one.
    """

    network: Any
    held_out_loss: float
    steps: int
    weight_decay: float


def require_libraries() -> tuple[ModuleType, ModuleType]:
    """Return (equinox, optax).

    Raises
    ------
    InvalidInput
        If one is not installed; the message says how to install it.
    """
    found, missing = [], []
    for name in ("equinox", "optax"):
        try:
            found.append(importlib.import_module(name))
        except ImportError:
            missing.append(name)
    if missing:
        raise InvalidInput(
            "the installation for other architectures",
            "one with equinox and optax",
            "no " + " and no ".join(missing),
            "pip install 'sparsetoken[architectures]'",
        )
    return found[0], found[1]


def train(
    network: Any, tokens: Float[np.ndarray, "n L d"], labels: np.ndarray, recipe: Recipe
) -> Trained:
    """Train a network by a recipe; the last samples are those held out.

    Parameters
    ----------
    network : equinox.Module
        As `build` returns it.
    tokens : array of shape (n, L, d)
    labels : array of shape (n,), in {-1, +1}
    recipe : Recipe

    Raises
    ------
    InvalidInput
        If the samples are too few to hold some out, or the libraries are missing.
    """
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
    best = Trained(network, math.inf, 0, decay)
    for block in range(1, recipe.blocks + 1):
        network, state, loss = advance(network, state, fitted, checked, decay)
        held_out_loss = float(loss)
        steps = block * recipe.block
        if held_out_loss < best.held_out_loss:
            best = Trained(network, held_out_loss, steps, decay)
        if steps - best.steps >= recipe.patience * recipe.block:
            break
    return best


@functools.cache
def _advance(rate: float, steps: int) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """Return a compiled block of steps, and what starts its state."""
    equinox, optax = require_libraries()

    def optimiser(decay: Any) -> Any:
        return optax.adamw(rate, weight_decay=decay)

    def begin(network: Any) -> Any:
        return optimiser(0.0).init(equinox.filter(network, equinox.is_array))

    @equinox.filter_jit
    def advance(network: Any, state: Any, fitted: Any, checked: Any, decay: Array) -> Any:
        fixed = equinox.filter(network, equinox.is_array, inverse=True)

        def step(carry: Any, _: None) -> tuple[Any, None]:
            weights, state = carry

            def slope_on(*chunk: Array) -> Any:
                return jax.grad(lambda w: _loss(equinox.combine(w, fixed), *chunk))(weights)

            slope = fitted.total(slope_on, jax.tree.map(jnp.zeros_like, weights))
            change, state = optimiser(decay).update(slope, state, weights)
            return (optax.apply_updates(weights, change), state), None

        weights = equinox.filter(network, equinox.is_array)
        (weights, state), _ = jax.lax.scan(step, (weights, state), None, length=steps)
        network = equinox.combine(weights, fixed)
        on = functools.partial(_loss, network)
        return network, state, checked.total(on, jnp.float32(0))

    return lambda *given: advance(*given[:-1], jnp.float32(given[-1])), begin


def _loss(network: Any, X: Array, y: Array, share: Array) -> Array:
    return jnp.sum(share * jax.nn.softplus(-y * jax.vmap(network)(X)))


def test_error(
    network: Any,
    problem: SparseTokenProblem,
    signal: Float[np.ndarray, " d"],
    samples: int,
    rng: np.random.Generator,
) -> float:
    """Return the share of fresh samples that are not on the right side.

    Parameters
    ----------
    network : equinox.Module
    problem : SparseTokenProblem
    signal : array of shape (d,)
        xi.
    samples : int
        Rounded up to whole chunks of 2500.
    rng : numpy.random.Generator
    """
    scores = _scorer()
    wrong = []
    for _ in range(math.ceil(samples / CHUNK)):
        X, y = problem.sample(CHUNK, signal, rng, np.float32)
        wrong.append(1 - np.mean(np.asarray(scores(network, X)) * y > 0))
    return float(np.mean(wrong))


@functools.cache
def _scorer() -> Callable[..., Any]:
    equinox, _ = require_libraries()
    return equinox.filter_jit(lambda network, X: jax.vmap(network)(X))
