"""The parameters of sweeps: fields of problem, model, stages and readout, and of sampling."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from sparsetoken.base.parameters import Parameter, Range, parameters_of
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import Loss
from sparsetoken.model.models import MODELS, Attention, ModelEntry
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

QUANTITIES = ("theory", "simulation")
VERSIONS = {"alignment": 2, "learning": 5, "capacity": 3}
"""The version of each experiment, raised when the same call means another result."""

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

CONVERGED, FAILED, MISSING = "converged", "failed", "missing"
"""The status of a result is a `StatusCode`, failed where an error was raised, or missing."""

_PREDICTING = {
    "tolerance": Parameter("tolerance", default=1e-4, range=Range(above=0, below=1)),
}
_SAMPLING = {
    "dimension": Parameter("dimension", "embedding dimension", "d", 1000, whole=True),
    "engine": Parameter("engine", default="reduced", choices=("tensors", "reduced")),
    "dtype": Parameter("dtype", default="float64", choices=("float32", "float64")),
}
"""The arguments of `predict` and `simulate`."""

_RESERVED = {"experiment", "quantity", "seed", "specification", "trial", "status", "message"}
"""The names that sweeps have for something else, which no field of a model can have."""


def parameters(experiment: str, quantities: Sequence[str] = QUANTITIES) -> dict[str, Parameter]:
    """Return the parameters that the quantities of an experiment depend on for some values.

    The default of a field that several models have is that of the first.
    """
    return _parameters(experiment, tuple(quantities), tuple(MODELS.values()))


@functools.lru_cache(maxsize=64)
def _parameters(
    experiment: str, quantities: tuple[str, ...], entries: tuple[ModelEntry, ...]
) -> dict[str, Parameter]:
    fields = own(SparseTokenProblem) | own(TwoSteps)
    if experiment != "alignment":
        names = tuple(entry.name for entry in entries)
        remedy = "Register your own model with sparsetoken.model.register."
        fields["model"] = Parameter("model", default=Attention.name, choices=names, remedy=remedy)
        for name in ("cosine", "sharpness"):
            declared = parameters_of(Query)[name]
            fields[name] = dataclasses.replace(declared, default=None, arrays=False)
        for entry in entries:  # what stands there keeps its declaration
            kind: Any = entry.kind
            fields = own(kind) | fields
    if experiment == "learning":
        fields |= own(Readout)
    elif experiment == "capacity" and "simulation" in quantities:
        fields["alpha1"] = own(Readout)["alpha1"]
    if experiment != "alignment" and "theory" in quantities:
        fields |= _PREDICTING
    return fields | (_SAMPLING if "simulation" in quantities else {})


@functools.cache
def own(kind: Any) -> dict[str, Parameter]:
    """Return the fields of a class that are numbers or words, by name."""
    declared, fields = parameters_of(kind), {}
    for field in dataclasses.fields(kind):
        if type(field.default) in (int, float, str):
            words = (field.default,) if isinstance(field.default, str) else ()
            whole = type(field.default) is int
            plain = Parameter(field.name, default=field.default, whole=whole, choices=words)
            fields[field.name] = dataclasses.replace(declared.get(field.name, plain), arrays=False)
    return fields


@functools.lru_cache(maxsize=64)
def check_names(entry: ModelEntry) -> None:
    """Raise `InvalidInput` if a model has a field of a name that sweeps use themselves."""
    taken = _RESERVED | {*_parameters("learning", QUANTITIES, ())}
    for name in entry.options:
        if name in taken or name.startswith(QUANTITIES):
            remedy = "Sweeps have that name for something else: rename the field."
            raise InvalidInput("model", "one without this field", name, remedy)


def typed(experiment: str, quantities: Sequence[str], where: str, name: str, given: Any) -> Any:
    """Return a legal value in the type of its parameter, so that 5 and 5.0 are one value."""
    known = parameters(experiment, quantities)
    if name not in known:
        legal = f"a parameter of the {' or '.join(quantities)} of {experiment}: "
        raise InvalidInput(where, legal + ", ".join(sorted(known)), name)
    whole = known[name].whole and isinstance(given, float) and given.is_integer()
    try:
        value = known[name].checked(int(given) if whole else given)
    except InvalidInput as error:
        raise InvalidInput(where, *error.args[1:]) from None
    if isinstance(value, Loss):
        return value if value.digest else value.name
    return value + 0.0 if isinstance(value, float) else value  # the sum turns -0.0 into 0.0
