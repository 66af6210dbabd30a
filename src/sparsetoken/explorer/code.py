"""Python code that computes what a view shows, made of the values that the view uses."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import sparsetoken
from sparsetoken.base.parameters import parameters_of
from sparsetoken.explorer.settings import DIMENSION, SPARSE_TOKEN, Settings
from sparsetoken.losses import Loss
from sparsetoken.model import networks
from sparsetoken.model.tokens import TokenCovariance

__all__ = ["code_of", "source"]


def code_of(settings: Settings, values: Mapping[str, Any], results: Mapping[str, str]) -> Any:
    """Return an event with a program that makes the values, and prints the results of them."""
    known = {name: source(value) for name, value in values.items()}
    if settings["task"] != SPARSE_TOKEN and "descents" in values:
        known["problem"] = f"st.tasks.{settings['task']}()"
    lines = ["import sparsetoken as st", ""]
    if "=tokens" in known["problem"]:
        lines = ["import numpy as np", *lines, *_tokens(settings)]
    lines += [f"{name} = {text}" for name, text in known.items()]
    for name, text in results.items():
        lines += [f"{name} = {text}", f"print({name})"]
    return {"kind": "code", "text": "\n".join(lines) + "\n"}


def source(value: Any) -> str:
    """Return the expression that makes a value: its `repr` without what has its default."""
    if isinstance(value, Loss):
        return repr(value.name)
    if isinstance(value, TokenCovariance):
        return "tokens"  # of which `repr` shows a digest
    if isinstance(value, tuple):
        return f"({', '.join(map(source, value))}{',' * (len(value) == 1)})"
    if not dataclasses.is_dataclass(value):
        return repr(value)
    declared = parameters_of(value)
    fields = {f.name: source(getattr(value, f.name)) for f in dataclasses.fields(value)}
    given = [
        f"{name}={text}"
        for name, text in fields.items()
        if name not in declared or text != source(declared[name].default)
    ]
    return f"{_place(type(value))}({', '.join(given)})"


def _place(kind: type) -> str:
    """Return the public name of a class, as scripts write it."""
    name = kind.__name__
    if name in dir(sparsetoken):
        return f"st.{name}"
    return f"st.networks.{name}" if name in networks.__all__ else f"st.model.{name}"


def _tokens(settings: Settings) -> list[str]:
    """Return the lines of the law of the tokens that `Settings.problem` makes."""
    spectrum, effect = settings["spectrum"], settings["bag_effect"]
    between = f", {effect!r} * within" if effect > 0 else ""
    return [
        f"within = np.arange(1, {DIMENSION + 1}) ** -{spectrum!r}",
        "within /= within.mean()",
        f"signal = np.full({DIMENSION}, {DIMENSION**-0.5!r})",
        f"tokens = st.TokenCovariance(within{between}, signal=signal)",
    ]
