"""The best descent on one data set."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Callable

import numpy as np
import scipy

from sparsetoken.models import Model, entry_of
from sparsetoken.problem import SparseTokenProblem, require_problem
from sparsetoken.progress import progress_of
from sparsetoken.results import Status, StatusCode, Trajectory
from sparsetoken.stages import JointDescent
from sparsetoken.theory.dynamics import TOLERANCE, descend
from sparsetoken.theory.tuning.families import family_of
from sparsetoken.validation import InvalidInput, integer
from sparsetoken.values import require_numbers

_FACTOR = math.log(1e3)  # by which each number may differ from its start
_FIRST_MOVE = 0.7  # of each coordinate, a factor of two
_NEAR, _FLAT = 0.02, 1e-3  # of the logarithms of the numbers and of the test error
_MOST_OF_SIMPLEX = 8  # numbers; more of them are searched along their slopes
_SLOPE = 0.1  # over this move of a logarithm: finer ones see the noise of few replicas
_LASTING = 3  # steps over which a least test error must last
_REPLICAS = 2  # in the search; all see the same samples, so that differences are sharp


@dataclasses.dataclass(frozen=True)
class BestDescent:
    """The best descent of a search.

    Attributes
    ----------
    descent : JointDescent
        It ends where its test error is least.
    course : Trajectory
    evaluations : int
        How many descents were followed.
    status : Status
        That of the last step.
    """

    descent: JointDescent
    course: Trajectory
    evaluations: int
    status: Status


def best_descent(
    problem: SparseTokenProblem,
    model: Model,
    *,
    family: str = "constant",
    evaluations: int = 60,
    replicas: int = 16,
    progress: bool = True,
) -> BestDescent:
    """Search for the descent on all samples whose test error is least.

    The bias moves as the readout. The descent stops at the end of the three steps whose largest
    test error is least: a lower one that does not last would not be met at finite dimension.

    Equation: best-descent, ``argmin of E`` over the numbers of the family and the steps, by the
    simplex of Nelder and Mead; for more than eight numbers, by L-BFGS-B with slopes from
    differences.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Attention or Elementwise
        Its query is a `JointDescent`, of which alpha, steps (at least 3, the most that are
        taken), beta and loss are kept.
    family : str
        ``constant``: constant step sizes of readout and query, momentum and weight decay of the
        readout. ``two_steps``: a step of the readout, one of the query, then constant ones of
        both. ``alternating``: readout and query in turns. ``warm_up`` and ``fading``: the
        steps of the query grow or fall. ``free``: the steps of each size of the given descent
        itself, all else as given; what another family found is a start for it.
    evaluations : int
        The most descents that are followed, at least 1.
    replicas : int
        Of the course that is returned, as for `descend`.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the model cannot be trained by descent.
    """
    require_problem(problem)
    entry_of(model)
    require_numbers(problem, model)
    given = model.query
    if not isinstance(given, JointDescent):
        remedy = "Write st.Attention(st.JointDescent(...)), for example."
        raise InvalidInput("query of the model", "a JointDescent", given, remedy)
    integer("steps of the search", given.steps, 3)
    integer("evaluations", evaluations, 1)
    descents = family_of(family, problem, given)
    seen: dict[tuple[float, ...], tuple[float, int]] = {}

    def error(at: np.ndarray) -> float:
        x = tuple(float(value) for value in at)
        if x not in seen:
            if len(seen) == evaluations:
                raise _Enough
            queried = _with(model, descents.descent(_numbers(x)))
            course = descend(problem, queried, replicas=_REPLICAS)
            seen[x] = _lasting(course.test_error)
            done()
        return seen[x][0]

    first = np.log(descents.start)
    bounds = [(x - _FACTOR, x + _FACTOR) for x in first.tolist()]
    with progress_of("descents", evaluations + 1, progress) as done:
        with contextlib.suppress(_Enough):
            _minimize(error, first, bounds)
        x = min(seen, key=lambda x: seen[x][0])
        best = descents.descent(_numbers(x), max(seen[x][1], 1))
        course = descend(problem, _with(model, best), replicas=replicas)
    return BestDescent(best, course, len(seen), _status(course, x, bounds))


class _Enough(Exception):
    """No more evaluations are allowed."""


def _numbers(logarithms: tuple[float, ...]) -> tuple[float, ...]:
    return tuple(math.exp(x) for x in logarithms)


def _minimize(
    error: Callable[[np.ndarray], float],
    first: np.ndarray,
    bounds: list[tuple[float, float]],
) -> None:
    if len(first) > _MOST_OF_SIMPLEX:

        def finite(x: np.ndarray) -> float:
            return min(error(x), 0.0)  # a descent that diverges is as bad as always wrong

        slopes = {"eps": _SLOPE, "ftol": _FLAT}
        scipy.optimize.minimize(finite, first, method="L-BFGS-B", bounds=bounds, options=slopes)
        return
    simplex = np.stack([first, *(first + _FIRST_MOVE * np.eye(len(first)))])
    options = {"initial_simplex": simplex, "xatol": _NEAR, "fatol": _FLAT}
    scipy.optimize.minimize(error, first, method="Nelder-Mead", bounds=bounds, options=options)


def _lasting(test_error: np.ndarray) -> tuple[float, int]:
    """Return the logarithm of the least test error that lasts some steps, and the last of them.

    A single step below its neighbours is that of a descent that rings: at finite dimension
    it rings in another phase.
    """
    if len(test_error) <= _LASTING:  # it diverged
        return math.inf, 1
    largest = np.lib.stride_tricks.sliding_window_view(test_error, _LASTING).max(axis=1)
    first = int(np.argmin(largest))
    return math.log(largest[first]), first + _LASTING - 1


def _with(model: Model, descent: JointDescent) -> Model:
    found: Model = dataclasses.replace(model, query=descent)  # type: ignore[call-arg]
    return found


def _status(course: Trajectory, at: tuple[float, ...], bounds: list[tuple[float, float]]) -> Status:
    ends = any(x in pair for x, pair in zip(at, bounds, strict=True))
    if course.status.code is StatusCode.NO_LIMIT:
        return course.status
    error = 2 * float(course.errors.test_error[-1])
    if error > TOLERANCE:
        what = f"Twice the standard error of the last test error is {error:.1e}"
        return Status(StatusCode.TOLERANCE_NOT_REACHED, f"{what}; take more replicas.")
    if ends:
        return Status(StatusCode.NO_LIMIT, "The test error is least at an end of a range.")
    return Status(StatusCode.CONVERGED)
