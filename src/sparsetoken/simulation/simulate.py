"""Finite-dimensional trials of the four stages, and the training set of the last one."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, overload

from jaxtyping import Float, Int
from numpy import ndarray

from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.model.base import Problem
from sparsetoken.model.concepts import ConceptProblem
from sparsetoken.model.models import Attention, Model
from sparsetoken.model.problem import SparseTokenProblem, require_problem
from sparsetoken.model.stages import Readout, TwoSteps
from sparsetoken.model.task import Task
from sparsetoken.model.values import broadcast
from sparsetoken.results import Simulation, TaskOutcome, TrialOutcome
from sparsetoken.simulation.parallel import simulated
from sparsetoken.simulation.setting import Setting, dimension_of
from sparsetoken.simulation.trial import TrialPlan


@overload
def simulate(
    problem: SparseTokenProblem,
    model: Model = ...,
    readout: Readout = ...,
    *,
    dimension: int | None = ...,
    trials: int = ...,
    seed: int = ...,
    engine: str = ...,
    test_problem: SparseTokenProblem | None = ...,
    workers: int = ...,
    keep: str | os.PathLike[str] | None = ...,
    progress: bool = ...,
) -> Simulation[TrialOutcome]: ...


@overload
def simulate(
    problem: ConceptProblem | Task,
    model: Model = ...,
    readout: Readout = ...,
    *,
    dimension: int | None = ...,
    trials: int = ...,
    seed: int = ...,
    engine: str = ...,
    workers: int = ...,
    keep: str | os.PathLike[str] | None = ...,
    progress: bool = ...,
) -> Simulation[TaskOutcome]: ...


def simulate(
    problem: Problem,
    model: Model = Attention(),
    readout: Readout = Readout(),
    *,
    dimension: int | None = None,
    trials: int = 8,
    seed: int = 0,
    engine: str = "reduced",
    test_problem: SparseTokenProblem | None = None,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    progress: bool = True,
) -> Simulation[TrialOutcome] | Simulation[TaskOutcome]:
    """Run the experiment at finite dimension; report means and standard errors.

    D0 has round(alpha0 d) samples and D1 round(alpha1 d), each at least 1. Training
    error and loss are those of D1; test error and AUC are conditional expectations
    given the trained classifier. A trial is seeded by the engine, its number and the seed
    alone: two experiments with the same seed share their random numbers, so that what
    differs between them stands out. Give other seeds for independent ones.

    Arrays in the fields of problem, model and readout broadcast.

    Parameters
    ----------
    problem : SparseTokenProblem, ConceptProblem or Task
        Another task than the `SparseTokenProblem` has isotropic tokens and two classes or a target
        that is a number; its model is `Pooled` or has a query that is given by its cosines.
    model : Model
        With steps that find its query on D0, or with a query: exactly that cosine and
        sharpness are then used. `Elementwise` takes the query that the steps find for
        softmax attention, and pools with phi(beta X q) / L. Weights of your own are those of a
        `sparsetoken.model.QueriedModel`.
    readout : Readout
        Its alpha1 is finite.
    dimension : int, optional
        d; at least 3 for the reduced engine. By default that of the tokens' covariance, or 1000.
    trials : int >= 1
    seed : int >= 0
    engine : str
        "reduced" samples the law without tokens, "tensors" draws real tokens, as is always done for
        another task than the `SparseTokenProblem`.
    test_problem : SparseTokenProblem, optional
        The problem of new data, on which test error and AUC are measured; by default the
        one trained on. It changes no draw of the training. For ``vectorized`` it must
        have the same length.
    workers : int >= 1
        Processes that run trials. In a `joblib.parallel_config`, 1 leaves the choice to it.
    keep : path, optional
        A folder that keeps the result of each trial as it ends, and from which the same call takes
        what earlier runs have kept. Functions and classes of your own need a version.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Simulation
        With `mean`, `standard_error` and `trials`: of `TrialOutcome`, or `TaskOutcome` of a task.
        Its status says if a training set had one class or a fit did not converge.

    Raises
    ------
    InvalidInput
        If a value is illegal, or an array of a trial would exceed 2 GiB (before anything is
        allocated), or exponential weights would overflow at the query.

    See Also
    --------
    predict : The same in the limit of high dimension.
    sparsetoken.simulation.align : The query at finite dimension.
    sparsetoken.simulation.descend : Gradient descent at finite dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = st.simulate(problem, st.Pooled(), dimension=100, trials=4)
    >>> bool(abs(found.mean.test_error - 0.29) < 4 * found.standard_error.test_error)
    True
    """
    of_task = isinstance(problem, (ConceptProblem, Task))
    if of_task and test_problem is not None:
        raise InvalidInput("test_problem", "None for a task", test_problem)
    if not of_task:
        require_problem(problem)
    setting = Setting(dimension_of(problem, dimension), seed, engine)
    grid = broadcast(problem, model, readout)
    plans: list[Any]
    if of_task:
        from sparsetoken.simulation.task_trial import TaskPlan  # with JAX

        tensors = dataclasses.replace(setting, engine="tensors")
        plans = [TaskPlan(task, of, fitted, tensors) for task, of, fitted in grid.points]
    else:
        plans = [
            TrialPlan(problem, model, readout, setting, test_problem)
            for problem, model, readout in grid.points
        ]
    return simulated(
        plans,
        grid,
        trials,
        call=["simulate"],
        workers=workers,
        keep=keep,
        progress=progress,
    )


def draw_training_set(
    problem: SparseTokenProblem,
    model: Model,
    alpha: float,
    *,
    dimension: int | None = None,
    seed: int = 0,
    trial: int = 0,
    engine: str = "reduced",
) -> tuple[Float[ndarray, "n m"], Int[ndarray, " n"]]:
    """Draw D1 as stage 4 sees it: pooled features and labels, for a given query.

    The reduced engine gives features in a rotated frame; neither a fit with a ridge nor
    the question of separability can tell the difference.

    Parameters
    ----------
    problem, dimension, seed, engine
        As for `simulate`.
    model : Model
        Its query, if it has one, is given as a `Query`.
    alpha : float
        n1 / d.
    trial : int >= 0
        Number of the training set; others of the same seed are independent.

    Returns
    -------
    features : array of shape (n1, m)
    labels : array of shape (n1,), in {-1, +1}

    Raises
    ------
    InvalidInput
        If a value is illegal, the query is not given, or an array would exceed 2 GiB.

    See Also
    --------
    is_separable : Whether a training set is linearly separable.
    sparsetoken.simulate : The same experiment at finite dimension.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.simulation import draw_training_set
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> features, labels = draw_training_set(problem, st.Pooled(), 2.0, dimension=50)
    >>> features.shape, labels.shape
    ((100, 50), (100,))
    """
    require_problem(problem)
    d = dimension_of(problem, dimension)
    setting = Setting(d, seed, engine)
    plan = TrialPlan(problem, model, Readout(alpha1=alpha), setting)
    if isinstance(model.query, TwoSteps):
        raise InvalidInput("query of the model", "a Query", model.query)
    design = plan.draw(integer("trial", trial, 0)).design
    return design.features, design.labels
