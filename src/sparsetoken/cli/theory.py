"""Commands that answer from theory: align, predict, capacity, floor, represent."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.base.validation import InvalidInput
from sparsetoken.cli import options as o
from sparsetoken.cli.command import SIGNED, command, numbers, option_name, option_of
from sparsetoken.cli.output import Answer, shortfall, table
from sparsetoken.model.models import MODELS, Elementwise, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

if TYPE_CHECKING:
    from sparsetoken.theory.oracle.strength import CriticalStrength

Tolerance = Annotated[
    float,
    Option(
        help="Tolerance: an upper bound on twice the numerical error of the test error, or the "
        "relative one of the capacity.",
    ),
]


def with_options(advice: Sequence[str]) -> list[str]:
    """Return advice about query and ridge with the names of the options."""
    fields = r"\b(eta_b|eta_q|positive_rate|alpha0|beta)\b"
    return [f"Advice: {re.sub(fields, lambda m: option_name(m[0]), text)}" for text in advice]


def answer(title: str, result: Any, names: Sequence[str], advice: Sequence[str] = ()) -> Answer:
    """Return the answer with these quantities of a result and its status."""
    values = record_values(result, (*names, "status"))
    fallen = shortfall(result.status)
    return Answer(title, values, columns=columns(result), advice=advice, shortfall=fallen)


def columns(result: Any) -> dict[str, Any]:
    """Return the columns of a result that a person reads."""
    return {n: one for n, one in result.to_dict().items() if n.removesuffix("_se") not in _INTERNAL}


_INTERNAL = {"susceptibility", "residual", "iterations", "rate", "message"}


def record_values(record: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return quantities of a result under the keys of the contract; its records are objects."""
    values = {}
    for name in names:
        value = getattr(record, name)
        inner = [field.name for field in getattr(value, "quantities", ())]
        values[name] = record_values(value, inner) if inner else value
    return values


@command
def align(*, problem: SparseTokenProblem, steps: TwoSteps) -> Answer:
    """Predict the query found by two gradient steps.

    Example: sparsetoken align --informative 3 --positive-rate 0.2 --strength 6
    """
    from sparsetoken import theory
    from sparsetoken.model.models import Attention
    from sparsetoken.theory.query import advice_on

    alignment = theory.align(problem, steps)
    names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine")
    advice = with_options(advice_on(problem, Attention(steps), alignment.query))
    return answer("Query after two gradient steps", alignment, names, advice)


@command
def predict(
    model: o.ModelName,
    file: Annotated[
        Path | None,
        Option(
            "FILE",
            help="Bags (.npz or Parquet): MODEL is then a file saved by `fit --out`, and the class "
            "of each bag is printed with the probability of that class.",
        ),
    ] = None,
    *,
    problem: SparseTokenProblem,
    query: Query | None,
    steps: TwoSteps,
    readout: Readout,
    elementwise: Elementwise,
    tolerance: Tolerance = 1e-4,
    bag: o.BagColumn = "bag",
    columns: o.Columns = "",
    trust_pickle: o.TrustPickle = False,
    refuse_empty: o.RefuseEmpty = False,
) -> Answer:
    """Predict errors, loss, AUC and overlaps of a trained classifier.

    With FILE, a saved model predicts the classes of its bags instead.

    Example: sparsetoken predict attention --cosine 0.9 --sharpness 1 --alpha1 0.5,1,2
    """
    if file is not None and model in MODELS:
        remedy = "Several models, or values of one option, are separated by commas, without spaces."
        raise InvalidInput("FILE", f"omitted for the model {model}", str(file), remedy)
    if file is not None:
        from sparsetoken.cli.bags import predictions

        return predictions(Path(model), file, bag, columns, trust_pickle, refuse_empty)
    if Path(model).is_file():
        remedy = "sparsetoken predict MODEL FILE predicts the classes of the bags in FILE."
        raise InvalidInput("FILE", f"given after the saved model {model}", "none", remedy)
    classifier: Any = make_model(model, query or steps, activation=elementwise.activation)
    from sparsetoken import theory

    result = theory.predict(problem, classifier, readout, tolerance=tolerance)
    query_names = () if result.query is None else ("cosine", "sharpness")
    names = ("test_error", "training_loss", "training_error", "auc", *query_names, "overlaps")
    advice = [*o.unused(query, steps), *with_options(result.advice)]
    return answer(f"Prediction for {model}", result, (*names, "numerical_error", "errors"), advice)


