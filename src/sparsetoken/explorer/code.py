"""Python code that computes and draws what a view shows, made of the values that it uses."""

from __future__ import annotations

import dataclasses
import inspect
import textwrap
from collections.abc import Mapping
from typing import Any

import sparsetoken
from sparsetoken.base.parameters import parameters_of
from sparsetoken.explorer.settings import DIMENSION, SPARSE_TOKEN, Settings
from sparsetoken.figures.palette import COLOURS, NAMES
from sparsetoken.losses import Loss
from sparsetoken.model import networks
from sparsetoken.model.tokens import TokenCovariance

__all__ = ["code_of", "of_bayes", "source"]


_WIDTH = 80  # of an expression
_NUMPY = "import numpy as np\n"


def code_of(settings: Settings, values: Mapping[str, Any], figure: str) -> Any:
    """Return an event with a program that makes the values, and then computes and draws."""
    known = {name: _lines(value) for name, value in values.items()}
    if settings["task"] != SPARSE_TOKEN and "descents" in values:
        known["problem"] = f"st.tasks.{settings['task']}()"
    lines = [
        "import matplotlib.pyplot as plt",
        "import numpy as np",
        "",
        "import sparsetoken as st",
    ]
    lines += ["", *(_tokens(settings) if "=tokens" in known["problem"] else ())]
    lines += [f"{name} = {text}" for name, text in known.items()]
    text = "\n".join([*lines, "", inspect.cleandoc(figure), "plt.show()"]) + "\n"
    return {"kind": "code", "text": text if "np." in text else text.replace(_NUMPY, "")}


def of_bayes(draw: str) -> str:
    """Return a line of code that draws the Bayes-optimal error by a function of an axes."""
    return f'ax.{draw}, ls=":", color="{COLOURS["bayes"]}", label="{NAMES["bayes"]}")\nax.legend()'


def _lines(value: Any, indent: str = "") -> str:
    """Return the expression of a value in lines: a tuple that is long has one for each entry."""
    text = source(value)
    if isinstance(value, tuple) and len(text) > _WIDTH:
        return "".join(["(\n", *(f"    {_lines(entry, '    ')},\n" for entry in value), ")"])
    return textwrap.fill(text, _WIDTH, subsequent_indent=f"{indent}    ", break_long_words=False)


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
