"""Plans of descents, and the error of eigenvalues that are gathered into atoms."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.descent import Descent
from sparsetoken.model.task_law import Problem
from sparsetoken.theory.dynamics.outcomes import NetworkOutcome, network_outcome
from sparsetoken.theory.dynamics.plan import Plan, plan_of
from sparsetoken.theory.dynamics.replica import States, run_replica, together
from sparsetoken.theory.dynamics.spectrum import ATOMS, mixing

MOST_ATOMS = 32


class Gathering(NamedTuple):
    """States of one replica with all atoms and with half as many, and their outcomes."""

    states: States
    outcome: NetworkOutcome

    def until(self, known: int) -> Gathering:
        """Return the first states."""
        return Gathering(
            self.states.each(lambda x: x[:, :known]), self.outcome.each(lambda x: x[:, :known])
        )

    @property
    def outcome_error(self) -> NetworkOutcome:
        """The change of the test errors from halving the number of atoms."""
        return self.outcome.each(lambda x: np.abs(x[0] - x[1]))


def gathered_plan(
    task: Problem, trained: Descent, tolerance: float | None
) -> tuple[Plan, Gathering | None]:
    """Return the plan of a descent, and what tells the error of gathered eigenvalues.

    The atoms are doubled until the error of the test error is half the tolerance, where there is
    one, or memory ends.
    """
    plan = plan_of(task, trained)
    if plan.atoms.exact:
        return plan, None
    count, both = ATOMS, _both(plan, plan_of(task, trained, ATOMS // 2))
    while (
        tolerance is not None
        and both.outcome_error.test_error.max() > tolerance / 2
        and count < MOST_ATOMS
    ):
        count *= 2
        try:
            finer = plan_of(task, trained, count)
        except InvalidInput:  # no memory for more
            break
        both = _both(finer, plan)
        plan = finer
    return plan, both


def _both(plan: Plan, coarse: Plan) -> Gathering:
    """Return one replica with the atoms of two plans.

    Both see the same normals, so that the difference is sharp. It is a bound of the error, which
    falls as the square of the distances in an atom.
    """
    coarse = coarse._replace(mixing=mixing(coarse.atoms, plan.atoms), size=plan.size)
    courses = [run_replica(one, 0) for one in (plan, coarse)]
    states = together(courses)
    outcomes = [network_outcome(plan.training.network, plan.training.law, one) for one in courses]
    known = states.loss.shape[1]
    return Gathering(
        states,
        NetworkOutcome(
            *(np.stack([x[:known] for x in part]) for part in zip(*outcomes, strict=True))
        ),
    )
