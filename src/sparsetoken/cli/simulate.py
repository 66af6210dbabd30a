"""The command that runs the experiment at finite dimension."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sparsetoken.cli import options as o
from sparsetoken.cli.show import finish, guarded, progress_bar, put_json, put_table
from sparsetoken.cli.theory import chosen_query, four_stages, on_device, warn_of_trained_query

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from sparsetoken.results import Simulation

__all__ = ["simulate"]

EXPERIMENT = "Experiment"


@guarded
def simulate(
    model: o.Model,
    length: o.Length = 10,
    informative: o.Informative = 1,
    strength: o.Strength = 5.0,
    positive_rate: o.PositiveRate = 0.5,
    loss: o.LossName = "logistic",
    ridge: o.Ridge = 1e-2,
    alpha1: o.Alpha1 = 2.0,
    cosine: o.Cosine = None,
    sharpness: o.Sharpness = None,
    alpha0: o.Alpha0 = 2.0,
    eta_w: o.EtaW = 0.5,
    eta_b: o.EtaB = 0.5,
    eta_q: o.EtaQ = 1.0,
    beta: o.Beta = 1.0,
    activation: o.Activation = "erf",
    dimension: Annotated[
        int,
        typer.Option("--dimension", help="d, embedding dimension.", rich_help_panel=EXPERIMENT),
    ] = 500,
    trials: Annotated[
        int,
        typer.Option("--trials", help="Independent repetitions.", rich_help_panel=EXPERIMENT),
    ] = 8,
    seed: Annotated[
        int, typer.Option("--seed", help="Seed of all trials.", rich_help_panel=EXPERIMENT)
    ] = 0,
    engine: Annotated[
        str,
        typer.Option(
            "--engine",
            help="tensors draws the tokens; reduced draws the same law without them.",
            rich_help_panel=EXPERIMENT,
        ),
    ] = "reduced",
    dtype: Annotated[
        str,
        typer.Option("--dtype", help="float64 or float32 tokens.", rich_help_panel=EXPERIMENT),
    ] = "float64",
    workers: Annotated[
        int,
        typer.Option(
            "--workers", help="Processes; 1 runs in this one.", rich_help_panel=EXPERIMENT
        ),
    ] = 1,
    memory_budget: Annotated[
        int | None,
        typer.Option(
            "--memory-budget",
            help="Bytes that one trial may take; 4 GiB by default.",
            rich_help_panel=EXPERIMENT,
        ),
    ] = None,
    device: o.Device = None,
    as_json: o.AsJson = False,
) -> None:
    """Run the experiment at finite dimension, with standard errors.

    Example: [cyan]sparsetoken simulate attention --dimension 500 --trials 4 --alpha1 2[/]
    """
    from sparsetoken import simulation
    from sparsetoken.problem import SparseTokenProblem
    from sparsetoken.validation import integer

    problem = SparseTokenProblem(length, informative, strength, positive_rate)
    training = four_stages(loss, ridge, alpha0, eta_w, eta_b, eta_q, beta)
    query = chosen_query(cosine, sharpness)
    trials, workers = integer("trials", trials, 1), integer("workers", workers, 1)
    with _executor(workers) as executor, progress_bar() as bar:
        task = bar.add_task("trials", total=trials)
        result = simulation.simulate(
            model,
            problem,
            training,
            alpha1,
            query=query,
            activation=activation,
            dimension=dimension,
            trials=trials,
            seed=seed,
            engine=engine,
            dtype=dtype,
            memory_budget=memory_budget,
            device=device,
            executor=executor,
            on_trial=lambda *_: bar.advance(task),
        )
    values = summary(result)
    if as_json:
        put_json(values)
    else:
        put_table(f"{model}, d = {dimension}, {trials} trials, {engine} engine", values)
    with on_device(device):
        warn_of_trained_query(model, problem, training, query)
    finish(result.status)


@contextlib.contextmanager
def _executor(workers: int) -> Iterator[Executor | None]:
    if workers == 1:
        yield None
        return
    from sparsetoken.sweep.processes import worker_pool

    with worker_pool(workers) as executor:
        yield executor


def summary(result: Simulation) -> dict[str, Any]:
    """Return mean and standard error of each quantity, under the contract's keys."""
    means, errors = dataclasses.asdict(result.mean), dataclasses.asdict(result.standard_error)
    names = ("test_error", "training_loss", "training_error", "auc")
    values: dict[str, Any] = {name: _pair(means[name], errors[name]) for name in names}
    values["cosine"] = _over_trials([query.cosine for query in result.queries])
    values["sharpness"] = _over_trials([query.sharpness for query in result.queries])
    values["readout_cosine"] = _over_trials(list(result.readout_cosines))
    values["overlaps"] = {
        name: _pair(mean, errors["overlaps"][name]) for name, mean in means["overlaps"].items()
    }
    return {**values, "status": str(result.status.code)}


def _pair(mean: float, standard_error: float) -> dict[str, float]:
    return {"mean": mean, "standard_error": standard_error}


def _over_trials(values: list[float]) -> dict[str, float]:
    from sparsetoken.simulation.moments import mean, standard_error

    return _pair(mean(values), standard_error(values))
