"""The parameters of sweeps: their types and defaults, and which of them a row depends on.

They are the fields of problem, model, stages and readout, whose types and defaults are taken from
these classes, and arguments of `predict` and `simulate`.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from sparsetoken.base.parameters import Parameter, parameters_of
from sparsetoken.base.validation import LARGEST_INTEGER, InvalidInput, choice
from sparsetoken.model.models import MODELS, Attention
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.results.status import StatusCode

Function = TypeVar("Function", bound=Callable[..., Any])

QUANTITIES = ("theory", "simulation")
VERSIONS = {"alignment": 2, "learning": 3, "capacity": 3}
"""The version of each experiment, raised when the same configuration means another result."""

EXPERIMENTS = tuple(VERSIONS)
_SOLVED = ("numerical_error", "residual", "iterations")
RESULTS = {
    "alignment": ("cosine", "overlap", "norm", "sharpness", "readout_cosine", "rate"),
    "learning": (
        *("test_error", "training_loss", "training_error", "auc"),
        *("query_overlap", "orthogonal_overlap", "noise_overlap", "bias"),
        *("cosine", "sharpness", "readout_cosine", "susceptibility", *_SOLVED),
    ),
    "capacity": ("separable", "capacity", *_SOLVED),
}
"""The results of each experiment, the one drawn by default first."""

SERIES = ("ridge", "alpha1")
"""The predictions of rows that differ in nothing else are computed by one call."""


CONVERGED, FAILED, MISSING = "converged", "failed", "missing"
STATUSES = (*(str(code) for code in StatusCode), FAILED)
"""A status is stored as its place in this tuple; later ones are added at the end."""


_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"))


def canonical_text(configuration: Mapping[str, Any]) -> str:
    """Return the configuration as JSON with sorted keys and no spaces."""
    return _ENCODER.encode(configuration)


def typed(declared: Parameter, where: str, given: Any) -> Any:
    """Return a value in the type of a parameter, so that 5 and 5.0 are one value."""
    kind = declared.number
    if isinstance(given, int) and abs(given) > LARGEST_INTEGER:
        raise InvalidInput(where, "an integer of at most 128 bits", given)
    if (given is None and declared.default is None) or (kind is None and isinstance(given, str)):
        return given
    number = isinstance(given, (int, float)) and not isinstance(given, bool)
    if kind is float and number and not math.isnan(given):
        return float(given) + 0.0  # the sum turns -0.0 into 0.0
    if kind is int and number and float(given).is_integer():
        return int(given)
    legal = {None: "a text", float: "a number", int: "an integer"}[kind]
    raise InvalidInput(where, legal, given)


def _own(kind: type) -> dict[str, Parameter]:
    """Return the fields of a class that are numbers or words."""
    declared = parameters_of(kind)
    return {
        field.name: declared.get(field.name, _undeclared(field))
        for field in dataclasses.fields(kind)
        if type(field.default) in (int, float, str)
    }


def _undeclared(field: dataclasses.Field[Any]) -> Parameter:
    """Return the parameter of a model from outside that is a plain dataclass."""
    words = (field.default,) if isinstance(field.default, str) else ()
    whole = type(field.default) is int
    return Parameter(field.name, default=field.default, whole=whole, choices=words)


PROBLEM, STEPS, READOUT = (tuple(_own(kind)) for kind in (SparseTokenProblem, TwoSteps, Readout))
QUERY = ("cosine", "sharpness")
_PREDICTING = {
    "tolerance": Parameter(
        "tolerance", "tolerance, an upper bound on twice the numerical error", default=1e-4
    )
}
_SAMPLING = {
    "dimension": Parameter("dimension", "embedding dimension", "d", 1000, whole=True),
    "engine": Parameter("engine", default="reduced", choices=("tensors", "reduced")),
    "dtype": Parameter("dtype", default="float64", choices=("float32", "float64")),
}
"""The arguments of `predict` and `simulate`, written here since their modules load slowly."""


def _cached(function: Function) -> Function:
    """Cache a function whose results depend on the models that are known, too."""
    known = functools.lru_cache(maxsize=256)(lambda _, *given: function(*given))
    return functools.wraps(function)(lambda *given: known(tuple(MODELS.values()), *given))  # type: ignore[return-value]


@_cached
def parameters() -> dict[str, Parameter]:
    """Return all parameters by name, in the order of exported columns.

    The default of a field that several models have is that of the first; see `defaults`.
    """
    entries = MODELS.values()
    model = Parameter("model", default=Attention.name, choices=tuple(e.name for e in entries))
    found = {"model": model} | _own(SparseTokenProblem)
    found["loss"] = parameters_of(Readout)["loss"]
    found |= _own(TwoSteps)
    for name in QUERY:
        found[name] = dataclasses.replace(parameters_of(Query)[name], default=None)
    for entry in reversed(entries):
        found |= _own(entry.kind)
    return found | _own(Readout) | _PREDICTING | _SAMPLING


@_cached
def defaults(model: str) -> dict[str, Any]:
    """Return the default of every parameter, for the model of this name."""
    kind = MODELS[choice("model", model, MODELS)].kind
    return {name: found.default for name, found in (parameters() | _own(kind)).items()}


@_cached
def uses(experiment: str, quantities: tuple[str, ...] = QUANTITIES) -> frozenset[str]:
    """Return the parameters that the quantities of an experiment depend on for some values."""
    every = itertools.product(quantities, MODELS, (False, True))
    return frozenset().union(*(_relevant(experiment, *case, "tensors") for case in every))


def relevant(experiment: str, quantity: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters that this result depends on, given the values of all.

    Points that differ in other parameters share a result.
    """
    given = any(values[name] is not None for name in QUERY)
    return _relevant(experiment, quantity, values["model"], given, values["engine"])


@_cached
def _relevant(
    experiment: str, quantity: str, model: str, given: bool, engine: str
) -> tuple[str, ...]:
    used = set(PROBLEM)
    if experiment == "alignment":
        used.update(STEPS)
    else:
        entry = MODELS[choice("model", model, MODELS)]
        used.update(("model", *entry.options))
        if entry.has_query:
            used.update(QUERY if given else STEPS)
        if experiment == "learning":
            used.update(READOUT)
        elif quantity == "simulation":
            used.add("alpha1")
        if quantity == "theory":
            used.update(_PREDICTING)
    if quantity == "simulation":
        used.update(_SAMPLING)
        if engine != "tensors":
            used.remove("dtype")  # the reduced engine has no tokens
    return tuple(name for name in parameters() if name in used)


def series_of(setting: Mapping[str, Any]) -> str:
    """Return a text that agrees for settings which one call can predict, or ""."""
    if (setting["experiment"], setting["quantity"]) != ("learning", "theory"):
        return ""
    return canonical_text({name: value for name, value in setting.items() if name not in SERIES})
