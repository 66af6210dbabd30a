"""More than one gradient step on the query."""

from __future__ import annotations

import numpy as np

from sparsetoken.beyond.classifier import (
    Classifier,
    Reached,
    Samples,
    draw,
    fitted,
    gradient,
    reached,
    start,
    two_steps,
)
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.engine import training_size
from sparsetoken.simulation.seeds import Stream
from sparsetoken.training import FourStageTraining
from sparsetoken.validation import integer, real

__all__ = ["query_path", "steps_trial"]


def query_path(samples: Samples, training: FourStageTraining, last_step: int) -> list[Classifier]:
    """Return (w1, b1, q_t) after steps t = 2 .. last_step on the same samples.

    Step 1 moves (w, b), as in the four stages. Each later step is one of gradient
    descent on q alone, of size eta_q, with the readout left at (w1, b1).
    """
    path = [two_steps(samples, training)]
    for _ in range(integer("last_step", last_step, 2) - 2):
        at = path[-1]
        slope = gradient(samples, at, training.loss, training.beta).q
        path.append(at._replace(q=at.q - training.eta_q * slope))
    return path


def steps_trial(
    problem: SparseTokenProblem,
    training: FourStageTraining,
    alpha1: float,
    *,
    last_step: int = 10,
    held_sharpness: float = 1.0,
    dimension: int,
    seed: int = 0,
    trial: int = 0,
) -> list[tuple[Reached, Reached]]:
    """Refit the readout on D1 after each step on q.

    Parameters
    ----------
    problem : SparseTokenProblem
    training : FourStageTraining
    alpha1 : float > 0
        n1 / d.
    last_step : int, at least 2
        Gradient steps in all, the first of them on (w, b).
    held_sharpness : float >= 0
        k of the second classifier of each pair.
    dimension : int, at least 2
    seed, trial : int >= 0

    Returns
    -------
    list of pairs, for steps 2 .. last_step
        The classifier with q as it is, and with q rescaled to the held sharpness: the
        second shows what the direction alone is worth.

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    real("alpha1 (n1/d)", alpha1, 0.0, open_low=True)
    k = real("held_sharpness", held_sharpness, 0.0)
    engine, beta = start(problem, training, dimension, seed, trial), training.beta
    D0 = draw(engine, Stream.D0, training_size(training.alpha0, dimension))
    D1 = draw(engine, Stream.D1, training_size(alpha1, dimension))
    found = []
    for at in query_path(D0, training, last_step):
        norm = float(np.linalg.norm(at.q))
        held = k / (beta * norm) * at.q if norm > 0 else at.q
        free, fixed = (reached(engine, fitted(D1, q, training), beta) for q in (at.q, held))
        found.append((free, fixed))
    return found
