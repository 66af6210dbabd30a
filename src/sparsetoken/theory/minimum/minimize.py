"""The joint minimum of a network on a task: branches, errors and where the theory is exact."""

from __future__ import annotations

import dataclasses
import functools
import math
import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from sparsetoken.base.validation import real
from sparsetoken.model.minimum import STARTS, Minimization, Minimum, minimization_of, start_of
from sparsetoken.model.task_law import Problem
from sparsetoken.model.values import broadcast
from sparsetoken.numerics.backend import with_jax_x64
from sparsetoken.numerics.errors import stated_error
from sparsetoken.numerics.threads import on_one_thread
from sparsetoken.results import Status, StatusCode
from sparsetoken.results.outcomes import (
    MinimumOutcome,
    MinimumPrediction,
    Weights,
    cosines_of,
    norms_of,
)
from sparsetoken.results.record import over_rows, stacked
from sparsetoken.theory.dynamics.outcomes import network_outcome
from sparsetoken.theory.dynamics.replica import States
from sparsetoken.theory.minimum.equations import Equations
from sparsetoken.theory.minimum.solve import Solution, jumps_of, lowest, solve
from sparsetoken.work import solved

TOLERANCE = 1e-2
_COARSE, _FINE = 128, 1024  # bags of each kind
_SCRAMBLES = (3, 6)  # at least, and at most
_SOLVED = 1e-6  # residual of a solution
_GUARDS = 2  # restarts of the proximal operator
_TESTS = 4  # scrambles of new bags
_JUMPS = 0.05  # relative, of the response: jumps beyond it, and beyond their noise, count
_NORM = 1.0  # of a column at the start, along the signals or beside them


