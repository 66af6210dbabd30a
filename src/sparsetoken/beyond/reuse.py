"""The same samples for the query and for the readout."""

from __future__ import annotations

from sparsetoken.beyond.classifier import Reached, draw, fitted, reached, start, two_steps, union
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.simulation.engine import training_size
from sparsetoken.simulation.seeds import Stream
from sparsetoken.training import FourStageTraining

__all__ = ["ARMS", "reuse_trial"]

ARMS = ("fresh", "reused", "all twice")
"""Query from D0 and readout from D1; both from D1; both from the union of D0 and D1."""


def reuse_trial(
    problem: SparseTokenProblem,
    training: FourStageTraining,
    *,
    dimension: int,
    seed: int = 0,
    trial: int = 0,
) -> dict[str, Reached]:
    """Train three classifiers that differ in which samples serve which stage.

    D0 and D1 have round(alpha0 d) samples each. ``fresh`` is the training of the theory.
    ``reused`` sees half as many samples as the others.

    Parameters
    ----------
    problem : SparseTokenProblem
    training : FourStageTraining
    dimension : int, at least 2
    seed, trial : int >= 0

    Returns
    -------
    dict from each of `ARMS` to what it reached

    Raises
    ------
    InvalidInput
        If dimension, seed or trial is outside its range.
    """
    engine = start(problem, training, dimension, seed, trial)
    n = training_size(training.alpha0, dimension)
    D0, D1 = draw(engine, Stream.D0, n), draw(engine, Stream.D1, n)
    both = union(D0, D1)
    sets = {"fresh": (D0, D1), "reused": (D1, D1), "all twice": (both, both)}
    found = {}
    for arm, (for_query, for_readout) in sets.items():
        q = two_steps(for_query, training).q
        found[arm] = reached(engine, fitted(for_readout, q, training), training.beta)
    return found
