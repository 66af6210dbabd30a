"""Families of descents with a few numbers each, to search over."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import JointDescent, TwoSteps
from sparsetoken.theory.alignment.two_steps import align
from sparsetoken.validation import InvalidInput, choice, real

FREE = "free"
_FIRST_W = 0.5  # first step of the readout, where a search starts
_SHARPNESS = 2.0  # of the query after two steps at the start: neither blunt nor hard
_DECAY = 5e-2  # of the readout
_MOMENTUM = 0.6  # of the first family: with it the readout nears its minimum in ten steps

Numbers = tuple[float, ...]
Fields = dict[str, Any]
"""Schedules of a `JointDescent`: lists with a number for each step, or one number."""


class Descents(NamedTuple):
    """Descents of one form, by numbers that are all > 0.

    Attributes
    ----------
    start : tuple of floats
        The numbers where a search starts.
    fields : callable
        Maps numbers to the schedules of all steps.
    given : JointDescent
        What it says of alpha, beta, the loss and the most steps is kept.
    """

    start: Numbers
    fields: Callable[[Numbers], Fields]
    given: JointDescent

    def descent(self, numbers: Numbers, steps: int | None = None) -> JointDescent:
        """Return the first steps of the descent with these numbers, all by default."""
        given = self.given
        taken = given.steps if steps is None else steps
        cut: Fields = {
            name: value[:taken] if isinstance(value, list) else value
            for name, value in self.fields(numbers).items()
        }
        return JointDescent(given.alpha, taken, beta=given.beta, loss=given.loss, **cut)


def family_of(name: str, problem: SparseTokenProblem, given: JointDescent) -> Descents:
    """Return the family of a name, with a start at which the query of softmax is sharp.

    Parameters
    ----------
    name : str
        A key of `FAMILIES`, or ``free``: one step size of readout and query for each step,
        from those of the given descent, whose momentum, decay and start are kept.
    problem : SparseTokenProblem
    given : JointDescent

    Raises
    ------
    InvalidInput
        If there is no such family, two steps leave the query without a length (one token, no
        signal), or the given descent has no steps to free.
    """
    choice("family", name, (*FAMILIES, FREE))
    if name == FREE:
        return _free(given)
    unit = TwoSteps(given.alpha, _FIRST_W, _FIRST_W, 1.0, given.beta, given.loss)
    length = align(problem, unit).sharpness
    remedy = "Take more than one token, and a strength above 0."
    real("length of the query", length, 0.0, open_low=True, remedy=remedy)
    first, fields = FAMILIES[name]
    return Descents(first(_SHARPNESS / length), lambda x: fields(x, given.steps), given)


def _free(given: JointDescent) -> Descents:
    sizes = np.concatenate([given.per_step("eta_w"), given.per_step("eta_q")])
    moving = np.flatnonzero(sizes)
    if not moving.size:
        remedy = "Give the sizes where the search starts."
        raise InvalidInput("steps of a free search", "of some size > 0", given, remedy)
    w, b = given.per_step("eta_w"), given.per_step("eta_b")
    ratio = np.divide(b, w, out=np.zeros(given.steps), where=w > 0)
    kept = ("momentum", "decay_w", "decay_q", "batches", "start_w", "start_q", "start_product")

    def fields(numbers: Numbers) -> Fields:
        found = np.zeros(2 * given.steps)
        found[moving] = numbers
        w, q = np.split(found, 2)
        bias = np.where(w > 0, ratio * w, b)
        own = {"eta_w": w.tolist(), "eta_q": q.tolist(), "eta_b": bias.tolist()}
        momentum = given.per_step("momentum").tolist()
        return own | {name: getattr(given, name) for name in kept} | {"momentum": momentum}

    return Descents(tuple(sizes[moving].tolist()), fields, given)


def _schedules(readout: list[float], query: list[float], decay: float, odds: float) -> Fields:
    """Return schedules where the bias moves as the readout, with momentum odds / (1 + odds)."""
    momentum = [odds / (1 + odds)] * len(readout)
    moves = {"eta_w": readout, "eta_b": readout, "eta_q": query}
    return moves | {"decay_w": decay, "momentum": momentum}


def _two_steps(numbers: Numbers, steps: int) -> Fields:
    first_w, first_q, eta_w, eta_q, decay = numbers
    rest = steps - 2
    readout, query = [first_w, 0.0, *[eta_w] * rest], [0.0, first_q, *[eta_q] * rest]
    momentum = [0.0, 0.0, 0.0, *[_MOMENTUM] * (rest - 1)]
    return _schedules(readout, query, decay, 0.0) | {"momentum": momentum}


def _constant(numbers: Numbers, steps: int) -> Fields:
    eta_w, eta_q, decay, odds = numbers
    return _schedules([eta_w] * steps, [eta_q] * steps, decay, odds)


def _alternating(numbers: Numbers, steps: int) -> Fields:
    eta_w, eta_q, decay = numbers
    readout = [eta_w * (t % 2 == 0) for t in range(steps)]
    query = [eta_q * (t % 2 == 1) for t in range(steps)]
    return _schedules(readout, query, decay, 0.0)


def _warm_up(numbers: Numbers, steps: int) -> Fields:
    eta_w, eta_q, decay, odds, length = numbers
    query = [eta_q * min(1.0, t / length) for t in range(steps)]
    return _schedules([eta_w] * steps, query, decay, odds)


def _fading(numbers: Numbers, steps: int) -> Fields:
    eta_w, eta_q, decay, odds, length = numbers
    query = [eta_q * math.exp(-t / length) for t in range(steps)]
    return _schedules([eta_w] * steps, query, decay, odds)


FAMILIES: dict[str, tuple[Callable[[float], Numbers], Callable[[Numbers, int], Fields]]] = {
    "two_steps": (lambda q: (_FIRST_W, q, 1.5, 1e-3, _DECAY), _two_steps),
    "constant": (lambda q: (0.8, 0.01 * q, 0.7, 0.6), _constant),
    "alternating": (lambda q: (1.0, 0.5 * q, _DECAY), _alternating),
    "warm_up": (lambda q: (0.8, 0.015 * q, 0.7, 0.6, 4.0), _warm_up),
    "fading": (lambda q: (0.8, 0.05 * q, 0.7, 0.6, 3.0), _fading),
}
"""The start of each, from the step that gives the query its sharpness, and its schedules.

Weight decay of the readout is a number of each. ``two_steps``: a step of the readout, one of the
query, then both with momentum 0.6. ``constant``: constant step sizes and momentum.
``alternating``: readout and query in turns, no momentum. ``warm_up`` and ``fading``: momentum,
constant steps of the readout; those of the query grow over a number of steps, or fall by a factor.
"""
