"""All weights trained together by gradient descent."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken.beyond.classifier import (
    Classifier,
    Reached,
    Samples,
    TrialData,
    fitted,
    gradient,
    objective,
    reached,
    trial_data,
    two_steps,
    union,
)
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.seeds import Stream, stream
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.validation import choice, integer, real

__all__ = ["STARTS", "JointState", "descend", "joint_trial"]

STARTS = ("small random weights", "two-step solution")
SMALL = 0.1  # length of the random w and q, in expectation


@dataclasses.dataclass(frozen=True)
class JointState:
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


def full_gradient(samples: Samples, at: Classifier, readout: Readout, beta: float) -> Classifier:
    """Return the gradient of `objective`."""
    g = gradient(samples, at, readout.loss, beta)
    return g._replace(w=g.w + readout.ridge * at.w)


def descend(
    samples: Samples, at: Classifier, readout: Readout, beta: float, *, count: int, rate: float
) -> Classifier:
    """Take `count` full-batch gradient steps of size `rate` on (w, b, q) together."""
    for _ in range(count):
        g = full_gradient(samples, at, readout, beta)
        at = Classifier(at.w - rate * g.w, at.b - rate * g.b, at.q - rate * g.q)
    return at


def joint_trial(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    readout: Readout,
    *,
    begin: str,
    checkpoints: tuple[int, ...],
    rate: float = 0.5,
    dimension: int,
    seed: int = 0,
    trial: int = 0,
) -> list[JointState]:
    """Train (q, w, b) together on D0 and D1 and report at the given numbers of steps.

    Parameters
    ----------
    problem : SparseTokenProblem
    steps : TwoSteps
        Its beta, and for the second start the two-step solution.
    readout : Readout
        Loss and ridge of the descent, which sees all round(alpha0 d) + round(alpha1 d)
        samples.
    begin : str
        One of `STARTS`. The random w and q have N(0, 0.01 / d) entries, and b = 0.
    checkpoints : tuple of int
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
    real("rate", rate, 0.0, open_low=True)
    choice("begin", begin, STARTS)
    for last, count in zip((0, *checkpoints), checkpoints, strict=False):
        integer("checkpoints", count, last, remedy="Numbers of steps must not fall.")
    data = trial_data(problem, steps, readout, dimension=dimension, seed=seed, trial=trial)
    at = _small(data) if begin == STARTS[0] else _two_step_solution(data, steps, readout)
    samples, beta, done, states = union(data.D0, data.D1), steps.beta, 0, []
    for count in checkpoints:
        at = descend(samples, at, readout, beta, count=count - done, rate=rate)
        done = count
        g = full_gradient(samples, at, readout, beta)
        state = JointState(
            done,
            reached(data.engine, at, beta),
            objective(samples, at, readout, beta),
            float(np.sqrt(g.w @ g.w + g.b**2 + g.q @ g.q)),
        )
        states.append(state)
    return states


def _small(data: TrialData) -> Classifier:
    rng, d = stream(data.engine.seed, Stream.QUERY), data.engine.dimension
    w, q = SMALL / np.sqrt(d) * rng.standard_normal((2, d))
    return Classifier(w, 0.0, q)


def _two_step_solution(data: TrialData, steps: TwoSteps, readout: Readout) -> Classifier:
    return fitted(data.D1, two_steps(data.D0, steps).q, readout, steps.beta)
