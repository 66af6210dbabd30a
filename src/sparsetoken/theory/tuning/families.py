"""Families of descents with a few parameters each, to search over."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from sparsetoken.concepts import Task
from sparsetoken.descents import Descent, stem_of, training_of
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import JointDescent, TwoSteps
from sparsetoken.theory.alignment.two_steps import align
from sparsetoken.validation import InvalidInput, choice, real

FREE = "free"
_FIRST_W = 0.5  # first step of the readout, where a search starts
_SHARPNESS = 2.0  # of the query after two steps at the start: neither blunt nor hard
_DECAY = 5e-2  # of the readout
_MOMENTUM = 0.6  # of the first family: with it the readout nears its minimum in ten steps

Trained = TypeVar("Trained", Descent, JointDescent)
Numbers = Sequence[float] | np.ndarray
Number = float | np.ndarray
"""One for all steps, or one for each."""


class Descents(NamedTuple, Generic[Trained]):
    """Descents of one form, by numbers that are all > 0.

    `start` has their names, and where a search starts. `descent` maps numbers in this order and a
    number of steps to the first steps of their descent.
    """

    start: dict[str, float]
    descent: Callable[[Numbers, int], Trained]


def network_family(task: Task, given: Descent) -> Descents[Descent]:
    """Return the descents whose rates are those of a given one times a number for each kind.

    Columns whose names differ in digits alone are of one kind, and so are the further weights.
    """
    training = training_of(task, given)
    kinds = [f"rates of {stem_of(column)}" for column in training.columns]
    moving = [kind for kind, rates in zip(kinds, training.rates.T, strict=True) if rates.any()]
    further = ["rate_c"] if training.weights and training.rates_c.any() else []
    start = dict.fromkeys((*moving, *further), 1.0)

    def descent(numbers: Numbers, steps: int) -> Descent:
        factors = dict(zip(start, numbers, strict=True))
        by_column = np.array([factors.get(kind, 1.0) for kind in kinds])
        return dataclasses.replace(
            given,
            steps=steps,
            rates=training.rates[:steps] * by_column,
            rate_c=(training.rates_c[:steps] * factors.get("rate_c", 1.0)).tolist(),
            momentum=training.momentum[:steps].tolist(),
        )

    return Descents(start, descent)


def family_of(
    name: str, problem: SparseTokenProblem, given: JointDescent
) -> Descents[JointDescent]:
    """Return the family of a name, with a start at which the query of softmax is sharp.

    A name is a key of `FAMILIES`, or ``free``: one step size of readout and query for each step,
    from those of the given descent, whose momentum, decay and start are kept. Of alpha, beta and
    the loss all families keep what it says.

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
    remedy = "Use more than one token, and a strength above 0."
    real("length of the query", length, 0.0, open_low=True, remedy=remedy)
    first, schedules = FAMILIES[name]
    start = first(_SHARPNESS / length)

    def descent(numbers: Numbers, steps: int) -> JointDescent:
        named = dict(zip(start, numbers, strict=True))
        decay = named.pop("decay")
        found = schedules(np.arange(steps), **named)
        w, q, momentum = (np.broadcast_to(x, steps).tolist() for x in found)
        more = {"decay_w": decay, "momentum": momentum, "beta": given.beta, "loss": given.loss}
        return JointDescent(given.alpha, steps, w, q, w, **more)

    return Descents(start, descent)


def _free(given: JointDescent) -> Descents[JointDescent]:
    w, q, b = given.per_step("eta_w"), given.per_step("eta_q"), given.per_step("eta_b")
    sizes = np.concatenate([w, q])
    moving = np.flatnonzero(sizes)
    if not moving.size:
        remedy = "Give the initial sizes of the search."
        raise InvalidInput("steps of a free search", "of some size > 0", given, remedy)
    names = [f"{name} of step {t}" for name in ("eta_w", "eta_q") for t in range(given.steps)]
    ratio = np.divide(b, w, out=np.zeros(given.steps), where=w > 0)

    def descent(numbers: Numbers, steps: int) -> JointDescent:
        found = np.zeros(2 * given.steps)
        found[moving] = numbers
        eta_w, eta_q = np.split(found, 2)
        schedules = {
            "eta_w": eta_w,
            "eta_q": eta_q,
            "eta_b": np.where(eta_w > 0, ratio * eta_w, b),
            "momentum": given.per_step("momentum"),
        }
        cut: dict[str, Any] = {name: all_[:steps].tolist() for name, all_ in schedules.items()}
        return dataclasses.replace(given, steps=steps, **cut)

    return Descents({names[place]: float(sizes[place]) for place in moving}, descent)


Schedules = tuple[Number, Number, Number]
"""Steps of readout and query, and momentum. The bias moves as the readout."""


def _two_steps(
    t: np.ndarray, first_w: float, first_q: float, eta_w: float, eta_q: float
) -> Schedules:
    readout = np.where(t == 0, first_w, eta_w * (t > 1))
    return readout, np.where(t == 1, first_q, eta_q * (t > 1)), _MOMENTUM * (t > 2)


def _alternating(t: np.ndarray, eta_w: float, eta_q: float) -> Schedules:
    return eta_w * (t % 2 == 0), eta_q * (t % 2 == 1), 0.0


def _constant(t: np.ndarray, eta_w: float, eta_q: Number, odds: float) -> Schedules:
    return eta_w, eta_q, odds / (1 + odds)


def _warm_up(t: np.ndarray, eta_w: float, eta_q: float, odds: float, length: float) -> Schedules:
    return _constant(t, eta_w, eta_q * np.minimum(1.0, t / length), odds)


def _fading(t: np.ndarray, eta_w: float, eta_q: float, odds: float, length: float) -> Schedules:
    return _constant(t, eta_w, eta_q * np.exp(-t / length), odds)


def _start(eta_w: float, eta_q: float, **more: float) -> dict[str, float]:
    return {"eta_w": eta_w, "eta_q": eta_q, "decay": 0.7, "odds": 0.6} | more


FAMILIES: dict[str, tuple[Callable[[float], dict[str, float]], Callable[..., Schedules]]] = {
    "two_steps": (
        lambda q: {
            "first_w": _FIRST_W,
            "first_q": q,
            "eta_w": 1.5,
            "eta_q": 1e-3,
            "decay": _DECAY,
        },
        _two_steps,
    ),
    "constant": (lambda q: _start(0.8, 0.01 * q), _constant),
    "alternating": (lambda q: {"eta_w": 1.0, "eta_q": 0.5 * q, "decay": _DECAY}, _alternating),
    "warm_up": (lambda q: _start(0.8, 0.015 * q, length=4.0), _warm_up),
    "fading": (lambda q: _start(0.8, 0.05 * q, length=3.0), _fading),
}
"""The start of each, from the step that gives the query its sharpness, and its schedules.

Weight decay of the readout is a number of each. ``two_steps``: a step of the readout, one of the
query, then both with momentum 0.6. ``constant``: constant step sizes and momentum.
``alternating``: readout and query in turns, no momentum. ``warm_up`` and ``fading``: momentum,
constant steps of the readout; those of the query grow over a number of steps, or fall by a factor.
"""
