"""From a problem, a model and a readout to a prediction."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any, overload

import numpy as np

from sparsetoken.base.validation import InvalidInput, real
from sparsetoken.model.base import Problem
from sparsetoken.model.concepts import ConceptProblem
from sparsetoken.model.models import Attention, Model, require_model
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import Readout, require_readout
from sparsetoken.model.task import Task
from sparsetoken.model.values import broadcast, require_numbers
from sparsetoken.numerics.threads import one_thread
from sparsetoken.results import Prediction, TaskPrediction
from sparsetoken.results.record import stacked
from sparsetoken.theory.accuracy import TOLERANCE
from sparsetoken.theory.predict_at_dimension import predict_at
from sparsetoken.theory.readout.predictor import Predictor
from sparsetoken.work import map_points

_OF_TASKS = 1e-3  # as of `descend`


@overload
def predict(
    problem: SparseTokenProblem,
    model: Model = ...,
    readout: Readout = ...,
    *,
    test_problem: SparseTokenProblem | None = None,
    dimension: int | None = ...,
    tolerance: float | None = ...,
    workers: int = ...,
    keep: str | os.PathLike[str] | None = ...,
    progress: bool = ...,
) -> Prediction: ...


@overload
def predict(
    problem: ConceptProblem | Task,
    model: Model = ...,
    readout: Readout = ...,
    *,
    tolerance: float | None = ...,
    workers: int = ...,
    keep: str | os.PathLike[str] | None = ...,
    progress: bool = ...,
) -> TaskPrediction: ...


@one_thread()
def predict(
    problem: Problem,
    model: Model = Attention(),
    readout: Readout = Readout(),
    *,
    test_problem: SparseTokenProblem | None = None,
    dimension: int | None = None,
    tolerance: float | None = None,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Prediction | TaskPrediction:
    """Predict test error, training loss and AUC of a readout, as n0, n1, d -> infinity.

    Any numeric field of problem, model and readout may hold an array; arrays broadcast against one
    another, and the quantities of the result are arrays of their shape. The query that a descent
    ends with is ``trajectory.weights.query(beta)`` of its trajectory.

    Parameters
    ----------
    problem : SparseTokenProblem, ConceptProblem or Task
        Among tokens of a covariance ridge 0 needs an inverse of it, covariances within and between
        samples must commute, and beside the latter the weights of a model add up to 1.
        A task other than the `SparseTokenProblem` has isotropic tokens and two classes or a target
        that is a number; its model is `Pooled` or has a query that is given by its cosines, and the
        ridge is > 0. `minimize` has readouts of K > 2 classes.
    model : Model
        With its query, or the steps that find it. `Elementwise` uses the query that the
        steps find for softmax attention.
    readout : Readout
        Ridge 0 is the limit lambda -> 0+. Below the interpolation
        threshold of the square loss, or the capacity for other losses, the overlaps are then
        those of the shortest readout that fits exactly, with margin 1 for logistic and hinges.
        The norm of the
        logistic readout diverges there: only its direction, errors and AUC have this limit.
        Its alpha1 may be ``inf``, the limit of infinite data.
    test_problem : SparseTokenProblem, optional
        The problem of new data, on which test error and AUC are predicted; by default the
        one trained on. For `Vectorized` it must have the same length. Its tokens have the
        same law.
    dimension : int >= 2, optional
        d at which the query is found by `TwoSteps`, for tokens of a covariance their own. All
        numbers are then means over 128 data sets D0 of n0 = alpha0 d samples, and `spread` is the
        standard deviation of the test error over them. The readout is that of the limit, from
        which one at dimension d differs by terms of order 1/d. The default is the limit of the
        query, too.
    tolerance : float, optional
        What twice the error of each number may be, in (0, 1): by default 1e-4, and 1e-3 for tasks
        other than the `SparseTokenProblem`. It is absolute for errors and for a training loss up to
        1; small test errors and losses are known to 100 times the tolerance, relative, but a loss
        below 1e-4 to 1% of the tolerance. The AUC, and overlaps and bias relative to the larger of
        the readout's norm and bias, are known to 10 times the tolerance. Nodes are added until all
        are. At a dimension a number is known to a fifth of its spread instead, where that is more.
    workers : int >= 1
        Processes that compute points. In a `joblib.parallel_config`, 1 leaves the choice to it.
    keep : path, optional
        A folder that keeps the result of each point as it ends, and from which the same call takes
        what earlier runs have kept. Functions and classes of your own need a version.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Prediction, or TaskPrediction of a task
        Use it only if ``converged``, which is said of all its numbers; `errors` has the error of
        each, and twice that covers 95%. A query counts as exact: the error of one that a descent
        found is not in them. At ridge 0 the status is NO_LIMIT on the threshold, and with
        another loss than the square where `capacity` has no limit. It is approximate where few
        directions carry the covariance of the tokens, so that the query varies: give `dimension`.
        `advice` explains a poor query.

    Raises
    ------
    InvalidInput
        If a value is outside its range, arrays do not broadcast, or the ridge is 0 with a
        custom loss.

    See Also
    --------
    simulate : The same experiment at finite dimension.
    align : The query in the limit of high dimension.
    capacity : The largest load that is linearly separable.
    sparsetoken.theory.oracle.learning_error : The Bayes-optimal error with finite data.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = st.predict(problem, st.Pooled(), st.Readout("logistic", ridge=1e-2, alpha1=2.0))
    >>> print(f"{found.test_error:.4f}", found.converged)
    0.2934 True
    """
    of_task = isinstance(problem, (ConceptProblem, Task))
    if tolerance is None:
        tolerance = _OF_TASKS if of_task else TOLERANCE
    real("tolerance", tolerance, 0.0, 1.0, open_low=True, open_high=True)
    if test_problem is not None and not isinstance(test_problem, SparseTokenProblem):
        raise InvalidInput("test_problem", "a SparseTokenProblem or None", test_problem)
    require_numbers(test_problem)
    for name, given in (("test_problem", test_problem), ("dimension (d)", dimension)):
        if of_task and given is not None:
            raise InvalidInput(name, "None for a task", given)
    if not of_task:
        require_problem(problem)
    grid = broadcast(problem, model, readout)
    for _, classifier, at in grid.points:
        require_model(classifier)
        require_readout(at)
    rows = map_points(
        functools.partial(
            _predictions, test_problem=test_problem, tolerance=tolerance, dimension=dimension
        ),
        grid.points,
        call=["predict", test_problem, tolerance, dimension],
        together=_of_features,
        workers=workers,
        keep=keep,
        progress=progress,
    )
    return stacked(rows, grid)


Point = tuple[Any, Model, Readout]


def _of_features(point: Point) -> tuple[Any, ...]:
    """Return what points share whose features are the same: they are solved together."""
    problem, model, readout = point
    return problem, model, readout.loss


def _predictions(
    points: Sequence[Point],
    test_problem: SparseTokenProblem | None,
    tolerance: float,
    dimension: int | None,
) -> Iterator[Prediction | TaskPrediction]:
    """Yield the predictions at points that differ in load and ridge alone."""
    problem, model, _ = points[0]
    readouts = [readout for _, _, readout in points]
    if isinstance(problem, (ConceptProblem, Task)):
        from sparsetoken.theory.predict_task import predict_task  # with JAX

        yield from predict_task(problem, model, readouts, tolerance=tolerance)
    elif dimension is not None:
        yield from predict_at(problem, model, test_problem, readouts, tolerance, dimension)
    else:
        yield from Predictor(problem, model, test_problem).each(readouts, tolerance)


@one_thread()
@np.errstate(under="ignore")
def predict_readouts(
    problem: SparseTokenProblem,
    model: Model,
    readouts: Sequence[Readout],
    tolerance: float = 1e-4,
    *,
    nodes: int | None = None,
) -> list[Prediction]:
    """Return predictions with several readouts of one loss.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
    readouts : sequence of Readout
    tolerance : float
        As of `predict`.
    nodes : int, optional
        A fixed number of nodes for each class and scramble, a power of two, whatever the
        tolerance. The differences between the predictions are then exact, far below the
        error of the nodes themselves.

    See Also
    --------
    sparsetoken.predict : With one readout, or arrays of parameters.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.theory import predict_readouts
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readouts = [st.Readout("square", ridge=0.1, alpha1=alpha) for alpha in (1.0, 4.0)]
    >>> [f"{p.test_error:.3f}" for p in predict_readouts(problem, st.Pooled(), readouts)]
    ['0.325', '0.258']
    """
    require_problem(problem)
    require_model(model)
    return Predictor(problem, model, None, nodes).predictions(readouts, tolerance)
