"""The parameters of a sweep: their kinds, their defaults, and what depends on them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

__all__ = [
    "EXPERIMENTS",
    "PARAMETERS",
    "QUANTITIES",
    "SHAPES",
    "VERSIONS",
    "Parameter",
    "relevant",
    "uses",
]

QUANTITIES = ("theory", "simulation")
VERSIONS = {"alignment": 1, "learning": 2, "capacity": 2}
"""Of the experiments: raised when the same configuration means another result."""

EXPERIMENTS = tuple(VERSIONS)


class Parameter(NamedTuple):
    """The type of a parameter and its default, as on the command line; None: left out."""

    kind: type
    default: Any


PARAMETERS = {
    "model": Parameter(str, "attention"),
    "length": Parameter(int, 10),
    "informative": Parameter(int, 1),
    "strength": Parameter(float, 5.0),
    "positive_rate": Parameter(float, 0.5),
    "loss": Parameter(str, "logistic"),
    "ridge": Parameter(float, 1e-2),
    "alpha0": Parameter(float, 2.0),
    "eta_w": Parameter(float, 0.5),
    "eta_b": Parameter(float, 0.5),
    "eta_q": Parameter(float, 1.0),
    "beta": Parameter(float, 1.0),
    "cosine": Parameter(float, None),
    "sharpness": Parameter(float, None),
    "activation": Parameter(str, "erf"),
    "alpha1": Parameter(float, 2.0),
    "tolerance": Parameter(float, 1e-4),
    "dimension": Parameter(int, 500),
    "engine": Parameter(str, "reduced"),
    "dtype": Parameter(str, "float64"),
}
"""In the order of exported columns."""

SHAPES = ("experiment", "quantity", "engine", "model", "loss", "activation", "length", "dimension")
"""What compiled code and memory depend on: rows that agree in these run side by side."""

_PROBLEM = ("length", "informative", "strength", "positive_rate")
_STAGES = ("alpha0", "eta_w", "eta_b", "eta_q", "beta")
_QUERY = ("cosine", "sharpness")
_SAMPLING = ("dimension", "engine", "dtype")
_MODEL = ("model", *_PROBLEM, *_STAGES, *_QUERY, "activation", "loss")

_USES = {
    ("alignment", "theory"): (*_PROBLEM, *_STAGES, "loss"),
    ("alignment", "simulation"): (*_PROBLEM, *_STAGES, "loss", "ridge", *_SAMPLING),
    ("learning", "theory"): (*_MODEL, "ridge", "alpha1", "tolerance"),
    ("learning", "simulation"): (*_MODEL, "ridge", "alpha1", *_SAMPLING),
    ("capacity", "theory"): (*_MODEL, "tolerance"),
    ("capacity", "simulation"): (*_MODEL, "ridge", "alpha1", *_SAMPLING),
}


def uses(experiment: str, quantities: tuple[str, ...] = QUANTITIES) -> set[str]:
    """Return the parameters that the quantities of an experiment may depend on."""
    return {name for quantity in quantities for name in _USES[experiment, quantity]}


def relevant(experiment: str, quantity: str, values: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the parameters that this result depends on, given the values of all.

    Points that differ in others share a row. A simulation keeps the steps of its training
    even where they play no part, since `simulate` seeds its trials by them.
    """
    dropped: set[str] = set()
    queried = values["model"] in ("attention", "elementwise")
    if values["model"] != "elementwise":
        dropped.add("activation")
    if not queried:
        dropped.update(_QUERY)
    trained = queried and values["cosine"] is None
    if quantity == "theory" and experiment != "alignment" and not trained:
        dropped.update(_STAGES)
        if experiment == "capacity":
            dropped.add("loss")
    if values["engine"] == "reduced":
        dropped.add("dtype")
    return tuple(name for name in _USES[experiment, quantity] if name not in dropped)
