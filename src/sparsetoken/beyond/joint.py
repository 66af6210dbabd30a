"""All weights trained together by gradient descent."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetoken.beyond.classifier import (
    Classifier,
    Reached,
    Samples,
    draw,
    fitted,
    gradient,
    objective,
    reached,
    start,
    two_steps,
    union,
)
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.engine import training_size
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.simulation.tensors import TensorEngine
from sparsetoken.training import FourStageTraining
from sparsetoken.validation import choice, integer, real

__all__ = ["STARTS", "JointState", "descend", "joint_trial"]

STARTS = ("small random weights", "two-step solution")
SMALL = 0.1  # length of the random w and q, in expectation


class JointState(NamedTuple):
    """Where the descent stands after some steps.

    Attributes
    ----------
    steps : int
    reached : Reached
    objective : float
        Mean loss on all samples plus (ridge/2) |w|^2.
    gradient_norm : float
        Of the objective, in (w, b, q).
    """

    steps: int
    reached: Reached
    objective: float
    gradient_norm: float


def full_gradient(samples: Samples, at: Classifier, training: FourStageTraining) -> Classifier:
    """Return the gradient of `objective`."""
    g = gradient(samples, at, training.loss, training.beta)
    return g._replace(w=g.w + training.ridge * at.w)


def descend(
    samples: Samples, at: Classifier, training: FourStageTraining, steps: int, rate: float
) -> Classifier:
    """Take full-batch gradient steps of one size on (w, b, q) together."""
    for _ in range(steps):
        g = full_gradient(samples, at, training)
        at = Classifier(at.w - rate * g.w, at.b - rate * g.b, at.q - rate * g.q)
    return at


def joint_trial(
    problem: SparseTokenProblem,
    training: FourStageTraining,
    alpha1: float,
    *,
    begin: str,
    steps: tuple[int, ...],
    rate: float = 0.5,
    dimension: int,
    seed: int = 0,
    trial: int = 0,
) -> list[JointState]:
    """Train (q, w, b) together on D0 and D1 and report at the given numbers of steps.

    Parameters
    ----------
    problem : SparseTokenProblem
    training : FourStageTraining
        Gives loss, ridge, beta and, for the start, the two-step solution.
    alpha1 : float > 0
        n1 / d. The descent sees all round(alpha0 d) + round(alpha1 d) samples.
    begin : str
        One of `STARTS`. The random w and q have N(0, 0.01 / d) entries, and b = 0.
    steps : tuple of int
        Increasing numbers >= 0 of steps after which the state is reported. The descent
        ends with the last: there is no other stopping rule.
    rate : float > 0
        Step size, for all weights.
    dimension : int, at least 2
    seed, trial : int >= 0

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    real("alpha1 (n1/d)", alpha1, 0.0, open_low=True)
    real("rate", rate, 0.0, open_low=True)
    choice("begin", begin, STARTS)
    for last, count in zip((0, *steps), steps, strict=False):
        integer("steps", count, last, remedy="Numbers of steps must not fall.")
    engine = start(problem, training, dimension, seed, trial)
    D0 = draw(engine, Stream.D0, training_size(training.alpha0, dimension))
    D1 = draw(engine, Stream.D1, training_size(alpha1, dimension))
    at = _small(engine) if begin == STARTS[0] else fitted(D1, two_steps(D0, training).q, training)
    samples, done, states = union(D0, D1), 0, []
    for count in steps:
        at, done = descend(samples, at, training, count - done, rate), count
        states.append(_state(engine, samples, at, training, done))
    return states


def _small(engine: TensorEngine) -> Classifier:
    rng, d = stream(engine.seed, Stream.QUERY), engine.dimension
    w, q = SMALL / np.sqrt(d) * rng.standard_normal((2, d))
    return Classifier(w, 0.0, q)


def _state(
    engine: TensorEngine,
    samples: Samples,
    at: Classifier,
    training: FourStageTraining,
    done: int,
) -> JointState:
    g = full_gradient(samples, at, training)
    return JointState(
        done,
        reached(engine, at, training.beta),
        objective(samples, at, training),
        float(np.sqrt(g.w @ g.w + g.b**2 + g.q @ g.q)),
    )
