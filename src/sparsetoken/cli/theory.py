"""Commands of the theory and of its simulation; each is one call over all settings."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Annotated, Any

from sparsetoken.base.validation import InvalidInput, choice
from sparsetoken.cli import options as o
from sparsetoken.cli.grid import answered, computed, made, options, points_of
from sparsetoken.cli.output import Answer, counted, pairs
from sparsetoken.model.models import MODELS, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

OUTCOME = ("test_error", "training_loss", "training_error", "auc")
FEW = ("test_error", "training_loss", "auc")
LOOPS = ("model", "loss", "activation", "dimension")
DIMENSION = "d, dimension at which two steps find the query; without it the limit."


def record_values(record: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return quantities of a result under the keys of the contract; its records are objects."""
    values = {}
    for name in names:
        value = getattr(record, name)
        inner = [field.name for field in getattr(value, "quantities", ())]
        values[name] = record_values(value, inner) if inner else value
    return values


def models_of(given: Any) -> dict[str, Any]:
    """Return the option MODEL."""
    names = [*MODELS] if given == "all" else o.listed(given)
    for name in names:
        choice("model", name, MODELS)
    return {"model": tuple(names) if len(names) > 1 else names[0]}


def model_of(at: dict[str, Any]) -> Any:
    """Return the model of options, with the query that is given, or the steps that find it."""
    known = {name: at[name] for name in ("cosine", "sharpness") if at[name] is not None}
    if "cosine" not in known and known:
        raise InvalidInput("--sharpness", "given with --cosine", known["sharpness"])
    query = Query(**known) if known else made(TwoSteps, at)
    return make_model(at["model"], query, activation=at["activation"])


