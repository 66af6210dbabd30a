"""The scalars (A, B, C) through which a pooled feature depends on its tokens."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from sparsetoken.attention import elementwise_weights, softmax_weights
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.budget import chunk_sizes, scalar_rows
from sparsetoken.stages import Query

__all__ = ["Scalars", "draw_positions", "draw_scalars", "pooling_weights"]


class Scalars(NamedTuple):
    """The feature is theta A xi + B qhat + C h, with h ~ N(0, I - qhat qhat^T)."""

    A: Float[np.ndarray, " n"]
    B: Float[np.ndarray, " n"]
    C: Float[np.ndarray, " n"]


def pooling_weights(model: str, scores: np.ndarray, activation: str) -> np.ndarray:
    """Return the weights of the tokens under a model with a query."""
    if model == "attention":
        return softmax_weights(scores)
    return elementwise_weights(scores, activation)


def draw_positions(
    problem: SparseTokenProblem, n: int, rng: np.random.Generator
) -> Iterator[Bool[np.ndarray, "rows L"]]:
    """Draw n sets of positions, in chunks."""
    for rows in chunk_sizes(n, scalar_rows(problem.length)):
        yield problem.sample_positions(rows, rng)


def draw_scalars(
    model: str,
    problem: SparseTokenProblem,
    query: Query,
    positive: Bool[np.ndarray, " n"],
    activation: str,
    rng: np.random.Generator,
) -> Scalars:
    """Draw (A, B, C) for samples whose class is given.

    With t the projections of the tokens on the query direction and a their weights:
    A = <a, v> on positives, B = <a, t> without the signal, C = |a|. Tokens enter only
    through sums over positions, so the informative ones may come first.

    Parameters
    ----------
    positive : bool array of shape (n,)
    """
    rows = scalar_rows(problem.length)
    chunks = [positive[i : i + rows] for i in range(0, len(positive), rows)]
    drawn = [_draw_chunk(model, problem, query, c, activation, rng) for c in chunks]
    return Scalars(*(np.concatenate(parts) for parts in zip(*drawn, strict=True)))


def _draw_chunk(
    model: str,
    problem: SparseTokenProblem,
    query: Query,
    positive: np.ndarray,
    activation: str,
    rng: np.random.Generator,
) -> Scalars:
    _, theta, R, L = problem.letters
    g = rng.standard_normal((len(positive), L))
    t = g.copy()
    t[:, :R] += theta * query.cosine * positive[:, None]
    a = pooling_weights(model, query.sharpness * t, activation)
    A = np.where(positive, a[:, :R].sum(axis=1), 0.0)
    return Scalars(A, np.einsum("nl,nl->n", a, g), np.sqrt(np.einsum("nl,nl->n", a, a)))
