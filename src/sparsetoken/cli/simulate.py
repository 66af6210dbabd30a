"""The command that runs the experiment at finite dimension."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken.cli import options as o
from sparsetoken.cli.progress import progress_bar
from sparsetoken.cli.show import finish, guarded, message, put_values
from sparsetoken.cli.theory import on_device, tell

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from sparsetoken.results import Simulation

EXPERIMENT = "Experiment"


@dataclasses.dataclass(frozen=True)
class _SamplingOptions:
    """The options of trials."""

    dimension: Annotated[int, o.option("--dimension", "d, embedding dimension.", EXPERIMENT)] = (
        o.DEFAULT_DIMENSION
    )
    trials: Annotated[int, o.option("--trials", "Independent repetitions.", EXPERIMENT)] = (
        o.DEFAULT_TRIALS
    )
    seed: Annotated[int, o.option("--seed", "Seed of all trials.", EXPERIMENT)] = 0
    engine: Annotated[
        str,
        o.option(
            "--engine",
            "tensors draws the tokens; reduced draws the same law without them.",
            EXPERIMENT,
        ),
    ] = "reduced"
    dtype: Annotated[str, o.option("--dtype", "float64 or float32 tokens.", EXPERIMENT)] = "float64"
    memory_budget: Annotated[
        int | None,
        o.option("--memory-budget", "Bytes that one trial may take; 4 GiB by default.", EXPERIMENT),
    ] = None


@guarded
@o.grouped
def simulate(
    model: o.ModelName,
    task: o.TaskOptions,
    training: o.ModelOptions,
    fit: o.ReadoutOptions,
    sampling: _SamplingOptions,
    workers: Annotated[
        int, o.option("--workers", "Processes; 1 runs in this one.", EXPERIMENT)
    ] = 1,
    device: o.Device = None,
    as_json: o.AsJson = False,
) -> None:
    """Run the experiment at finite dimension, with standard errors.

    Example: [cyan]sparsetoken simulate attention --dimension 500 --trials 4 --alpha1 2[/]
    """
    from sparsetoken import simulation
    from sparsetoken.theory.query import advice_on, working_query
    from sparsetoken.validation import integer

    problem, classifier = task.problem(), training.model(model)
    trials, workers = integer("trials", sampling.trials, 1), integer("workers", workers, 1)
    with _executor(workers) as executor, progress_bar() as bar:
        progress = bar.add_task("trials", total=trials)
        result: Any = simulation.simulate(
            problem,
            classifier,
            fit.readout(training.loss),
            **dataclasses.asdict(sampling),
            device=device,
            executor=executor,
            on_trial=lambda *_: bar.advance(progress),
        )
    values = summary(result)
    title = f"{model}, d = {sampling.dimension}, {trials} trials, {sampling.engine} engine"
    put_values(title, values, as_json)
    with on_device(device):
        tell(advice_on(problem, classifier, working_query(problem, classifier)))
    finish(result.status)


@contextlib.contextmanager
def _executor(workers: int) -> Iterator[Executor | None]:
    if workers == 1:
        yield None
        return
    from sparsetoken.simulation.parallel import WorkersDied
    from sparsetoken.sweep.processes import worker_pool

    try:
        with worker_pool(workers) as executor:
            yield executor
    except WorkersDied as error:
        message(f"Error: {error}")
        raise typer.Exit(1) from None


def summary(result: Simulation) -> dict[str, Any]:
    """Return mean and standard error of each quantity, under the contract's keys."""
    means, errors = dataclasses.asdict(result.mean), dataclasses.asdict(result.standard_error)
    names = ("test_error", "training_loss", "training_error", "auc")
    values: dict[str, Any] = {name: _pair(means[name], errors[name]) for name in names}
    for name in ("cosine", "sharpness"):  # null for a model without a query
        values[name] = _over_trials([getattr(query, name, math.nan) for query in result.queries])
    values["readout_cosine"] = _over_trials(list(result.readout_cosines))
    values["overlaps"] = {
        name: _pair(mean, errors["overlaps"][name]) for name, mean in means["overlaps"].items()
    }
    return {**values, "status": str(result.status.code)}


def _pair(mean: float, standard_error: float) -> dict[str, float]:
    return {"mean": mean, "standard_error": standard_error}


def _over_trials(values: list[float]) -> dict[str, float]:
    from sparsetoken.simulation.averages import mean, standard_error

    return _pair(mean(values), standard_error(values))