def minimize(
    problem: Problem,
    minimum: Minimum = Minimum(),
    *,
    starts: Sequence[str | Mapping[str, Any]] = STARTS,
    tolerance: float = TOLERANCE,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> MinimumPrediction:
    """Predict the minimum over all weights of a network in the limit of high dimension.

    The equations are those of replica symmetry (theory of the joint minimiser): a proximal
    operator for each bag, and means over bags. They may have several solutions, each of them a
    minimum that an optimiser may end in; the result is that of the lowest objective, with all
    others in `branches`.

    Arrays in the fields of problem and minimum broadcast.

    Parameters
    ----------
    problem : SparseTokenProblem, ConceptProblem or Task
        With isotropic tokens.
    minimum : Minimum
    starts : sequence of str or mapping
        uninformed, informed (each column along a signal, in turn), or overlaps of columns with
        the signals by name, as `start_overlaps` of a `Descent`.
    tolerance : float
        In (0, 1). Of the test error, which twice its numerical error is to stay below.
    workers : int >= 1
        Processes that solve points. In a `joblib.parallel_config`, 1 leaves the choice to it.
    keep : path, optional
        A folder that keeps the result of each point as it ends, and from which the same call takes
        what earlier runs have kept. Functions and classes of your own count by their code.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    MinimumPrediction
        Its status is approximate where replica symmetry is not stable or the proximal operator
        jumps: real tokens then decide (`sparsetoken.simulation.minimize`). It is branches where
        starts end in different minima, and no limit where weights run away.

    Raises
    ------
    InvalidInput
        If a value is illegal, or the minimum does not fit the task.

    See Also
    --------
    descend : Training by gradient descent, step by step.
    sparsetoken.simulation.minimize : The same with real tokens.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=3, informative=1, strength=4.0)
    >>> minimum = st.Minimum(st.networks.Pooled(), alpha=2.0, ridge=0.1)
    >>> found = st.minimize(problem, minimum, tolerance=0.05)
    >>> round(float(found.test_error), 2), found.status
    (0.15, 'converged')
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    grid = broadcast(problem, minimum)
    for point in grid.points:
        found = minimization_of(*point)
        for start in starts:
            start_of(found, start)
    rows = solved(
        functools.partial(_each, starts=tuple(starts), tolerance=tolerance),
        grid.points,
        call=["minimize", [*starts], tolerance],
        workers=workers,
        keep=keep,
        what="minima",
        progress=progress,
    )
    return stacked(rows, grid)


def _each(
    points: Sequence[tuple[Problem, Minimum]], starts: Sequence[Any], tolerance: float
) -> list[MinimumPrediction]:
    return [minimum_of(minimization_of(*point), starts, tolerance) for point in points]


class _Found(NamedTuple):
    """A solution on the bags of one scramble, with its outcome."""

    solution: Solution
    outcome: MinimumOutcome
    replicon: float
    jumps: tuple[float, float]


@with_jax_x64
@on_one_thread
def minimum_of(problem: Minimization, starts: Sequence[Any], tolerance: float) -> MinimumPrediction:
    """Return the lowest solution of all starts, with all branches."""
    branches: list[MinimumPrediction] = []
    ended = []
    for start in starts:
        found = _from_start(problem, start_of(problem, start), tolerance)
        ended.append(found)
        if not any(_alike(found, other) for other in branches):
            branches.append(found)
    good = [one for one in branches if one.status != "max_iterations"] or branches
    good.sort(key=lambda one: float(one.objective))
    best = good[0]
    if len(good) > 1 and best.status in ("converged", "approximate"):
        gap = float(good[1].objective - best.objective)
        remedy = (
            f"The equations have {len(good)} solutions; this one has the lowest objective, by "
            f"{gap:.3g}. An optimiser may end in another: see `branches`, and simulate."
        )
        best = dataclasses.replace(best, status=Status(StatusCode.BRANCHES, remedy))
    return dataclasses.replace(best, branches=tuple(good))


def _alike(first: MinimumPrediction, second: MinimumPrediction) -> bool:
    """Whether two results are one solution, within their errors; heads may be exchanged."""
    for name in ("objective", "training_loss", "test_error"):
        gap = abs(getattr(first, name) - getattr(second, name))
        errors = (getattr(one.errors, name) for one in (first, second))
        if gap > 4 * math.hypot(*errors) + 2e-3 * abs(getattr(first, name)):
            return False
    return True


def _from_start(problem: Minimization, M: np.ndarray, tolerance: float) -> MinimumPrediction:
    """Return the solution that a start leads to: few bags first, then scrambles of many."""
    c = np.array(problem.network.start(problem.law.outputs), float)
    equations = Equations(problem, _COARSE, 0)
    rough = solve(equations, equations.start(M, _NORM, c), tolerance=1e-3)
    if rough.ran_away:
        return _ended(problem, [_outcome(equations, rough, 0)], tolerance)
    found: list[_Found] = []
    state = rough.state
    for scramble in range(_SCRAMBLES[1]):
        equations = Equations(problem, _FINE, scramble)
        solution = solve(equations, state, tolerance=_SOLVED, wait=1)
        for _ in range(_GUARDS):
            if solution.ran_away or (x := lowest(equations, solution)) is None:
                break
            solution = solve(equations, solution.state, x, tolerance=_SOLVED, wait=1)
        found.append(_outcome(equations, solution, scramble))
        state = solution.state
        if solution.ran_away:
            break
        if len(found) >= _SCRAMBLES[0]:
            _, errors = _means(found)
            if 2 * float(errors.test_error) <= tolerance:
                break
    return _ended(problem, found, tolerance)


def _outcome(equations: Equations, solution: Solution, scramble: int) -> _Found:
    """Return what weights at a solution do on new bags."""
    problem, order, c = equations.problem, solution.order, solution.state.c
    gram, loss = solution.gram, float(solution.means.of["loss"])
    own = len(order.M.T) if problem.law.sees_noise else 0
    m = len(gram)
    within = np.zeros((1, own + m, own + m))
    within[0, own:, own:] = gram
    if own:
        within[0, :own, :own] = np.eye(own)
        within[0, own:, :own], within[0, :own, own:] = order.M, order.M.T
    states = States(np.zeros(1), order.M[None], gram[None], within, np.zeros_like(within), c[None])
    if solution.ran_away:
        error = math.nan
    else:
        tests = [
            network_outcome(problem.network, problem.law, states, _TESTS * scramble + i)
            for i in range(_TESTS)
        ]
        error = float(np.mean([one.test_error[0] for one in tests]))
    penalty = 0.5 * float(problem.ridge[~problem.frozen] @ np.diagonal(gram)[~problem.frozen])
    penalty += 0.5 * problem.ridge_c * float(c @ c)
    weights = Weights(
        order.M,
        cosines_of(order.M, gram),
        norms_of(gram),
        gram,
        c,
        problem.columns,
        problem.weights,
        problem.law.directions,
    )
    outcome = MinimumOutcome(error, loss, loss + penalty, weights)
    jumps = (math.nan, math.nan) if solution.ran_away else jumps_of(equations, solution)
    replicon = math.nan if solution.ran_away else equations.replicon(solution.means)
    return _Found(solution, outcome, replicon, jumps)


def _means(found: Sequence[_Found]) -> tuple[MinimumOutcome, MinimumOutcome]:
    """Return means over scrambles, and their errors."""
    outcomes = [one.outcome for one in found]
    errors = over_rows(outcomes, stated_error)
    return over_rows(outcomes, functools.partial(np.mean, axis=0)), errors


def _ended(problem: Minimization, found: Sequence[_Found], tolerance: float) -> MinimumPrediction:
    """Return the result of a start, with its status."""
    mean, errors = _means(found)
    replicons = np.array([one.replicon for one in found])
    jumps, noise = np.array([one.jumps for one in found]).T
    residual = max(one.solution.residual for one in found)
    replicon, jump = float(replicons.mean()), float(jumps.mean())
    return MinimumPrediction(
        test_error=mean.test_error,
        training_loss=mean.training_loss,
        objective=mean.objective,
        weights=mean.weights,
        errors=errors,
        numerical_error=float(errors.test_error),
        susceptibility=np.mean([one.solution.order.V for one in found], axis=0),
        replicon=replicon,
        jumps=jump,
        residual=residual,
        iterations=sum(one.solution.iterations for one in found),
        status=_status(problem, found, errors, replicons, (jump, float(noise.mean())), tolerance),
    )


def _status(
    problem: Minimization,
    found: Sequence[_Found],
    errors: MinimumOutcome,
    replicons: np.ndarray,
    jumps: tuple[float, float],
    tolerance: float,
) -> Status:
    if any(one.solution.ran_away for one in found):
        remedy = (
            "The weights run away. Give the further weights a ridge (ridge_c), or larger ridges."
        )
        return Status(StatusCode.NO_LIMIT, remedy)
    residual = max(one.solution.residual for one in found)
    if not residual < 1e-4:
        remedy = f"The equations are not solved (residual {residual:.1e}). Try another start."
        return Status(StatusCode.MAX_ITERATIONS, remedy)
    reasons = []
    if replicons.mean() - 2 * replicons.std() / math.sqrt(len(replicons)) > 1:
        reasons.append(f"replica symmetry is not stable (replicon {replicons.mean():.2f})")
    if jumps[0] > _JUMPS + 3 * jumps[1] / math.sqrt(len(found)):
        reasons.append(f"the proximal operator jumps ({100 * jumps[0]:.0f}% of the response)")
    if reasons:
        remedy = f"The theory is not exact here: {' and '.join(reasons)}. Real tokens decide: "
        remedy += "sparsetoken.simulation.minimize."
        return Status(StatusCode.APPROXIMATE, remedy)
    if 2 * float(errors.test_error) > tolerance:
        remedy = f"Twice the error of the test error is {2 * float(errors.test_error):.2g}."
        return Status(StatusCode.TOLERANCE_NOT_REACHED, remedy)
    return Status(StatusCode.CONVERGED)
