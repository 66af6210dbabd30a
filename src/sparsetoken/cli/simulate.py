"""The command that runs the experiment at finite dimension."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.command import command
from sparsetoken.cli.output import Answer, pairs, shortfall
from sparsetoken.cli.theory import columns, record_values, with_options
from sparsetoken.model.models import Elementwise, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

QUANTITIES = (
    "test_error",
    "training_loss",
    "training_error",
    "auc",
    "cosine",
    "sharpness",
    "readout_cosine",
    "overlaps",
)


@command
def simulate(
    model: o.ModelName,
    *,
    problem: SparseTokenProblem,
    query: Query | None,
    steps: TwoSteps,
    readout: Readout,
    elementwise: Elementwise,
    dimension: o.Dimension = o.DEFAULT_DIMENSION,
    trials: o.Trials = o.DEFAULT_TRIALS,
    seed: o.TrialSeed = 0,
    engine: o.Engine = "reduced",
    dtype: Annotated[
        str, Option(group=o.EXPERIMENT, help="float64 or float32 tokens.")
    ] = "float64",
    workers: o.Workers = 1,
) -> Answer:
    """Run the experiment at finite dimension, with standard errors.

    Example: sparsetoken simulate attention --dimension 500 --trials 4 --alpha1 2
    """
    classifier: Any = make_model(model, query or steps, activation=elementwise.activation)
    from sparsetoken import simulation
    from sparsetoken.base.validation import integer
    from sparsetoken.theory.query import advice_on, working_query
    from sparsetoken.work import WorkerPool

    several = integer("workers", workers, 1) > 1
    with WorkerPool(workers) if several else nullcontext() as executor:
        result = simulation.simulate(
            problem,
            classifier,
            readout,
            dimension=dimension,
            trials=trials,
            seed=seed,
            engine=engine,
            dtype=dtype,
            executor=executor,
        )
    advice = advice_on(problem, classifier, working_query(problem, classifier))
    means, errors = (record_values(one, QUANTITIES) for one in (result.mean, result.standard_error))
    return Answer(
        f"{model}, d = {dimension}, {trials} trials, {engine} engine",
        {**pairs(means, errors), "status": result.status},
        columns=columns(result),
        advice=[*o.unused(query, steps), *with_options(advice)],
        shortfall=shortfall(result.status),
    )
