"""Finite-dimensional trials of the four stages."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor

from sparsetoken.models import Attention, Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import Simulation, TrialOutcome
from sparsetoken.simulation.parallel import simulated
from sparsetoken.simulation.setting import Setting, dimension_of
from sparsetoken.simulation.trial import TrialPlan
from sparsetoken.stages import JointDescent, Readout
from sparsetoken.values import broadcast


def simulate(
    problem: SparseTokenProblem,
    model: Model = Attention(),
    readout: Readout = Readout(),
    *,
    dimension: int | None = None,
    trials: int = 8,
    seed: int = 0,
    engine: str | None = None,
    dtype: str = "float64",
    memory_budget: int | None = None,
    test_samples: int | None = None,
    test_problem: SparseTokenProblem | None = None,
    device: str | None = None,
    executor: Executor | None = None,
    on_trial: Callable[[int, TrialOutcome], None] | None = None,
    progress: bool = True,
) -> Simulation[TrialOutcome]:
    """Run the experiment at finite dimension; report means and standard errors.

    D0 has round(alpha0 d) samples and D1 round(alpha1 d), each at least 1. Training
    error and loss are those of D1; test error and AUC are conditional expectations
    given the trained classifier. A trial is seeded by the engine, its number and the seed
    alone: two experiments with the same seed share their random numbers, so that what
    differs between them stands out. Give other seeds for independent ones.

    Arrays in the fields of problem, model and readout broadcast.

    With a query that is a `JointDescent`, the query that the descent ends with is frozen;
    `simulation.descend` follows the descent itself.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With steps that find its query on D0, or with a query: exactly that cosine and
        sharpness are then used. `Elementwise` takes the query that the steps find for
        softmax attention, and pools with phi(beta X q) / L.
    readout : Readout
        Its alpha1 is finite.
    dimension : int, optional
        d; at least 3 for the reduced engine. By default that of the tokens' covariance, or 1000.
    trials : int >= 1
    seed : int >= 0
    engine : str, optional
        "reduced" samples the law without tokens, "tensors" draws real tokens. By default
        reduced, but tensors where a `JointDescent` finds the query, which needs them.
    dtype : str
        float64 or float32, the type of real tokens.
    memory_budget : int, optional
        Bytes that one trial may use; 4 GiB by default.
    test_samples : int, optional
        Tensors only: measure test error and AUC on this number of fresh samples instead.
    test_problem : SparseTokenProblem, optional
        The problem of new data, on which test error and AUC are measured; by default the
        one trained on. It changes no draw of the training. For ``vectorized`` it must
        have the same length.
    device : str, optional
        Of JAX, cpu or gpu, for the products of the fit of stage 4; by default NumPy takes
        them. It changes no draw, and results within the tolerance of the fit only.
    executor : concurrent.futures.Executor, optional
        Runs the trials; by default they run here, one after another.
    on_trial : callable, optional
        Called as on_trial(number, outcome) after each trial, in order of completion; over
        arrays for each point in turn.
    progress : bool
        Whether a call of more than two seconds shows its progress on a terminal or in a notebook.

    Returns
    -------
    Simulation
        With `mean`, `standard_error` and `trials`. Its status says
        if a training set had one class or a fit did not converge.

    Raises
    ------
    InvalidInput
        If a value is illegal, or the memory needed exceeds the budget (before anything
        is allocated), or exponential weights would overflow at the query, or JAX has no
        such device.

    Examples
    --------
    >>> import sparsetoken as st
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> found = st.simulate(problem, st.Pooled(), dimension=100, trials=4)
    >>> bool(abs(found.mean.test_error - 0.29) < 4 * found.standard_error.test_error)
    True
    """
    dimension = dimension_of(problem, dimension)
    joint = isinstance(model, Model) and isinstance(model.query, JointDescent)
    setting = Setting(dimension, seed, engine or ("tensors" if joint else "reduced"), dtype)
    grid = broadcast(problem, model, readout)
    plans = [
        TrialPlan(
            problem, model, readout, setting, memory_budget, test_samples, test_problem, device
        )
        for problem, model, readout in grid.points
    ]
    return simulated(plans, grid, trials, executor=executor, on_trial=on_trial, progress=progress)
