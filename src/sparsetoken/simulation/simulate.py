"""Finite-dimensional trials of the four stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import overload

from sparsetoken.models import Attention, Model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import (
    Outcome,
    SimulatedTrajectory,
    Simulation,
    Status,
    StatusCode,
    Table,
    Trajectories,
    over_arrays,
)
from sparsetoken.simulation.averages import mean, standard_error
from sparsetoken.simulation.descent import simulate_descent
from sparsetoken.simulation.parallel import run_all
from sparsetoken.simulation.trial import Setting, Trial, TrialPlan, dimension_of
from sparsetoken.stages import JointDescent, Readout
from sparsetoken.validation import InvalidInput, integer


@overload
def simulate(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
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
    on_trial: Callable[[int, Outcome], None] | None = None,
) -> Simulation | Table[Simulation]: ...


@overload
def simulate(
    problem: SparseTokenProblem,
    model: Model = Attention(),
    readout: Readout | None = None,
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
    on_trial: Callable[[int, Outcome], None] | None = None,
) -> Simulation | Table[Simulation] | SimulatedTrajectory | Trajectories[SimulatedTrajectory]: ...


def simulate(
    problem: SparseTokenProblem,
    model: Model = Attention(),
    readout: Readout | None = None,
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
    on_trial: Callable[[int, Outcome], None] | None = None,
) -> Simulation | Table[Simulation] | SimulatedTrajectory | Trajectories[SimulatedTrajectory]:
    """Run the experiment at finite dimension; report means and standard errors.

    D0 has round(alpha0 d) samples and D1 round(alpha1 d), each at least 1. Training
    error and loss are those of D1; test error and AUC are conditional expectations
    given the trained classifier. A trial is seeded by the engine, its number and the seed
    alone: two experiments with the same seed share their random numbers, so that what
    differs between them stands out. Give other seeds for independent ones.

    Arrays in the fields of problem, model and readout broadcast, and a table comes back.

    With a query that is a `JointDescent` and no readout all weights are trained together, see
    `simulate_descent`; with a readout, the query that the descent ends with is frozen.

    Parameters
    ----------
    problem : SparseTokenProblem
    model : Model
        With steps that find its query on D0, or with a query: exactly that cosine and
        sharpness are then used. `Elementwise` takes the query that the steps find for
        softmax attention, and pools with phi(beta X q) / L.
    readout : Readout, optional
        By default Readout(). Its alpha is finite.
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
        Tensors only: measure test error and AUC on so many fresh samples instead.
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

    Returns
    -------
    Simulation or Table, or SimulatedTrajectory or Trajectories
        Its status says if a training set had one class or a fit did not converge.

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
    >>> abs(found.mean.test_error - 0.29) < 4 * found.standard_error.test_error
    True
    """
    dimension = dimension_of(problem, dimension)
    joint = isinstance(model, Model) and isinstance(model.query, JointDescent)
    engine = ("tensors" if joint else "reduced") if engine is None else engine
    if joint and readout is None:
        _refuse_for_descent(test_samples, test_problem, device, on_trial)
        return simulate_descent(
            problem,
            model,
            dimension=dimension,
            trials=trials,
            seed=seed,
            dtype=dtype,
            memory_budget=memory_budget,
            engine=engine,
            executor=executor,
        )
    readout = Readout() if readout is None else readout
    setting = Setting(dimension, seed, engine, dtype)
    trials = integer("trials", trials, 1)

    def all_points(points: Sequence[tuple[SparseTokenProblem, Model, Readout]]) -> list[Simulation]:
        plans = [
            TrialPlan(*point, setting, memory_budget, test_samples, test_problem, device)
            for point in points
        ]
        return [_simulated(plan, trials, executor, on_trial) for plan in plans]

    return over_arrays(all_points, problem, model, readout)


def _refuse_for_descent(
    test_samples: int | None,
    test_problem: SparseTokenProblem | None,
    device: str | None,
    on_trial: Callable[[int, Outcome], None] | None,
) -> None:
    """Raise `InvalidInput` for options that a descent without readout would not heed."""
    options = {
        "test_samples": test_samples,
        "test_problem": test_problem,
        "device": device,
        "on_trial": on_trial,
    }
    for name, given in options.items():
        if given is not None:
            remedy = "Leave it out, or call simulate_descent, which has options of its own."
            raise InvalidInput(name, "None for a descent without readout", given, remedy)


def simulate_point(
    problem: SparseTokenProblem,
    model: Model,
    readout: Readout,
    *,
    dimension: int,
    trials: int,
    seed: int = 0,
    engine: str = "reduced",
    test_problem: SparseTokenProblem | None = None,
) -> Simulation:
    """Return `simulate` at a single point, with its most common options.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.simulation import simulate_point
    >>> problem = st.SparseTokenProblem(length=10, informative=1, strength=5.0)
    >>> readout = st.Readout("square", ridge=0.1, alpha1=2.0)
    >>> found = simulate_point(problem, st.Pooled(), readout, dimension=50, trials=2)
    >>> 0 < found.mean.test_error < 0.5
    True
    """
    setting = Setting(dimension, seed, engine)
    plan = TrialPlan(problem, model, readout, setting, test_problem=test_problem)
    return _simulated(plan, integer("trials", trials, 1))


def _simulated(
    plan: TrialPlan,
    trials: int,
    executor: Executor | None = None,
    on_trial: Callable[[int, Outcome], None] | None = None,
) -> Simulation:

    def report(number: int, trial: Trial) -> None:
        if on_trial is not None:
            on_trial(number, trial.outcome)

    done = run_all(plan.run, trials, executor, report)
    outcomes = tuple(trial.outcome for trial in done)
    return Simulation(
        trials=outcomes,
        queries=tuple(trial.query for trial in done),
        readout_cosines=tuple(trial.readout_cosine for trial in done),
        mean=mean(outcomes),
        standard_error=standard_error(outcomes),
        status=_status(done),
    )


def _status(trials: list[Trial]) -> Status:
    single = [i for i, trial in enumerate(trials) if trial.one_class]
    if single:
        remedy = "raise alpha1 or the dimension, or bring positive_rate nearer 1/2"
        return Status(StatusCode.NO_LIMIT, f"D1 holds one class only in trials {single}; {remedy}")
    stuck = [i for i, trial in enumerate(trials) if trial.reason]
    if stuck:
        what = f"the readout of trials {stuck} did not converge"
        return Status(
            StatusCode.TOLERANCE_NOT_REACHED, f"{what} ({trials[stuck[0]].reason}); raise the ridge"
        )
    return Status(StatusCode.CONVERGED)
