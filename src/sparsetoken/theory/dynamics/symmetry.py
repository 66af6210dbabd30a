"""Symmetries that the limit keeps for ever and every finite dimension breaks."""

from __future__ import annotations

import math

import numpy as np

from sparsetoken.numerics.backend import with_x64
from sparsetoken.theory.dynamics.outcomes import network_outcome
from sparsetoken.theory.dynamics.plan import Plan
from sparsetoken.theory.dynamics.replica import course

DIMENSION = 1000  # the effect falls as one over the dimension
_DRAWS = 3
_SEED = 20250932  # any fixed number: the same overlaps in every run


@with_x64
def broken_symmetry(plan: Plan, tolerance: float) -> tuple[str, ...]:
    """Return what random overlaps of the start would change, if that is above a tolerance.

    Random columns have overlaps of order 1/sqrt(d) with the signals, which the limit leaves out.
    Where a symmetry of network and task turns their signs, the test error does not depend on
    the signs, and the overlaps may grow from step to step. So a symmetry is broken where in the
    end the mean effect of both signs is larger than half their difference after any step. Elsewhere
    it is the smaller one, of order 1/d beside 1/sqrt(d).
    """
    training = plan.training
    norms = np.linalg.norm(training.start, axis=0)
    rng = np.random.default_rng(_SEED)
    base, pairs = _test_errors(plan), []
    for _ in range(_DRAWS):
        normals = rng.standard_normal((len(training.law.directions), len(norms)))
        overlaps = normals * norms / math.sqrt(DIMENSION)
        pairs.append([_test_errors(plan, sign * overlaps) for sign in (1, -1)])
    known = min(len(base), *(len(errors) for pair in pairs for errors in pair))
    if known == 1:
        return ()
    both = np.array([[errors[1:known] for errors in pair] for pair in pairs])
    last, shift = known - 1, float(both[..., -1].mean() - base[known - 1])
    ordinary = np.sqrt(np.mean((both[:, 0] - both[:, 1]) ** 2, axis=0)).max() / 2
    if abs(shift) <= max(tolerance, ordinary):
        return ()
    return (
        f"The limit keeps a symmetry that finite dimensions break: overlaps with the signals, as "
        f"a random start has at d = {DIMENSION}, change the test error after {last} steps by about "
        f"{shift:+.4f}. Simulate at your dimension, or break the symmetry by norms of the start "
        f"that differ, or by start_overlaps.",
    )


def _test_errors(plan: Plan, overlaps: np.ndarray | None = None) -> np.ndarray:
    training = plan.training
    if overlaps is not None:
        start = training.start.copy()
        start[: len(overlaps)] += overlaps
        plan = plan._replace(training=training._replace(start=start))
    return network_outcome(training.network, training.law, course(plan, 0, (0,))).test_error
