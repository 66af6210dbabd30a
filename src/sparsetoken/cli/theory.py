"""Commands that answer from theory: align, predict, capacity, floor."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.cli import options as o
from sparsetoken.cli.command import command, option_name
from sparsetoken.cli.output import Answer, shortfall
from sparsetoken.models import Elementwise
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.stages import Query, Readout, TwoSteps
from sparsetoken.validation import InvalidInput

Tolerance = Annotated[
    float,
    Option(
        "--tolerance",
        help="Tolerance: an upper bound on twice the numerical error of the test error.",
    ),
]
CapacityTolerance = Annotated[
    float,
    Option(
        "--tolerance",
        help="Tolerance: an upper bound on twice the relative numerical error of the capacity.",
    ),
]


@contextlib.contextmanager
def on_device(name: str | None) -> Iterator[None]:
    """Let JAX compute on the device of this name inside the block, by default on its own choice."""
    if name is None:
        yield
        return
    import jax

    from sparsetoken.numerics.devices import jax_device

    with jax.default_device(jax_device(name)):
        yield


def with_options(advice: Sequence[str]) -> list[str]:
    """Return advice about query and ridge with the names of the options."""
    found = []
    for text in advice:
        for field in ("eta_b", "eta_q", "positive_rate"):
            text = text.replace(field, option_name(field))
        for field in ("alpha0", "beta"):
            text = text.replace(f" {field}", f" --{field}")
        found.append(f"Advice: {text}")
    return found


def record_values(record: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return quantities of a result under the keys of the contract; its records are objects."""
    found = {}
    for name in names:
        value = getattr(record, name)
        inner = [field.name for field in getattr(value, "quantities", ())]
        found[name] = record_values(value, inner) if inner else value
    return found


@command
def align(*, problem: SparseTokenProblem, steps: TwoSteps, device: o.Device = None) -> Answer:
    """Predict the query found by two gradient steps.

    Example: sparsetoken align --informative 3 --positive-rate 0.2 --strength 6
    """
    from sparsetoken import theory
    from sparsetoken.models import Attention
    from sparsetoken.theory.query import advice_on

    with on_device(device):
        found = theory.align(problem, steps)
    names = ("cosine", "overlap", "norm", "sharpness", "readout_cosine", "status")
    return Answer(
        "Query after two gradient steps",
        record_values(found, names),
        advice=with_options(advice_on(problem, Attention(steps), found.query)),
        shortfall=shortfall(found.status),
    )


@command
def predict(
    model: o.ModelName,
    file: Annotated[
        Path | None,
        Option(
            "FILE",
            help="Bags (.npz or Parquet): MODEL is then a file saved by `fit --out`, and the class "
            "of each bag is printed with its probability.",
        ),
    ] = None,
    *,
    problem: SparseTokenProblem,
    query: Query | None,
    steps: TwoSteps,
    readout: Readout,
    elementwise: Elementwise,
    tolerance: Tolerance = 1e-4,
    device: o.Device = None,
    bag: o.BagColumn = "bag",
    columns: o.Columns = "",
    trust_pickle: o.TrustPickle = False,
) -> Answer:
    """Predict errors, loss, AUC and overlaps of a trained classifier.

    With FILE, a saved model predicts the classes of its bags instead.

    Example: sparsetoken predict attention --cosine 0.9 --sharpness 1 --alpha1 2
    """
    if file is not None:
        from sparsetoken.cli.saved import predictions

        return predictions(Path(model), file, bag, columns, trust_pickle)
    if Path(model).is_file():
        remedy = "sparsetoken predict MODEL FILE predicts the classes of the bags in FILE."
        raise InvalidInput("FILE", f"given after the saved model {model}", "none", remedy)
    classifier = o.model_of(model, query, steps, elementwise)
    from sparsetoken import theory

    with on_device(device):
        found = theory.predict(problem, classifier, readout, tolerance=tolerance)
    query_names = () if found.query is None else ("cosine", "sharpness")
    names = ("test_error", "training_loss", "training_error", "auc", *query_names, "overlaps")
    values = record_values(found, (*names, "numerical_error", "status"))
    return Answer(
        f"Prediction for {model}",
        values,
        advice=with_options(found.advice),
        shortfall=shortfall(found.status),
    )


@command
def capacity(
    model: o.ModelName,
    *,
    problem: SparseTokenProblem,
    query: Query | None,
    steps: TwoSteps,
    elementwise: Elementwise,
    tolerance: CapacityTolerance = 1e-4,
    device: o.Device = None,
) -> Answer:
    """Predict the largest load n/d at which the training set is linearly separable.

    Example: sparsetoken capacity pooled --length 4 --strength 2
    """
    classifier = o.model_of(model, query, steps, elementwise)
    from sparsetoken import theory

    with on_device(device):
        found = theory.capacity(problem, classifier, tolerance=tolerance)
    return Answer(
        f"Capacity of {model}",
        record_values(found, ("capacity", "numerical_error", "status")),
        advice=with_options(found.advice),
        shortfall=shortfall(found.status),
    )


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

    found = oracle.learning_error(problem, alpha)
    names = ("test_error", "cosine", "oracle_error", "reachable_cosine", "numerical_error")
    values = record_values(found, (*names, "status"))
    return Answer("Bayes-optimal error", values, shortfall=shortfall(found.status))
