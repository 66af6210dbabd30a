"""Commands of the theory and of its simulation; each is one call over all settings."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.base.parameters import LOADS, Parameter, Range
from sparsetoken.cli import options as o
from sparsetoken.cli.command import command
from sparsetoken.cli.grid import Words, answered
from sparsetoken.cli.output import Answer, pairs, shortfall, table
from sparsetoken.model.models import MODELS, Elementwise, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

if TYPE_CHECKING:
    from sparsetoken.theory.oracle.strength import CriticalStrength

_INTERNAL = {"susceptibility", "residual", "iterations", "rate", "message"}
OUTCOME = ("test_error", "training_loss", "training_error", "auc")

_DIMENSION = Parameter("dimension", "embedding dimension", "d", 1000, Range(least=1), whole=True)
_OF_QUERY = Parameter(
    "dimension",
    "dimension at which the query is found by two steps; without it the limit",
    "d",
    None,
    Range(least=2),
    whole=True,
)
_ALPHA = Parameter("alpha", "samples per dimension", r"\alpha = n/d", 2.0, LOADS)


@o.of(SparseTokenProblem, TwoSteps, dimension=_OF_QUERY)
class Aligning(o.Values):
    """The options of align."""


@o.of(
    *(SparseTokenProblem, Query, TwoSteps, Readout, Elementwise),
    optional=(Query,),
    dimension=_OF_QUERY,
)
class Predicting(o.Values):
    """The options of predict."""


@o.of(SparseTokenProblem, Query, TwoSteps, Elementwise, optional=(Query,))
class Separating(o.Values):
    """The options of capacity."""


@o.of(
    *(SparseTokenProblem, Query, TwoSteps, Readout, Elementwise),
    optional=(Query,),
    dimension=_DIMENSION,
)
class Simulating(o.Values):
    """The options of simulate."""


@o.of(SparseTokenProblem, alpha=_ALPHA)
class Learning(o.Values):
    """The options of bayes."""


def with_options(advice: Sequence[str]) -> list[str]:
    """Return advice about query and ridge with the names of the options."""
    fields = r"\b(eta_b|eta_q|positive_rate|alpha0|beta)\b"
    return [f"Advice: {re.sub(fields, lambda m: o.option_name(m[0]), text)}" for text in advice]


def answer(title: str, result: Any, names: Sequence[str], advice: Sequence[str] = ()) -> Answer:
    """Return the answer with these quantities of a result at one point, and its status."""
    values = record_values(result, (*names, "status"))
    fallen = shortfall(result.status)
    return Answer(title, values, columns=columns(result), advice=advice, shortfall=fallen)


def columns(result: Any) -> dict[str, Any]:
    """Return the columns of a result that a person reads."""
    return {n: one for n, one in result.to_dict().items() if n.removesuffix("_se") not in _INTERNAL}


def record_values(record: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return quantities of a result under the keys of the contract; its records are objects."""
    values = {}
    for name in names:
        value = getattr(record, name)
        inner = [field.name for field in getattr(value, "quantities", ())]
        values[name] = record_values(value, inner) if inner else value
    return values


def model_of(options: Any, name: str) -> Any:
    """Return the model of a name, with the query of the options."""
    return make_model(name, options.query(), activation=options.activation)


@command
def align(*, options: Aligning = Aligning(), grid: o.Grid = o.Grid()) -> Answer:
    """Predict the query found by two gradient steps.

    Example: sparsetoken align --informative 3 --positive-rate 0.2 --strength 4:8:5
    """

    def call(at: Any, model: str) -> Any:
        from sparsetoken import theory

        problem, steps = at.of(SparseTokenProblem), at.of(TwoSteps)
        return theory.align(problem, steps, dimension=at.dimension, **grid.work)

    def shown(found: Any, words: Words) -> Answer:
        spread = () if found.spread is None else ("spread", "anti_aligned")
        names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine", *spread)
        return answer("Query after two gradient steps", found, names, with_options(found.advice))

    return answered(options, grid, call, shown)


