"""The best descent on one data set."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from sparsetoken.base.progress import progress_of
from sparsetoken.base.tables import Shown
from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.model.descent import Descent, stem_of, training_of
from sparsetoken.model.task_law import Problem
from sparsetoken.model.values import require_numbers
from sparsetoken.results import CONVERGED, Course, Status, StatusCode
from sparsetoken.theory.dynamics.descend import descend, test_errors
from sparsetoken.theory.tuning.search import Point, Range, search, search_ended

_FACTOR = math.log(1e3)  # by which each number may differ from its start
_LASTS = 3  # steps over which a least test error must last
_REPLICAS = 2  # in the search; all see the same samples, so that differences are sharp


@dataclasses.dataclass(frozen=True, repr=False)
class BestDescent(Shown):
    """The best descent of a search.

    Attributes
    ----------
    descent : Descent
        It ends where its test error is smallest.
    course : Course
        Its own status tells how well all steps are known.
    evaluations : int
        How many descents were followed.
    status : Status
        Of the search: ``max_iterations`` if it ran out of evaluations, ``no_limit`` if a number
        is best at an end of its range or every descent diverged.
    """

    descent: Descent
    course: Course
    evaluations: int
    status: Status

    def _shown(self) -> tuple[list[dict[str, Any]], tuple[str, ...]]:
        ended = search_ended(self.evaluations, self.status)
        return self.course.records(), (ended, f"{self.descent!r}", *self.course.advice)


def best_descent(
    problem: Problem,
    descent: Descent,
    *,
    evaluations: int = 60,
    replicas: int = 16,
    progress: bool = True,
) -> BestDescent:
    """Search for the descent on all samples with the smallest test error.

    The descent stops at the end of the three steps whose largest test error is smallest: a lower
    one that does not last would not occur at finite dimension. The search follows the limit; among
    tokens of a `TokenCovariance` the course that is returned is a mean over data sets, as of
    `descend`.

    Equation: best-descent, ``argmin of E`` over factors of rates, decay and momentum, and the
    steps, along quadratic models of it (COBYQA).

    Parameters
    ----------
    problem : SparseTokenProblem, ConceptProblem or Task
    descent : Descent
        Where the search starts, with the most steps that are taken, at least 3. The rates and the
        decay of the columns of each kind (those whose names differ in digits alone), the rates of
        the further weights, and the odds m / (1 - m) of the momentum m are multiplied by a number
        each. What is 0 remains so, and all else is kept.
    evaluations : int
        The most descents that are followed, at least 1.
    replicas : int
        Of the course that is returned, as for `descend`.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Raises
    ------
    InvalidInput
        If a value is outside its range, or all rates are 0.

    See Also
    --------
    best_training : Split, step sizes, sharpness and ridge together.
    sparsetoken.descend : The course of gradient descent in the limit of high dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> start = st.Descent(alpha=2.0, steps=3)
    >>> found = st.tuning.best_descent(problem, start, evaluations=1, replicas=2)
    >>> found.descent.alpha
    2.0
    """
    integer("evaluations", evaluations, 1)
    require_numbers(problem, descent)
    space = _space_of(problem, descent)
    integer("steps of the search", descent.steps, 3)

    def evaluate(point: Point) -> _Lasting:
        moved = space.descent(np.exp(point), descent.steps)
        return _lasting(test_errors(problem, moved, _REPLICAS))

    ranges = [Range(name, -_FACTOR, _FACTOR, "start from another value") for name in space.names]
    with progress_of("descents", evaluations + 1, progress) as done:
        start = (0.0,) * len(space.names)
        optimum = search(evaluate, ranges, [start], evaluations, done, smooth=False)
        best = space.descent(np.exp(optimum.point), optimum.result.step)
        course = descend(problem, best, replicas=replicas)
    return BestDescent(best, course, optimum.evaluations, optimum.status)


class _Space(NamedTuple):
    """The names of the factors of a search, and what maps factors to the first steps."""

    names: tuple[str, ...]
    descent: Callable[[Sequence[float] | np.ndarray, int], Descent]


def _space_of(task: Problem, given: Descent) -> _Space:
    training = training_of(task, given)
    kinds = [stem_of(column) for column in training.columns]
    names = [f"rates of {k}" for k, x in zip(kinds, training.rates.T, strict=True) if x.any()]
    names += ["rate_c"] if training.weights and training.rates_c.any() else []
    if not names:
        raise InvalidInput("rates of the search", "above 0 somewhere", given.rates)
    names += [f"decay of {k}" for k, x in zip(kinds, training.decay, strict=True) if x]
    names += ["momentum"] if training.momentum.any() else []
    names = list(dict.fromkeys(names))

    def descent(factors: Sequence[float] | np.ndarray, steps: int) -> Descent:
        known = dict(zip(names, factors, strict=True))
        rates, decay = (
            [known.get(f"{what} of {kind}", 1.0) for kind in kinds] for what in ("rates", "decay")
        )
        momentum = training.momentum[:steps]
        odds = known.get("momentum", 1.0) * momentum / (1 - momentum)
        return dataclasses.replace(
            given,
            steps=steps,
            rates=training.rates[:steps] * rates,
            rate_c=(training.rates_c[:steps] * known.get("rate_c", 1.0)).tolist(),
            decay=training.decay * decay,
            momentum=(odds / (1 + odds)).tolist(),
        )

    return _Space(tuple(names), descent)


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
