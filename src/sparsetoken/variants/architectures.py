"""Attention networks trained end to end on the sparse-token task.

They need equinox and optax, which the extra ``architectures`` installs; nothing here
imports them before a network is built.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import jax
import numpy as np

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import Stream, seed_of, stream
from sparsetoken.tokens import isotropic_only
from sparsetoken.validation import choice, integer
from sparsetoken.values import require_numbers
from sparsetoken.variants.network_training import Recipe, require_libraries, test_error, train

FAMILIES = ("multi-query", "class-token", "two-layer")
READS = ("class", "mean")


@dataclasses.dataclass(frozen=True)
class Architecture:
    """A network to train.

    Parameters
    ----------
    family : {"multi-query", "class-token", "two-layer"}
        See `sparsetoken.variants.networks`.
    heads : int >= 1
        Heads of each layer; for multi-query the number of queries.
    width : int >= 1
        Dimension of the keys and values of a head; multi-query has neither.
    read : {"class", "mean"}
        What a two-layer network reads in the end.

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """

    family: str
    heads: int = 1
    width: int = 16
    read: str = "class"

    def __post_init__(self) -> None:
        choice("family", self.family, FAMILIES)
        choice("read", self.read, READS)
        integer("heads", self.heads, 1)
        integer("width", self.width, 1)


def build(architecture: Architecture, dimension: int, scale: float, seed: int) -> Any:
    """Return the network at its start.

    Parameters
    ----------
    architecture : Architecture
    dimension : int
        d.
    scale : float
        Size of the weights.
    seed : int

    Returns
    -------
    equinox.Module
        Maps tokens of shape (L, d) to a score.

    Raises
    ------
    InvalidInput
        If equinox or optax is not installed.
    """
    require_libraries()
    from sparsetoken.variants import networks

    key, heads, width = jax.random.PRNGKey(seed), architecture.heads, architecture.width
    if architecture.family == "multi-query":
        return networks.MultiQuery(dimension, heads, scale, key)
    if architecture.family == "class-token":
        return networks.ClassToken(dimension, heads, width, scale, key)
    return networks.TwoLayer(dimension, heads, width, scale, architecture.read, key)


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

    Parameters
    ----------
    architecture : Architecture
    problem : SparseTokenProblem
    recipe : Recipe
    dimension, samples : int
        d, and the number of labelled samples in all, those held out among them.
    test_samples : int
    seed : int >= 0

    Raises
    ------
    InvalidInput
        If a size or the seed is illegal or equinox or optax is not installed.
    """
    dimension = integer("dimension", dimension, 1)
    samples = integer("samples", samples, 2)
    require_numbers(problem)
    isotropic_only(problem.tokens, "This experiment")
    base = seed_of("architectures", integer("seed", seed, 0))
    xi = stream(base, Stream.SIGNAL).standard_normal(dimension)
    xi /= np.linalg.norm(xi)
    X, y = problem.sample(samples, xi, stream(base, Stream.D1), np.float32)
    start = build(architecture, dimension, recipe.scale, base % 2**31)
    trained = train(start, X, y, recipe)
    if not math.isfinite(trained.held_out_loss):
        return math.nan
    return test_error(trained.network, problem, xi, test_samples, stream(base, Stream.FRESH))
