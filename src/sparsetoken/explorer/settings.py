"""The controls of the page: the parameters, their ranges, and the values they describe."""

from __future__ import annotations

import dataclasses
import functools
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from sparsetoken.base.parameters import (
    Linear,
    Log,
    Parameter,
    Range,
    parameter,
    parameters_of,
    value,
)
from sparsetoken.base.validation import Reals, choice
from sparsetoken.model import tasks
from sparsetoken.model.base import Problem
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Model, make_model
from sparsetoken.model.networks import Architecture, Gated, Pooled, SelfAttention, Softmax
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.model.tokens import Isotropic, TokenCovariance, TokenDistribution

_FILE = Path(__file__).with_name("stories.toml")
PRESETS: list[dict[str, Any]] = tomllib.loads(_FILE.read_text(encoding="utf-8"))["story"]
"""In the order of the page, which starts with the settings of the first."""


DIMENSION = 100
"""Of tokens with a covariance, which have a size of their own."""
SPARSE_TOKEN = "sparse_token"
"""The task whose parameters are those of the page; the others have none here."""
NETWORKS: dict[str, Callable[[Mapping[str, Any]], Architecture]] = {
    "softmax": lambda of: Softmax(beta=of["beta"]),
    "heads": lambda of: Softmax(of["network_heads"], beta=of["beta"]),
    "gated": lambda of: Gated(of["network_hidden"]),
    "self_attention": lambda of: SelfAttention(of["network_rank"]),
}
"""The networks that the page trains, from values of the parameters."""


@value
class _OfThePage:
    """The parameters of the page besides those of problem, stages and readout."""

    query: str = parameter(
        "source of the query: two gradient steps on other data, or given",
        default="two_steps",
        choices=("two_steps", "given"),
    )
    spectrum: float = parameter(
        "decay of the spectrum: eigenvalue j of the tokens' covariance is proportional to "
        f"j⁻ᵃ; d = {DIMENSION}",
        "a",
        default=0.0,
        slider=Linear(0, 1),
    )
    bag_effect: float = parameter(
        "effect shared by a bag: the variance that all its tokens share, relative to that "
        "within a bag",
        "c",
        default=0.0,
        slider=Linear(0, 4),
    )
    network: str = parameter(
        "network to train, beside mean pooling", default="softmax", choices=tuple(NETWORKS)
    )
    task: str = parameter(
        "task to learn", default=SPARSE_TOKEN, choices=(SPARSE_TOKEN, *tasks.__all__)
    )
    descent_eta_w: float = parameter(
        "step size of the readout", r"\eta_w", default=0.3, slider=Linear(0, 10)
    )
    descent_eta_q: float = parameter(
        "step size of the other columns, the projections that attention depends on",
        r"\eta_q",
        default=1.5,
        slider=Linear(0, 30),
    )
    descent_start: float = parameter(
        "norm of the columns at the start, relative to the default of each; from 0 no direction "
        "is preferred, and columns that are equal stay equal",
        default=1.0,
        slider=Linear(0, 10),
    )
    descent_overlap: float = parameter(
        "overlap at the start of the first column with the first direction of the task",
        default=0.3,
        slider=Linear(0, 2),
    )


def _controls(kind: type, *names: str, prefix: str = "") -> list[Parameter]:
    """Return declared parameters with the range of their sliders, as the page starts with them."""
    controls = []
    for declared in (parameters_of(kind)[name] for name in names):
        low, high = declared.slider or (None, None)
        changes: dict[str, Any] = {"name": prefix + declared.name, "range": Range(low, most=high)}
        changes["default"] = PRESETS[0]["settings"].get(changes["name"], declared.default)
        controls.append(dataclasses.replace(declared, **changes, arrays=False, find=None))
    return controls


GROUPS = {
    "Network and task": [
        *_controls(_OfThePage, "network"),
        *_controls(Softmax, "heads", prefix="network_"),
        *_controls(Gated, "hidden", prefix="network_"),
        *_controls(SelfAttention, "rank", prefix="network_"),
        *_controls(_OfThePage, "task"),
    ],
    "Task": _controls(SparseTokenProblem, "length", "informative", "strength", "positive_rate"),
    "Readout": _controls(Readout, "alpha1", "loss", "ridge"),
    "Query": [
        *_controls(_OfThePage, "query"),
        *_controls(TwoSteps, "alpha0", "eta_w", "eta_b", "eta_q", "beta"),
        *_controls(Query, "cosine", "sharpness"),
    ],
    "Tokens": _controls(_OfThePage, "spectrum", "bag_effect"),
    "Descent on all weights": [
        *_controls(Descent, "steps", prefix="descent_"),
        *_controls(
            _OfThePage, "descent_eta_w", "descent_eta_q", "descent_start", "descent_overlap"
        ),
    ],
}
"""The parts of the form."""
PARAMETERS = tuple(parameter for group in GROUPS.values() for parameter in group)
_BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


