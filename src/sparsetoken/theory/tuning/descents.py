"""The best descent on one data set."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any, Generic, NamedTuple, TypeVar, overload

import numpy as np
from jaxtyping import Float

from sparsetoken.concepts import Task
from sparsetoken.descents import Descent
from sparsetoken.models import Model, entry_of
from sparsetoken.problem import SparseTokenProblem, require_problem
from sparsetoken.progress import progress_of
from sparsetoken.results import CONVERGED, Course, Status, StatusCode, Trajectory
from sparsetoken.stages import JointDescent
from sparsetoken.theory.dynamics.descend import descend, test_errors
from sparsetoken.theory.tuning.families import Descents, family_of, network_family
from sparsetoken.theory.tuning.search import Point, Range, search
from sparsetoken.validation import InvalidInput, choice, integer
from sparsetoken.values import require_numbers

_FACTOR = math.log(1e3)  # by which each number may differ from its start
_LASTS = 3  # steps over which a least test error must last
_REPLICAS = 2  # in the search; all see the same samples, so that differences are sharp


Trained = TypeVar("Trained", JointDescent, Descent)
Found = TypeVar("Found", Trajectory, Course)


@dataclasses.dataclass(frozen=True)
class BestDescent(Generic[Trained, Found]):
    """The best descent of a search.

    Attributes
    ----------
    descent : JointDescent or Descent
        It ends where its test error is smallest.
    course : Trajectory or Course
        Its own status tells how well all steps are known.
    evaluations : int
        How many descents were followed.
    status : Status
        Of the search: ``max_iterations`` if it ran out of evaluations, ``no_limit`` if a number
        is best at an end of its range or every descent diverged.

    See Also
    --------
    best_descent : The function that returns it.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> start = st.Attention(st.JointDescent(alpha=2.0, steps=3))
    >>> found = st.tuning.best_descent(problem, start, evaluations=1, replicas=2)
    >>> found.evaluations, str(found.status)
    (1, 'max_iterations')
    """

    descent: Trained
    course: Found
    evaluations: int
    status: Status


@overload
def best_descent(
    problem: SparseTokenProblem,
    model: Model,
    *,
    family: str = ...,
    evaluations: int = ...,
    replicas: int = ...,
    progress: bool = ...,
) -> BestDescent[JointDescent, Trajectory]: ...
@overload
def best_descent(
    problem: Task,
    model: Descent,
    *,
    family: str = ...,
    evaluations: int = ...,
    replicas: int = ...,
    progress: bool = ...,
) -> BestDescent[Descent, Course]: ...
def best_descent(
    problem: Task,
    model: Model | Descent,
    *,
    family: str = "constant",
    evaluations: int = 60,
    replicas: int = 16,
    progress: bool = True,
) -> BestDescent[Any, Any]:
    """Search for the descent on all samples with the smallest test error.

    The bias moves as the readout. The descent stops at the end of the three steps whose largest
    test error is smallest: a lower one that does not last would not occur at finite dimension.

    Equation: best-descent, ``argmin of E`` over the numbers of the family and the steps, along
    quadratic models of it (COBYQA).

    Parameters
    ----------
    problem : SparseTokenProblem, or with a Descent also ConceptProblem
    model : Attention or Elementwise, or Descent
        The query of a model is a `JointDescent`, of which alpha, steps (at least 3, the most that
        are taken), beta and loss are kept. Of a `Descent` the rates of the columns of each kind
        (those whose names differ in digits alone) and of the further weights are multiplied by a
        number each, and all else is kept.
    family : str
        Of a model. ``constant``: constant step sizes of readout and query, momentum and weight
        decay of the readout. ``two_steps``: a step of the readout, one of the query, then
        constant ones of both. ``alternating``: readout and query in turns. ``warm_up`` and
        ``fading``: the steps of the query grow or fall. ``free``: the steps of each size of the
        given descent itself, all else as given; what another family found is a start for it.
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

    See Also
    --------
    best_training : Split, step sizes, sharpness and ridge together.
    sparsetoken.descend : The course of gradient descent in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> start = st.Attention(st.JointDescent(alpha=2.0, steps=3))
    >>> found = st.tuning.best_descent(problem, start, evaluations=1, replicas=2)
    >>> found.descent.alpha
    2.0
    """
    integer("evaluations", evaluations, 1)
    if isinstance(model, Descent):
        searched = _searched_network(problem, model, family)
    else:
        searched = _searched_model(problem, model, family)
    given, descents, trained = searched
    integer("steps of the search", given.steps, 3)

    def worth(point: Point) -> _Lasting:
        descent = descents.descent(np.exp(point), given.steps)
        return _lasting(test_errors(problem, trained(descent), _REPLICAS))

    ranges = [
        Range(name, math.log(x) - _FACTOR, math.log(x) + _FACTOR, "start from another value")
        for name, x in descents.start.items()
    ]
    start = tuple(math.log(x) for x in descents.start.values())
    with progress_of("descents", evaluations + 1, progress) as done:
        found = search(worth, ranges, [start], evaluations, done, smooth=False)
        best = descents.descent(np.exp(found.point), found.result.step)
        course = descend(problem, trained(best), replicas=replicas)
    return BestDescent(best, course, found.evaluations, found.status)


_Searched = tuple[Any, Descents[Any], Callable[[Any], Any]]
"""A descent, those of its form, and what is trained by one of them."""


def _searched_network(problem: Task, given: Descent, family: str) -> _Searched:
    choice("family of a Descent", family, ("constant",))
    require_numbers(problem, given)
    return given, network_family(problem, given), lambda descent: descent


def _searched_model(problem: Any, model: Model, family: str) -> _Searched:
    require_problem(problem)
    entry_of(model)
    require_numbers(problem, model)
    given = model.query
    if not isinstance(given, JointDescent):
        remedy = "Write st.Attention(st.JointDescent(...)), for example."
        raise InvalidInput("query of the model", "a JointDescent", given, remedy)

    def trained(descent: JointDescent) -> Model:
        return dataclasses.replace(model, query=descent)  # type: ignore[call-arg]

    return given, family_of(family, problem, given), trained


class _Lasting(NamedTuple):
    """The smallest test error that lasts some steps, and the last of them."""

    test_error: float
    step: int
    status: Status


def _lasting(test_error: Float[np.ndarray, " states"]) -> _Lasting:
    """Return the smallest maximum of the test error over some consecutive steps.

    A single step below its neighbours belongs to an oscillating descent, whose phase differs at
    finite dimension. Steps after a divergence do not count.
    """
    windows = np.lib.stride_tricks.sliding_window_view(test_error, _LASTS)
    largest = windows.max(axis=1)
    known = np.where(np.isnan(largest), math.inf, largest)
    first = int(np.argmin(known))
    least = float(known[first])
    diverges = Status(StatusCode.NO_LIMIT, "The descent diverges.")
    status = CONVERGED if math.isfinite(least) else diverges
    return _Lasting(least, first + _LASTS - 1, status)