@command
def capacity(
    model: o.ModelName = tuple(MODELS),  # type: ignore[assignment]
    *,
    problem: SparseTokenProblem,
    query: Query | None,
    steps: TwoSteps,
    elementwise: Elementwise,
    tolerance: Tolerance = 1e-4,
) -> Answer:
    """Predict the largest load n/d at which the training set is linearly separable.

    Example: sparsetoken capacity attention,pooled --length 4 --strength 2
    """
    classifier: Any = make_model(model, query or steps, activation=elementwise.activation)
    from sparsetoken import theory

    result = theory.capacity(problem, classifier, tolerance=tolerance)
    advice = [*o.unused(query, steps), *with_options(result.advice)]
    return answer(f"Capacity of {model}", result, ("capacity", "numerical_error"), advice)


@command
def floor(
    *,
    problem: SparseTokenProblem,
    alpha: Annotated[float, Option(help="n/d > 0, samples per dimension.")] = 2.0,
) -> Answer:
    """Compute the Bayes-optimal error: the smallest test error of any learner with n samples.

    Example: sparsetoken floor --strength 3 --alpha 1
    """
    from sparsetoken.theory import oracle

    result = oracle.learning_error(problem, alpha)
    names = ("test_error", "cosine", "oracle_error", "reachable_cosine", "numerical_error")
    return answer("Bayes-optimal error", result, names)


@command
def represent(
    *,
    lengths: Annotated[
        str, Option(help="Lengths L in increasing order, separated by commas."), SIGNED
    ] = "8,64,512,4096",
    error_level: Annotated[
        float, Option(help="Target test error, in [1e-4, min(pi, 1 - pi)).")
    ] = 0.01,
    informative: Annotated[
        int, option_of(SparseTokenProblem, "informative", "Task")
    ] = SparseTokenProblem.informative,
    positive_rate: Annotated[
        float, option_of(SparseTokenProblem, "positive_rate", "Task")
    ] = SparseTokenProblem.positive_rate,
    sharpness: Annotated[float, Option(help="k of attention with fixed sharpness.")] = 1.0,
) -> Answer:
    """Find the signal strength at which the best weights of each model attain a given test error.

    Example: sparsetoken represent --lengths 8,64,512 --error-level 0.01
    """
    given = numbers("--lengths", lengths, int)
    from sparsetoken.base.progress import progress_of
    from sparsetoken.base.validation import real
    from sparsetoken.theory.oracle.strength import CURVES, checked_lengths, critical_strength

    checked = checked_lengths(given, informative)
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
        "lengths": list(checked),
        "error_level": error_level,
        "informative": informative,
        "positive_rate": positive_rate,
        "fixed_sharpness": sharpness,
        "critical_strength": {n: [f.strength for f in row] for n, row in curves.items()},
        "status": _status(checked, curves),
    }
    fallen = "" if values["status"] == "converged" else f"Not converged: {values['status']}."
    return Answer("", values, _lines(values), shortfall=fallen)


def _status(lengths: tuple[int, ...], curves: dict[str, list[CriticalStrength]]) -> str:
    short = [
        f"{name} at L = {length} ({f.status.code})"
        for name, row in curves.items()
        for length, f in zip(lengths, row, strict=True)
        if not f.status.converged
    ]
    return "converged" if not short else "; ".join(short)


def _lines(values: dict[str, Any]) -> list[str]:
    rows = [
        {"model": name} | {f"L = {L}": s for L, s in zip(values["lengths"], row, strict=True)}
        for name, row in values["critical_strength"].items()
    ]
    return table(f"Strength at which the best test error is {values['error_level']:g}", rows)