def controls() -> list[dict[str, Any]]:
    """Return the description of each control for the page."""
    return [
        {
            "name": each.name,
            "label": each.label,
            "symbol": each.equation,
            "default": each.default,
            "low": each.range.least,
            "high": each.range.most,
            "group": group,
            "log": isinstance(each.slider, Log),
            "whole": each.whole,
            "choices": each.choices,
            "help": each.sentence,
        }
        for group, some in GROUPS.items()
        for each in some
    ]


class Settings:
    """Values of all parameters.

    Parameters
    ----------
    values : mapping of str to number or str
        By the name of the parameter; those left out have their defaults.

    Raises
    ------
    InvalidInput
        If a name is unknown, a value is outside its range, or R > L.

    See Also
    --------
    sparsetoken.SparseTokenProblem : The task with one signal.
    sparsetoken.TwoSteps : A query found by two gradient steps.
    sparsetoken.Readout : The ridge, loss and load of the readout.

    Examples
    --------
    >>> from sparsetoken.explorer import Settings
    >>> Settings({"strength": 3.0}).problem().strength
    3.0
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        for name in values:
            choice("name of a parameter", name, _BY_NAME)
        self.values: dict[str, Any] = {
            name: parameter.checked(values.get(name, parameter.default))
            for name, parameter in _BY_NAME.items()
        }
        self.problem()  # which refuses R > L

    def __getitem__(self, name: str) -> Any:
        return self.values[name]

    def replace(self, **changes: Any) -> Settings:
        """Return settings with other values of some parameters."""
        return Settings({**self.values, **changes})

    @property
    def isotropic(self) -> bool:
        """Whether the noise of the tokens is the same in all directions."""
        return self["spectrum"] == 0 and self["bag_effect"] == 0

    def problem(self) -> SparseTokenProblem:
        """Return the problem."""
        given = {each.name: self[each.name] for each in GROUPS["Task"]}
        return SparseTokenProblem(**given, tokens=_tokens(self["spectrum"], self["bag_effect"]))

    def query(self) -> Query | TwoSteps:
        """Return the given query, or the steps that find it."""
        if self["query"] == "given":
            return Query(self["cosine"], self["sharpness"])
        return self.steps(self["alpha0"])

    def steps(self, alpha0: Reals) -> TwoSteps:
        """Return the two steps on so many samples per dimension."""
        sizes = (self[name] for name in ("eta_w", "eta_b", "eta_q", "beta", "loss"))
        return TwoSteps(alpha0, *sizes)

    def model(self, name: str) -> Model:
        """Return the model of this name with its query."""
        return make_model(name, self.query())

    def readout(self, alpha1: Reals) -> Readout:
        """Return the readout on so many samples per dimension."""
        return Readout(self["loss"], self["ridge"], alpha1)

    def task(self) -> Problem:
        """Return the task of a descent."""
        if self["task"] == SPARSE_TOKEN:
            return self.problem()
        made: Problem = getattr(tasks, self["task"])()
        return made

    def descents(self) -> dict[str, Descent]:
        """Return the descents of the network and of mean pooling on the task, by their names."""
        network = NETWORKS[self["network"]](self.values)
        return {self["network"]: self._descent(network), "pooled": self._descent(Pooled())}

    def _descent(self, network: Architecture) -> Descent:
        task = self.task()
        columns, readouts = network.column_names(outputs=1), network.readouts(outputs=1)
        rates = dict.fromkeys(columns, self["descent_eta_q"])
        rates |= {columns[i]: self["descent_eta_w"] for i in readouts}
        overlaps: Any = 0.0
        if self["task"] != SPARSE_TOKEN and 0 not in readouts:
            overlaps = dict.fromkeys(columns, 0.0)
            overlaps[columns[0]] = {task.directions[0]: self["descent_overlap"]}
        return Descent(
            network,
            alpha=self["alpha1"],
            steps=self["descent_steps"],
            rates=rates,
            start=[self["descent_start"] * norm for norm in network.start_norms(outputs=1)],
            start_overlaps=overlaps,
            loss=self["loss"] if task.metric == "error" else "square",
        )


@functools.lru_cache(maxsize=16)
def _tokens(spectrum: float, bag_effect: float) -> TokenDistribution:
    """Return the law of the tokens: eigenvalues j^-a of mean 1, shared by a bag c times."""
    if spectrum == 0 and bag_effect == 0:
        return Isotropic()
    within = np.arange(1, DIMENSION + 1) ** -spectrum
    within /= within.mean()
    between = bag_effect * within if bag_effect > 0 else None
    signal = np.full(DIMENSION, DIMENSION**-0.5)
    return TokenCovariance(within, between, signal=signal)