def align(
    *,
    task: o.Task = o.Task(),
    steps: o.Steps = o.Steps(),
    loss: o.Loss = "logistic",
    dimension: Annotated[o.Numbers | None, o.number(DIMENSION)] = None,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Predict the query found by two gradient steps.

    Example: sparsetoken align --informative 3 --positive-rate 0.2 --strength 4:8:5
    """

    def call(at: dict[str, Any]) -> Any:
        problem, found_by = made(SparseTokenProblem, at), made(TwoSteps, at)
        from sparsetoken import theory

        more = {"dimension": at["dimension"], **grid.work}
        return functools.partial(theory.align, problem, found_by, **more)

    def values(found: Any) -> dict[str, Any]:
        spread = () if found.spread is None else ("spread", "anti_aligned")
        names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine", *spread, "status")
        return record_values(found, names)

    found = computed(options(task, steps, loss=loss, dimension=dimension), grid, call, LOOPS)
    few = ("cosine", "sharpness", "spread")
    return answered("Query after two gradient steps", found, grid, few, values)


def predict(
    model: o.ModelName = "attention",
    /,
    *,
    task: o.Task = o.Task(),
    steps: o.Steps = o.Steps(),
    query: o.Given = o.Given(),
    readout: o.Fitted = o.Fitted(),
    loss: o.Loss = "logistic",
    activation: o.Activation = "exp",
    dimension: Annotated[o.Numbers | None, o.number(DIMENSION)] = None,
    tolerance: o.Tolerance = 1e-4,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Predict errors, loss, AUC and overlaps of a trained classifier.

    Example: sparsetoken predict attention,pooled --alpha1 0.5:8:10:log --plot errors.svg
    """

    def call(at: dict[str, Any]) -> Any:
        problem, trained, fitted = made(SparseTokenProblem, at), model_of(at), made(Readout, at)
        from sparsetoken import theory

        # Models without a query do not depend on it.
        own = None if trained.query is None else at["dimension"]
        more = {"dimension": own, "tolerance": tolerance, **grid.work}
        return functools.partial(theory.predict, problem, trained, fitted, **more)

    def values(found: Any) -> dict[str, Any]:
        given = () if found.query is None else ("cosine", "sharpness")
        spread = () if found.spread is None else ("spread",)
        names = (*OUTCOME, *given, "overlaps", "numerical_error", "errors", *spread, "status")
        return record_values(found, names)

    more = models_of(model) | {"loss": loss, "activation": activation, "dimension": dimension}
    found = computed(options(task, steps, query, readout, **more), grid, call, LOOPS)
    return answered(f"Prediction for {_named(more)}", found, grid, FEW, values)


def capacity(
    model: o.ModelName = "all",
    /,
    *,
    task: o.Task = o.Task(),
    steps: o.Steps = o.Steps(),
    query: o.Given = o.Given(),
    loss: o.Loss = "logistic",
    activation: o.Activation = "exp",
    tolerance: o.Tolerance = 1e-4,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Predict the largest load n/d at which the training set is linearly separable.

    Example: sparsetoken capacity attention,pooled --length 4 --strength 2
    """
    few = ("capacity", "numerical_error")

    def call(at: dict[str, Any]) -> Any:
        problem, trained = made(SparseTokenProblem, at), model_of(at)
        from sparsetoken import theory

        more = {"tolerance": tolerance, **grid.work}
        return functools.partial(theory.capacity, problem, trained, **more)

    def values(found: Any) -> dict[str, Any]:
        return record_values(found, (*few, "status"))

    more = models_of(model) | {"loss": loss, "activation": activation}
    found = computed(options(task, steps, query, **more), grid, call, LOOPS)
    return answered(f"Capacity of {_named(more)}", found, grid, few, values)


def simulate(
    model: o.ModelName = "attention",
    /,
    *,
    task: o.Task = o.Task(),
    steps: o.Steps = o.Steps(),
    query: o.Given = o.Given(),
    readout: o.Fitted = o.Fitted(),
    loss: o.Loss = "logistic",
    activation: o.Activation = "exp",
    dimension: Annotated[o.Numbers, o.number("d, embedding dimension.", o.EXPERIMENT)] = 1000,
    trials: o.Trials = 8,
    seed: o.TrialSeed = 0,
    engine: Annotated[
        str,
        o.word(
            "tensors samples the tokens; reduced samples from the same distribution without them.",
            o.EXPERIMENT,
        ),
    ] = "reduced",
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Run the experiment at finite dimension, with standard errors.

    Example: sparsetoken simulate attention --dimension 500 --trials 4 --alpha1 2
    """

    def call(at: dict[str, Any]) -> Any:
        problem, trained, fitted = made(SparseTokenProblem, at), model_of(at), made(Readout, at)
        from sparsetoken import simulation

        more = {"dimension": at["dimension"], "trials": trials, "seed": seed, "engine": engine}
        run = functools.partial(simulation.simulate, problem, trained, fitted)
        return functools.partial(run, **more, **grid.work)

    def values(found: Any) -> dict[str, Any]:
        names = (*OUTCOME, "cosine", "sharpness", "readout_cosine", "overlaps")
        means, errors = (record_values(one, names) for one in (found.mean, found.standard_error))
        return {**pairs(means, errors), "status": found.status}

    more = models_of(model) | {"loss": loss, "activation": activation, "dimension": dimension}
    given = options(task, steps, query, readout, **more)
    found = computed(given, grid, call, LOOPS)
    advice = [] if len([*points_of(found)]) > 1 else _advice(given)
    return answered(
        f"{_named(more)}, {counted(trials, 'trials')}", found, grid, FEW, values, advice
    )


def _advice(at: dict[str, Any]) -> tuple[str, ...]:
    """Return advice about the query that the theory finds at a single setting."""
    from sparsetoken.theory.query.working import advice_on, working_query

    problem, trained = made(SparseTokenProblem, at), model_of(at)
    return advice_on(problem, trained, working_query(problem, trained))


def _named(more: dict[str, Any]) -> str:
    return ", ".join(o.listed(more["model"]))


def bayes(
    *,
    task: o.Task = o.Task(),
    alpha: Annotated[o.Numbers, o.number("α = n/d, samples per dimension, in (0, 1e9].")] = 2.0,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Compute the Bayes-optimal error: the smallest test error of any learner with n samples.

    Example: sparsetoken bayes --strength 3 --alpha 0.5:4:8
    """

    def call(at: dict[str, Any]) -> Any:
        problem = made(SparseTokenProblem, at)
        from sparsetoken.theory import oracle

        return functools.partial(oracle.learning_error, problem, at["alpha"], **grid.work)

    def values(found: Any) -> dict[str, Any]:
        names = ("test_error", "cosine", "oracle_error", "reachable_cosine", "numerical_error")
        return record_values(found, (*names, "status"))

    few = ("test_error", "cosine", "oracle_error")
    found = computed(options(task, alpha=alpha), grid, call)
    return answered("Bayes-optimal error", found, grid, few, values)
