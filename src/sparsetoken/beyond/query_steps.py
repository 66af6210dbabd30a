"""More than one gradient step on the query."""

from __future__ import annotations

import dataclasses

import numpy as np

from sparsetoken.beyond.classifier import (
    Classifier,
    Reached,
    Samples,
    fitted,
    gradient,
    reached,
    trial_data,
    two_steps,
)
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Readout, TwoSteps
from sparsetoken.validation import integer, real


@dataclasses.dataclass(frozen=True)
class RefittedQuery:
    """What the query is worth after a step, with the readout fitted anew.

    Attributes
    ----------
    step : int
        Gradient steps so far, the first of them on (w, b).
    free : Reached
        With the query as it is.
    held : Reached
        With the query rescaled to the held sharpness: what its direction alone is worth.
    """

    step: int
    free: Reached
    held: Reached


def query_path(samples: Samples, steps: TwoSteps, last_step: int) -> list[Classifier]:
    """Return (w1, b1, q_t) after steps t = 2 .. last_step on the same samples.

    Step 1 moves (w, b), as in the four stages. Each later step is one of gradient
    descent on q alone, of size eta_q, with the readout left at (w1, b1).
    """
    path = [two_steps(samples, steps)]
    for _ in range(integer("last_step", last_step, 2) - 2):
        at = path[-1]
        slope = gradient(samples, at, steps.loss, steps.beta).q
        path.append(at._replace(q=at.q - steps.eta_q * slope))
    return path


def steps_trial(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    readout: Readout,
    *,
    last_step: int = 10,
    held_sharpness: float = 1.0,
    dimension: int,
    seed: int = 0,
    trial: int = 0,
) -> list[RefittedQuery]:
    """Refit the readout on D1 after each step on q.

    Parameters
    ----------
    problem : SparseTokenProblem
    steps : TwoSteps
    readout : Readout
    last_step : int, at least 2
        Gradient steps in all, the first of them on (w, b).
    held_sharpness : float >= 0
        k of the queries that are held at one sharpness.
    dimension : int, at least 2
    seed, trial : int >= 0

    Returns
    -------
    list of RefittedQuery, for steps 2 .. last_step

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    k, beta = real("held_sharpness", held_sharpness, 0.0), steps.beta
    data = trial_data(problem, steps, readout, dimension=dimension, seed=seed, trial=trial)

    def worth(q: np.ndarray) -> Reached:
        return reached(data.engine, fitted(data.D1, q, readout, beta), beta)

    found = []
    for step, at in enumerate(query_path(data.D0, steps, last_step), start=2):
        norm = float(np.linalg.norm(at.q))
        held = k / (beta * norm) * at.q if norm > 0 else at.q
        found.append(RefittedQuery(step, worth(at.q), worth(held)))
    return found
