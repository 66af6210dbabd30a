"""Bags of a task as a learner sees them, drawn or listed."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import gammaln

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.base import Latent, Problem
from sparsetoken.theory.laws.task import bags_of

_FEWEST = 4  # hypotheses with the scales of a bag, below which its posterior is not sampled
_LOST = 0.01  # of the bags may have so few


class Draws(NamedTuple):
    """Bags whose tokens stand in the order of their scales, those of one scale at random."""

    latent: Latent  # in the order of the task
    t: Float[np.ndarray, "n L P"]
    scale: Float[np.ndarray, "n L"]
    back: Int[np.ndarray, "n L"]  # leads to the order of the task
    weight: Float[np.ndarray, " n"]  # probability; they add up to 1
    normals: Float[np.ndarray, "n L k P"]

    def take(self, index: np.ndarray) -> Draws:
        """Return some of them."""
        latent = {name: entry[index] for name, entry in self.latent.items()}
        return Draws(latent, *(entry[index] for entry in self[1:]))


def in_order(draws: Draws, tokens: np.ndarray) -> Float[np.ndarray, "n L P"]:
    """Return tokens in the order of the task."""
    return np.take_along_axis(tokens, draws.back[..., None], 1)


def drawn(task: Problem, points: int, normals: int, rng: np.random.Generator) -> Draws:
    """Draw equal numbers of bags of each kind, with so many normals for each projection."""
    L, P = task.length, len(task.directions)
    size = 2 ** max(math.ceil(math.log2(points / len(task.rates))), 2)
    bags = bags_of(task, L, normals * P, rng, more=L)(size)
    coefficients, scale = bags.latent["coefficients"], bags.scale
    noise, empty = bags.normals.reshape(*scale.shape, normals, P), scale == 0
    if coefficients[empty].any():
        legal = "> 0 for tokens with coefficients"
        remedy = "A token without noise tells its directions at once."
        raise InvalidInput("scale that draw of a task returns", legal, 0.0, remedy)
    noise[empty] = 0
    t = coefficients / np.where(empty, 1.0, scale)[..., None]
    order = np.lexsort((bags.uniforms, scale), axis=1)
    noise = np.take_along_axis(noise, order[..., None, None], 1)  # even in the task's own order
    t, scale = np.take_along_axis(t, order[..., None], 1), np.take_along_axis(scale, order, 1)
    return Draws(bags.latent, t, scale, np.argsort(order, axis=1), bags.weights, noise)


def drawn_hypotheses(task: Problem, points: int, rng: np.random.Generator) -> Draws:
    """Draw hypotheses, in two halves that are alike.

    Each normal comes with both signs: what the target does not see then has mean 0, exactly.
    """
    twice = 1 + task.sees_noise
    draws = drawn(task, points // twice, int(task.sees_noise), rng)
    index = np.arange(len(draws.t)).reshape(len(task.rates), 2, 1, -1).transpose(1, 2, 0, 3)
    index, signs = np.broadcast_arrays(index, np.array([1, -1])[:twice, None, None])
    draws = draws.take(index.ravel())
    normals = draws.normals * signs.reshape(-1, 1, 1, 1)
    return draws._replace(normals=normals, weight=draws.weight / twice)


def all_hypotheses(task: Problem, most: int, rng: np.random.Generator) -> Draws | None:
    """Return all orders of the tokens of each kind of bag; None if they are too many."""
    one = task.of_each_kind(1, rng)
    kinds: list[int] = []
    t: list[np.ndarray] = []
    weights: list[float] = []
    for kind, (rows, rate) in enumerate(zip(one["coefficients"], task.rates, strict=True)):
        values, number, repeats = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
        logs = gammaln(len(rows) + 1) - gammaln(repeats + 1).sum()
        if logs > math.log(most) or (count := round(math.exp(logs))) + len(t) > most:
            return None
        t += [values[list(order)] for order in _orders(tuple(sorted(number.ravel().tolist())))]
        kinds += [kind] * count
        weights += [rate / count] * count
    latent = {name: entry[kinds] for name, entry in one.items()}
    shape = (len(t), task.length)
    back, none = np.tile(np.arange(task.length), (len(t), 1)), np.empty((*shape, 0, t[0].shape[1]))
    return Draws(latent, np.array(t), np.ones(shape), back, np.array(weights), none)


def _orders(numbers: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
    """Yield the different orders of numbers."""
    if not numbers:
        yield ()
    for first in sorted(set(numbers)):
        at = numbers.index(first)
        for rest in _orders(numbers[:at] + numbers[at + 1 :]):
            yield (first, *rest)


def comparable(
    bags: Draws, hypotheses: Draws
) -> tuple[Draws, tuple[Int[np.ndarray, " n"], Int[np.ndarray, " H"]] | None]:
    """Return the bags with enough hypotheses of their scales, and a number for the scales of each.

    A learner sees the scale of a token by its norm. Where all bags have the same scales there are
    no numbers.
    """
    both = np.concatenate([bags.scale, hypotheses.scale])
    different, number = np.unique(both, axis=0, return_inverse=True)
    if len(different) == 1:
        return bags, None
    own, others = np.split(number.ravel(), [len(bags.scale)])
    enough = np.bincount(others, minlength=len(different))[own] >= _FEWEST
    kept = bags.weight[enough].sum()
    if kept < 1 - _LOST:
        legal = "such that the scales of a bag, sorted, are one of few rows"
        got = f"{len(different)} different rows in {len(both)} bags"
        remedy = "A learner sees the scales. Round them, or take more points."
        raise InvalidInput("scale that draw of a task returns", legal, got, remedy)
    return bags.take(enough)._replace(weight=bags.weight[enough] / kept), (own[enough], others)