@command
def predict(
    model: o.ModelName = ("attention",),  # type: ignore[assignment]
    /,
    *,
    options: Predicting = Predicting(),
    tolerance: o.Tolerance = 1e-4,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Predict errors, loss, AUC and overlaps of a trained classifier.

    Example: sparsetoken predict attention,pooled --alpha1 0.5:8:10:log --plot errors.svg
    """

    def call(at: Any, model: str) -> Any:
        from sparsetoken import theory

        problem, trained = at.of(SparseTokenProblem), model_of(at, model)
        return theory.predict(
            problem,
            trained,
            at.of(Readout),
            # Models without a query do not depend on it.
            dimension=None if trained.query is None else at.dimension,
            tolerance=tolerance,
            **grid.work,
        )

    def shown(found: Any, words: Words) -> Answer:
        query = () if found.query is None else ("cosine", "sharpness")
        spread = () if found.spread is None else ("spread",)
        names = (*OUTCOME, *query, "overlaps", "numerical_error", "errors", *spread)
        advice = [*options.unused(model), *with_options(found.advice)]
        return answer(f"Prediction for {found.model}", found, names, advice)

    return answered(options, grid, call, shown, model)


@command
def capacity(
    model: o.ModelName = tuple(MODELS),  # type: ignore[assignment]
    /,
    *,
    options: Separating = Separating(),
    tolerance: o.Tolerance = 1e-4,
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Predict the largest load n/d at which the training set is linearly separable.

    Example: sparsetoken capacity attention,pooled --length 4 --strength 2
    """

    def call(at: Any, model: str) -> Any:
        from sparsetoken import theory

        problem, trained = at.of(SparseTokenProblem), model_of(at, model)
        return theory.capacity(problem, trained, tolerance=tolerance, **grid.work)

    def shown(found: Any, words: Words) -> Answer:
        advice = [*options.unused(model), *with_options(found.advice)]
        return answer(f"Capacity of {found.model}", found, ("capacity", "numerical_error"), advice)

    return answered(options, grid, call, shown, model)


@command
def simulate(
    model: o.ModelName = ("attention",),  # type: ignore[assignment]
    /,
    *,
    options: Simulating = Simulating(),
    trials: o.Trials = 8,
    seed: o.TrialSeed = 0,
    engine: Annotated[
        str,
        Option(
            group=o.EXPERIMENT,
            help="tensors samples the tokens; reduced samples from the same distribution without "
            "them.",
        ),
    ] = "reduced",
    grid: o.Grid = o.Grid(),
) -> Answer:
    """Run the experiment at finite dimension, with standard errors.

    Example: sparsetoken simulate attention --dimension 500 --trials 4 --alpha1 2
    """

    def call(at: Any, model: str) -> Any:
        from sparsetoken import simulation

        return simulation.simulate(
            at.of(SparseTokenProblem),
            model_of(at, model),
            at.of(Readout),
            dimension=at.dimension,
            trials=trials,
            seed=seed,
            engine=engine,
            **grid.work,
        )

    names = (*OUTCOME, "cosine", "sharpness", "readout_cosine", "overlaps")

    def shown(found: Any, words: Words) -> Answer:
        means, errors = (record_values(one, names) for one in (found.mean, found.standard_error))
        advice = [] if words or found.coords else _advice(options, model[0])
        return Answer(
            f"{found.model}, {trials} trials, {engine} engine",
            {**pairs(means, errors), "status": found.status},
            columns=columns(found),
            advice=[*options.unused(model), *advice],
            shortfall=shortfall(found.status),
        )

    return answered(options, grid, call, shown, model)


def _advice(options: o.Values, model: str) -> list[str]:
    """Return advice about the query that the theory finds at a single setting."""
    from sparsetoken.theory.query.working import advice_on, working_query

    problem, trained = options.of(SparseTokenProblem), model_of(options, model)
    return with_options(advice_on(problem, trained, working_query(problem, trained)))


@command
def bayes(*, options: Learning = Learning(), grid: o.Grid = o.Grid()) -> Answer:
    """Compute the Bayes-optimal error: the smallest test error of any learner with n samples.

    Example: sparsetoken bayes --strength 3 --alpha 0.5:4:8
    """

    def call(at: Any, model: str) -> Any:
        from sparsetoken.theory import oracle

        return oracle.learning_error(at.of(SparseTokenProblem), at.alpha, **grid.work)

    def shown(found: Any, words: Words) -> Answer:
        names = ("test_error", "cosine", "oracle_error", "reachable_cosine", "numerical_error")
        return answer("Bayes-optimal error", found, names)

    return answered(options, grid, call, shown)


@command
def represent(
    *,
    lengths: Annotated[
        str,
        Option(
            help="Lengths L in increasing order, separated by commas.", allow_leading_hyphen=True
        ),
    ] = "8,64,512,4096",
    error_level: Annotated[
        float, o.several("Target test error, in [1e-4, min(pi, 1 - pi)).")
    ] = 0.01,
    informative: Annotated[int, o.several("R, informative tokens.")] = 1,
    positive_rate: Annotated[float, o.several("π, rate of positives.")] = 0.5,
    sharpness: Annotated[float, o.several("k of attention with fixed sharpness.")] = 1.0,
    json: o.Json = False,
) -> Answer:
    """Find the signal strength at which the best weights of each model attain a given test error.

    Example: sparsetoken represent --lengths 8,64,512 --error-level 0.01
    """
    given = o.numbers("--lengths", lengths, int)
    from sparsetoken.base.progress import progress_of
    from sparsetoken.base.validation import InvalidInput, integer, real
    from sparsetoken.theory.oracle.strength import CURVES, critical_strength

    low = max(2, integer("informative (R)", informative, 1))
    checked = [integer("length (L)", L, low) for L in given]
    if any(a >= b for a, b in itertools.pairwise(checked)):
        raise InvalidInput("lengths", "different lengths in rising order", given)
    real("sharpness", sharpness, 0.0)  # the curves that do not need it come first
    curves: dict[str, list[CriticalStrength]] = {name: [] for name in CURVES}
    with progress_of("critical strengths", len(curves) * len(checked)) as done:
        for name, curve in CURVES.items():
            for length in checked:
                curves[name].append(
                    critical_strength(
                        curve.model,
                        length,
                        informative=informative,
                        positive_rate=positive_rate,
                        error_level=error_level,
                        sharpness=None if curve.sharpness is None else sharpness,
                    )
                )
                done()
    values = {
        "lengths": checked,
        "error_level": error_level,
        "informative": informative,
        "positive_rate": positive_rate,
        "fixed_sharpness": sharpness,
        "critical_strength": {n: [f.strength for f in row] for n, row in curves.items()},
        "status": _status(checked, curves),
    }
    fallen = "" if values["status"] == "converged" else f"Not converged: {values['status']}."
    rows = [
        {"model": name} | {f"L = {L}": f.strength for L, f in zip(checked, row, strict=True)}
        for name, row in curves.items()
    ]
    title = f"Strength at which the best test error is {error_level:g}"
    return Answer("", values, table(title, rows), shortfall=fallen)


def _status(lengths: list[int], curves: dict[str, list[CriticalStrength]]) -> str:
    short = [
        f"{name} at L = {length} ({f.status.code})"
        for name, row in curves.items()
        for length, f in zip(lengths, row, strict=True)
        if not f.status.converged
    ]
    return "converged" if not short else "; ".join(short)
