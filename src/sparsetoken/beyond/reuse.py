"""The same samples for the query and for the readout."""

from __future__ import annotations

from sparsetoken.beyond.classifier import Reached, fitted, reached, trial_data, two_steps, union
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Readout, TwoSteps

ARMS = ("fresh", "reused", "all twice")
"""Query from D0 and readout from D1; both from D1; both from the union of D0 and D1."""


def reuse_trial(
    problem: SparseTokenProblem,
    steps: TwoSteps,
    readout: Readout,
    *,
    dimension: int,
    seed: int = 0,
    trial: int = 0,
) -> dict[str, Reached]:
    """Train three classifiers that differ in which samples serve which stage.

    D0 has round(alpha0 d) samples and D1 round(alpha1 d). ``fresh`` is the training of the
    theory. ``reused`` sees D1 alone, the others see both.

    Parameters
    ----------
    problem : SparseTokenProblem
    steps : TwoSteps
    readout : Readout
    dimension : int, at least 2
    seed, trial : int >= 0

    Returns
    -------
    dict from each of `ARMS` to what it reached

    Raises
    ------
    InvalidInput
        If a value is outside its range.
    """
    data = trial_data(problem, steps, readout, dimension=dimension, seed=seed, trial=trial)
    both = union(data.D0, data.D1)
    sets = {"fresh": (data.D0, data.D1), "reused": (data.D1, data.D1), "all twice": (both, both)}
    found = {}
    for arm, (for_query, for_readout) in sets.items():
        q = two_steps(for_query, steps).q
        found[arm] = reached(data.engine, fitted(for_readout, q, readout, steps.beta), steps.beta)
    return found
