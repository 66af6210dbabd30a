"""The best descent on one data set."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from scipy.optimize import minimize

from sparsetoken.models import Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Status, StatusCode, Trajectory
from sparsetoken.stages import JointDescent, TwoSteps
from sparsetoken.theory.alignment.two_steps import align_point
from sparsetoken.theory.dynamics import TOLERANCE, descend_point
from sparsetoken.validation import InvalidInput, integer, real
from sparsetoken.values import require_numbers

__all__ = ["BestDescent", "best_descent"]

_FIRST_W = 0.5  # where the search starts
_SHARPNESS = 2.0  # of the query at the start: neither blunt nor hard
_REST = (1.5, 1e-3, 5e-2)  # eta_w, eta_q and decay_w of the rest, the query nearly at rest
_FACTOR = math.log(1e3)  # by which each number may differ from its start
_MOMENTUM = 0.6  # of the rest: with it the readout is near its minimum after some ten steps
_FIRST_MOVE = 0.7  # of each coordinate, a factor of two
_NEAR, _FLAT = 0.02, 1e-3  # of the logarithms of the sizes and of the test error
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
    evaluations: int = 60,
    replicas: int = 16,
) -> BestDescent:
    """Search for the descent on all samples whose test error is least.

    The first step moves readout and bias, the second the query; the rest move all of them, with
    momentum 0.6 and weight decay of the readout. Five numbers are chosen: the two first step
    sizes, those of the rest and the decay. The bias moves as the readout. The descent stops at
    the end of the three steps whose largest test error is least: a lower one that does not last
    would not be met at finite dimension.

    Equation: best-descent, ``argmin of E`` over these numbers and the steps.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Attention or Elementwise
        Its query is a `JointDescent`, of which alpha, steps (at least 3, the most that are
        taken), beta and loss are kept.
    evaluations : int
        The most descents that are followed, at least 1.
    replicas : int
        Of the course that is returned, as for `descend`.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or the model cannot be trained by descent.
    """
    require_numbers(problem, model)
    given = model.query
    if not isinstance(given, JointDescent):
        remedy = "Write st.Attention(st.JointDescent(...)), for example."
        raise InvalidInput("query of the model", "a JointDescent", given, remedy)
    integer("steps of the search", given.steps, 3)
    integer("evaluations", evaluations, 1)
    seen: dict[tuple[float, ...], tuple[float, int]] = {}

    def error(at: np.ndarray) -> float:
        x = tuple(float(value) for value in at)
        if x not in seen:
            queried = _with(model, _descent(given, x))
            course = descend_point(problem, queried, replicas=_REPLICAS)
            seen[x] = _lasting(course.test_error)
        return seen[x][0]

    first = np.log(_start(problem, given))
    bounds = [(x - _FACTOR, x + _FACTOR) for x in first.tolist()]
    simplex = np.stack([first, *(first + _FIRST_MOVE * np.eye(len(first)))])
    options = {"initial_simplex": simplex, "maxfev": evaluations, "xatol": _NEAR, "fatol": _FLAT}
    minimize(error, first, method="Nelder-Mead", bounds=bounds, options=options)
    x = min(seen, key=lambda x: seen[x][0])
    best = _descent(given, x, max(seen[x][1], 1))
    course = descend_point(problem, _with(model, best), replicas=replicas)
    return BestDescent(best, course, len(seen), _status(course, x, bounds))


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


def _start(problem: SparseTokenProblem, given: JointDescent) -> tuple[float, ...]:
    """Return the numbers at the start; the query then has `_SHARPNESS` with softmax."""
    unit = TwoSteps(given.alpha, _FIRST_W, _FIRST_W, 1.0, given.beta, given.loss)
    length = align_point(problem, unit).sharpness
    remedy = "Take more than one token, and a strength above 0."
    real("length of the query", length, 0.0, open_low=True, remedy=remedy)
    return _FIRST_W, _SHARPNESS / length, *_REST


def _with(model: Model, descent: JointDescent) -> Model:
    found: Model = dataclasses.replace(model, query=descent)  # type: ignore[call-arg]
    return found


def _descent(
    given: JointDescent, logarithms: tuple[float, ...], steps: int | None = None
) -> JointDescent:
    """Return the first steps of the descent with these numbers, all by default."""
    first_w, first_q, eta_w, eta_q, decay = (math.exp(x) for x in logarithms)
    rest = given.steps - 2
    readout = [first_w, 0.0, *[eta_w] * rest][:steps]
    return JointDescent(
        alpha=given.alpha,
        steps=len(readout),
        eta_w=readout,
        eta_b=readout,
        eta_q=[0.0, first_q, *[eta_q] * rest][:steps],
        momentum=[0.0, 0.0, 0.0, *[_MOMENTUM] * (rest - 1)][:steps],
        decay_w=decay,
        beta=given.beta,
        loss=given.loss,
    )


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
