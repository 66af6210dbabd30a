"""Commands on training all weights at once: descend, and floor, the best of all learners."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any

from sparsetoken.cli import options as o
from sparsetoken.cli.progress import counting, progress_bar
from sparsetoken.cli.show import finish, guarded, message, put_json, put_values

if TYPE_CHECKING:
    from rich.table import Table

    from sparsetoken.models import Model
    from sparsetoken.results import SimulatedTrajectory, Trajectory
    from sparsetoken.stages import JointDescent

DESCENT = "Descent (a size of steps is one number, or one for each step with commas between)"
EXPERIMENT = "Experiment (any of these adds a simulation)"

SHOWN = (
    "test_error",
    "training_loss",
    "cosine",
    "overlap_w",
    "overlap_q",
    "norm_w",
    "norm_q",
    "product_wq",
    "bias",
)


@dataclasses.dataclass(frozen=True)
class _DescentOptions:
    """The options of a descent."""

    loss: Annotated[str, o.option("--loss", "square, logistic or squared_hinge.", DESCENT)] = (
        "logistic"
    )
    alpha: Annotated[float, o.option("--alpha", "n/d > 0, samples per dimension.", DESCENT)] = 2.0
    steps: Annotated[int, o.option("--steps", "Number of steps, at least 1.", DESCENT)] = 12
    eta_w: Annotated[str, o.option("--eta-w", "Step size of the readout.", DESCENT)] = "1"
    eta_q: Annotated[str, o.option("--eta-q", "Step size of the query.", DESCENT)] = "4"
    eta_b: Annotated[str, o.option("--eta-b", "Step size of the bias.", DESCENT)] = "0.5"
    beta: Annotated[
        float, o.option("--beta", "Inverse temperature > 0 of the weights.", DESCENT)
    ] = 1.0
    momentum: Annotated[float, o.option("--momentum", "In [0, 1).", DESCENT)] = 0.0
    decay_w: Annotated[
        float, o.option("--decay-w", "Weight decay of the readout, at least 0.", DESCENT)
    ] = 0.0
    decay_q: Annotated[
        float, o.option("--decay-q", "Weight decay of the query, at least 0.", DESCENT)
    ] = 0.0
    batches: Annotated[
        int, o.option("--batches", "Batches that take turns; 1: all data in each step.", DESCENT)
    ] = 1
    start_w: Annotated[
        float, o.option("--start-w", "Length of the readout at the start.", DESCENT)
    ] = 0.0
    start_q: Annotated[
        float, o.option("--start-q", "Length of the query at the start.", DESCENT)
    ] = 0.0
    start_product: Annotated[
        float, o.option("--start-product", "Inner product of the two at the start.", DESCENT)
    ] = 0.0

    def descent(self) -> JointDescent:
        """Return the steps."""
        from sparsetoken.stages import JointDescent

        given = dataclasses.asdict(self)
        for name in ("eta_w", "eta_q", "eta_b"):
            given[name] = _schedule("--" + name.replace("_", "-"), given[name])
        return JointDescent(**given)


def _schedule(name: str, text: str) -> float | list[float]:
    sizes = o.numbers(name, text, float, "a number, or numbers with commas between")
    return sizes[0] if len(sizes) == 1 else sizes


@guarded
@o.grouped
def descend(
    task: o.TaskOptions,
    training: _DescentOptions,
    model: Annotated[str, o.option("--model", "attention or elementwise.", DESCENT)] = "attention",
    activation: Annotated[
        str, o.option("--activation", "Of elementwise: erf, sigmoid, tanh, linear, exp.", DESCENT)
    ] = "erf",
    tolerance: o.Tolerance = 1e-3,
    dimension: Annotated[
        int | None, o.option("--dimension", "d, embedding dimension.", EXPERIMENT)
    ] = None,
    trials: Annotated[
        int | None, o.option("--trials", "Independent repetitions.", EXPERIMENT)
    ] = None,
    seed: Annotated[int | None, o.option("--seed", "Seed of all trials.", EXPERIMENT)] = None,
    engine: Annotated[
        str, o.option("--engine", "tensors or reduced: the same law, faster.", EXPERIMENT)
    ] = "tensors",
    workers: Annotated[
        int, o.option("--workers", "Threads of the theory; 1 runs in this one.", DESCENT)
    ] = 1,
    as_json: o.AsJson = False,
) -> None:
    """Predict gradient descent on readout, query and bias together, step by step.

    Example: [cyan]sparsetoken descend --steps 6 --eta-w 1 --eta-q 4 --start-w 0.3[/]
    """
    from sparsetoken import theory
    from sparsetoken.models import make_model
    from sparsetoken.validation import integer

    problem = task.problem()
    classifier = make_model(model, training.descent(), activation=activation)
    given = {"dimension": dimension, "trials": trials, "seed": seed}
    sizes = _sizes(problem, classifier, engine, given)
    workers = integer("workers", workers, 1)
    threads = ThreadPoolExecutor(workers) if workers > 1 else contextlib.nullcontext()
    with threads as executor, counting("replicas") as progress:
        result = theory.descend_point(
            problem, classifier, tolerance=tolerance, executor=executor, on_replica=progress
        )
    simulated = None
    if sizes is not None:
        simulated = _simulated(problem, classifier, engine, **sizes)
    if as_json:
        put_json(_values(result, simulated))
    else:
        _print(result, simulated)
    if simulated is not None and result.status.converged:
        finish(simulated.status)
    finish(result.status)


def _sizes(
    problem: Any, model: Model, engine: str, given: dict[str, int | None]
) -> dict[str, int] | None:
    """Return the sizes of the simulation that is asked for; theory may take long, so check now."""
    from sparsetoken.simulation.descent import DescentPlan
    from sparsetoken.validation import choice, integer

    choice("engine", engine, ("tensors", "reduced"))
    if all(value is None for value in given.values()):
        return None
    defaults = {"dimension": o.DEFAULT_DIMENSION, "trials": o.DEFAULT_TRIALS, "seed": 0}
    sizes = {name: defaults[name] if value is None else value for name, value in given.items()}
    integer("trials", sizes["trials"], 1)
    DescentPlan(problem, model, sizes["dimension"], sizes["seed"], engine=engine)
    return sizes


def _simulated(
    problem: Any, model: Model, engine: str, *, dimension: int, trials: int, seed: int
) -> SimulatedTrajectory:
    from sparsetoken import simulation
    from sparsetoken.results import SimulatedTrajectory

    with progress_bar() as bar:
        progress = bar.add_task("trials", total=trials)
        found = simulation.simulate_descent(
            problem,
            model,
            dimension=dimension,
            trials=trials,
            seed=seed,
            engine=engine,
            on_trial=lambda *_: bar.advance(progress),
        )
    assert isinstance(found, SimulatedTrajectory)  # options hold no arrays
    return found


def _values(result: Trajectory, simulated: SimulatedTrajectory | None) -> dict[str, Any]:
    """Return the keys of the contract, and the simulation under its own key."""
    values: dict[str, Any] = {
        "steps": [
            {"step": row["step"], **{name: row[name] for name in SHOWN}} for row in result.records()
        ],
        "numerical_error": result.numerical_error,
        "best_step": result.best_step,
        "replicas": result.replicas,
        "status": str(result.status.code),
    }
    if simulated is not None:
        values["simulation"] = {
            "steps": [
                {"step": row["step"]}
                | {
                    name: {"mean": row[name], "standard_error": row[f"{name}_error"]}
                    for name in SHOWN
                }
                for row in simulated.records()
            ],
            "status": str(simulated.status.code),
        }
    return values


def _print(result: Trajectory, simulated: SimulatedTrajectory | None) -> None:
    from rich.console import Console

    console = Console()
    console.print(_table("Gradient descent on all weights", result.records()))
    if simulated is not None:
        console.print(_table("Means of the trials", simulated.records()))
        errors = [
            {name: row.get(f"{name}_error", row[name]) for name in ("step", *SHOWN)}
            for row in simulated.records()
        ]
        console.print(_table("Their standard errors", errors))
    message(f"Numerical error of the test error: {result.numerical_error:.1e}")


def _table(title: str, rows: Sequence[Mapping[str, Any]]) -> Table:
    """Return the quantities of each step as a table of 80 columns."""
    from rich.table import Table

    table = Table(
        title=title, title_justify="left", title_style="bold", box=None, padding=(0, 0, 0, 1)
    )
    for name in ("step", *SHOWN):
        table.add_column(name.replace("_", "\n"), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(str(row["step"]), *(f"{row[name]:.4f}" for name in SHOWN))
    return table


@guarded
@o.grouped
def floor(
    task: o.TaskOptions,
    alpha: Annotated[
        float, o.option("--alpha", "n/d > 0, samples per dimension.", o.TRAINING)
    ] = 2.0,
    as_json: o.AsJson = False,
) -> None:
    """Find the least test error that any learner can reach from so many samples.

    Example: [cyan]sparsetoken floor --strength 3 --alpha 1[/]
    """
    from sparsetoken.theory import oracle

    found = oracle.learning_error(task.problem(), alpha)
    values = {
        "test_error": found.test_error,
        "cosine": found.cosine,
        "oracle_error": found.oracle_error,
        "reachable_cosine": found.reachable_cosine,
        "numerical_error": found.numerical_error,
        "status": str(found.status.code),
    }
    put_values("The floor under every learner", values, as_json)
    finish(found.status)
