"""How many atoms a spectrum needs, and the error that they leave."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from sparsetoken.concepts import Task
from sparsetoken.descents import Descent
from sparsetoken.models import Model
from sparsetoken.theory.dynamics.outcomes import worth_of
from sparsetoken.theory.dynamics.plan import Plan, plan_of
from sparsetoken.theory.dynamics.replica import run_replica
from sparsetoken.theory.dynamics.spectrum import ATOMS, mixing
from sparsetoken.validation import InvalidInput

MOST_ATOMS = 32


def gathered_plan(
    task: Task, trained: Descent | Model, tolerance: float | None
) -> tuple[Plan, Float[np.ndarray, " states"]]:
    """Return the plan of a descent, and the error of its test errors by the atoms.

    The atoms are doubled until the error is half the tolerance, where there is one, or memory ends.
    """
    plan = plan_of(task, trained)
    if plan.atoms.exact:
        return plan, np.zeros(plan.training.steps + 1)
    count, error = ATOMS, _error(plan, plan_of(task, trained, ATOMS // 2))
    while tolerance is not None and error.max() > tolerance / 2 and count < MOST_ATOMS:
        count *= 2
        try:
            finer = plan_of(task, trained, count)
        except InvalidInput:  # no memory for more
            break
        error = _error(finer, plan)
        plan = finer
    return plan, error


def _error(plan: Plan, coarse: Plan) -> Float[np.ndarray, " states"]:
    """Return by how much half as many atoms change the test errors of one replica.

    Both see the same normals, so that the difference is sharp. It is a bound: the error of an atom
    falls as the square of the distances in it.
    """
    both = plan, coarse._replace(mixing=mixing(coarse.atoms, plan.atoms), size=plan.size)
    network, law = plan.training.network, plan.training.law
    fine, rough = (worth_of(network, law, run_replica(one, 0)).test_error for one in both)
    found = np.zeros(plan.training.steps + 1)
    known = min(len(fine), len(rough))
    found[:known] = np.abs(fine[:known] - rough[:known])
    return found
