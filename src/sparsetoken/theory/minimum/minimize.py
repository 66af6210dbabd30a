"""The joint minimum of a network on a task."""

from __future__ import annotations

import dataclasses
import functools
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.model.base import Problem
from sparsetoken.model.minimum import STARTS, Minimum, minimization_of, start_of
from sparsetoken.model.values import broadcast
from sparsetoken.results.outcomes import MinimumPrediction
from sparsetoken.results.record import stacked
from sparsetoken.work import map_points

TOLERANCE = 1e-2


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
        Processes that solve points; each of them searches at all loads. In a
        `joblib.parallel_config`, 1 leaves the choice to it.
    keep : path, optional
        A folder that keeps the result of each point as it ends, and from which the same call takes
        what earlier runs have kept. Functions and classes of your own need a version.
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
        If a value is illegal, starts are no list, or the minimum does not fit the task.

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
    (0.17, 'converged')
    """
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    if isinstance(starts, str | Mapping) or not starts:
        legal = f"a list of starts, such as {[*STARTS]}"
        raise InvalidInput("starts", legal, starts, 'Write one start as ["informed"].')
    grid = broadcast(problem, minimum)
    loads: dict[Any, list[float]] = {}
    for task, own in grid.points:
        found = minimization_of(task, own)
        for start in starts:
            start_of(found, start)
        loads.setdefault(_of_all_loads((task, own)), []).append(own.alpha)
    # What is found at one load starts the search at its neighbours: all of them are the call.
    points = [(*point, tuple(loads[_of_all_loads(point)])) for point in grid.points]
    rows = map_points(
        functools.partial(_each, starts=tuple(starts), tolerance=tolerance),
        points,
        call=["minimize", [*starts], tolerance],
        together=_of_all_loads,
        workers=workers,
        keep=keep,
        what="minima",
        progress=progress,
    )
    each = zip(rows, grid.points, strict=True)
    return stacked([dataclasses.replace(row, origin=point) for row, point in each], grid)


def _of_all_loads(point: tuple[Any, ...]) -> tuple[Problem, Minimum]:
    task, minimum, *_ = point
    return task, dataclasses.replace(minimum, alpha=1.0)


def _each(
    points: Sequence[tuple[Any, ...]], starts: Sequence[Any], tolerance: float
) -> Iterator[MinimumPrediction]:
    """Yield the minimum at each point, which differ in the load alone."""
    from sparsetoken.theory.minimum.branches import minima  # on first use: it imports JAX

    (task, minimum, loads), *_ = points
    every = [dataclasses.replace(minimum, alpha=load) for load in loads]
    wanted = [loads.index(own.alpha) for _, own, _ in points]
    return minima([minimization_of(task, one) for one in every], wanted, starts, tolerance)
