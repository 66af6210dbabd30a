"""The command that follows gradient descent on all weights."""

from __future__ import annotations

import contextlib
import math
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.command import command
from sparsetoken.cli.output import Answer, shortfall
from sparsetoken.models import Elementwise, make_model
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import JointDescent

if TYPE_CHECKING:
    from sparsetoken.models import Model
    from sparsetoken.results import DescentPath, Simulation

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


@command
def descend(
    *,
    model: Annotated[str, Option(help="attention or elementwise.")] = "attention",
    problem: SparseTokenProblem,
    descent: JointDescent,
    elementwise: Elementwise,
    tolerance: Annotated[
        float, Option(help="Bound on twice the numerical error at every step.")
    ] = 1e-3,
    workers: o.Workers = 1,
    dimension: Annotated[int | None, Option(group=EXPERIMENT, help="d, at least 3.")] = None,
    trials: Annotated[int | None, Option(group=EXPERIMENT, help="Independent repetitions.")] = None,
    seed: Annotated[int | None, Option(group=EXPERIMENT, help="Seed of all trials.")] = None,
    engine: Annotated[
        str,
        Option(
            group=EXPERIMENT,
            help="tensors draws the tokens; reduced draws the same law without them.",
        ),
    ] = "tensors",
) -> Answer:
    """Follow gradient descent on readout, query and bias together, step by step.

    Example: sparsetoken descend --alpha 3 --steps 12
    """
    classifier = make_model(model, descent, activation=elementwise.activation)
    from sparsetoken import simulation, theory
    from sparsetoken.validation import integer

    integer("workers", workers, 1)
    sizes = _sizes(problem, classifier, engine, dimension=dimension, trials=trials, seed=seed)
    threads = ThreadPoolExecutor(workers) if workers > 1 else contextlib.nullcontext()
    with threads as executor:
        found = theory.descend(problem, classifier, tolerance=tolerance, executor=executor)
    values: dict[str, Any] = {
        "steps": _steps(found),
        "numerical_error": found.numerical_error,
        "best_step": found.best_step,
        "replicas": found.replicas,
        "status": found.status,
    }
    fallen = shortfall(found.status)
    lines = _lines("Gradient descent on all weights", found)
    if sizes:
        trained = simulation.descend(problem, classifier, engine=engine, **sizes)
        values["simulation"] = {"steps": _simulated_steps(trained), "status": trained.status}
        fallen = fallen or shortfall(trained.status)
        lines += _lines("Means of the trials", trained.mean)
        lines += _lines("Their standard errors", trained.standard_error)
    error = f"Numerical error of the test error: {found.numerical_error:.1e}"
    return Answer("", values, lines, advice=[error], shortfall=fallen)


def _sizes(
    problem: SparseTokenProblem, model: Model, engine: str, **given: int | None
) -> dict[str, Any]:
    """Return the sizes of the simulation that is asked for; theory may take long, so check now."""
    from sparsetoken.simulation.descent import DescentPlan
    from sparsetoken.simulation.setting import Setting
    from sparsetoken.validation import choice, integer

    choice("engine", engine, ("tensors", "reduced"))
    if all(value is None for value in given.values()):
        return {}
    defaults = {"dimension": o.DEFAULT_DIMENSION, "trials": o.DEFAULT_TRIALS, "seed": 0}
    sizes = {name: defaults[name] if value is None else value for name, value in given.items()}
    integer("trials", sizes["trials"], 1)
    DescentPlan(problem, model, Setting(sizes["dimension"], sizes["seed"], engine))
    return sizes


def _kept(path: DescentPath) -> list[dict[str, Any]]:
    """Return the quantities at each step, until the descent diverges."""
    rows = path.records()
    return [row for row in rows if math.isfinite(row["norm_w"])] or rows[:1]


def _steps(path: DescentPath) -> list[dict[str, Any]]:
    return [{name: row[name] for name in ("step", *SHOWN)} for row in _kept(path)]


def _simulated_steps(found: Simulation[DescentPath]) -> list[dict[str, Any]]:
    errors = found.standard_error.records()
    return [
        {"step": row["step"]}
        | {n: {"mean": row[n], "standard_error": errors[row["step"]][n]} for n in SHOWN}
        for row in _kept(found.mean)
    ]


def _lines(title: str, path: DescentPath) -> list[str]:
    """Return the quantities of each step as lines of a table."""
    from sparsetoken.tables import text

    return text(_steps(path), title=title).split("\n")
