"""Options that commands share; their help is that of the declarations in the library."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Group
from cyclopts import Parameter as Option

from sparsetoken.base.parameters import parameters_of
from sparsetoken.base.validation import MOST_POINTS, integer
from sparsetoken.model.models import MODELS, Elementwise
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import LOSSES, Query, Readout, TwoSteps

Numbers = float | list[float]
Words = str | list[str]
"""What an option with `number` or `word` takes: one, or several, which become a tuple."""

_RANGE = f"a range from:to:points or from:to:points:log, of 2 to {MOST_POINTS} points"
_GRID = Group("Several settings (numbers separated by commas, or from:to:points[:log])", sort_key=9)
GROUPS = {
    SparseTokenProblem: Group("Task", sort_key=0),
    TwoSteps: Group("Two gradient steps", sort_key=1),
    Query: Group("Query (without a cosine two gradient steps find it)", sort_key=2),
    Readout: Group("Readout", sort_key=3),
    Elementwise: Group("Elementwise attention", sort_key=4),
}
EXPERIMENT = Group("Experiment at finite dimension", sort_key=5)
TRAINING = Group("Training", sort_key=1)


def _read(_: Any, tokens: Any) -> Any:
    """Return a number or a word; a tuple of several, separated by commas or in a range."""
    parts = [part.strip() for token in tokens for part in token.value.split(",")]
    found = [one for part in parts for one in (_range(part) if ":" in part else [_number(part)])]
    words = [one for one in found if isinstance(one, str)]
    if 0 < len(words) < len(found):
        raise ValueError(f"{words[0][:80]!r} is not a number.")
    if len(set(found)) < len(found):
        raise ValueError(f"{next(one for one in found if found.count(one) > 1)} is there twice.")
    return tuple(found) if len(found) > 1 else found[0]


def _number(text: str) -> int | float | str:
    """Return a number, or the word, which the call refuses with the legal range."""
    with contextlib.suppress(ValueError):
        return int(text)
    with contextlib.suppress(ValueError):
        number = float(text)
        return int(number) if number.is_integer() and "e" in text.lower() else number  # 1e3 trials
    return text


def _range(text: str) -> list[int | float]:
    try:
        low, high, count, *scale = text.split(":")
        ends, points = [float(low), float(high)], int(count)
    except ValueError:
        points = 0
    if not 2 <= points <= MOST_POINTS or scale not in ([], ["log"]):
        raise ValueError(f"{text[:80]!r} is not {_RANGE}.")
    if not all(map(math.isfinite, ends)) or (scale and min(ends) <= 0):
        raise ValueError(f"The ends of {text[:80]!r} are not finite, or not above 0 with log.")
    import numpy as np

    spread: Any = np.geomspace if scale else np.linspace
    numbers = spread(*ends, points).tolist()
    rounded = [float(f"{number:.12g}") for number in numbers]
    return [int(number) if number.is_integer() else number for number in rounded]


def number(help: str, group: Any = None, **more: Any) -> Option:
    """Return an option for numbers."""
    if group is not None:  # a group of None would hide the option in the help
        more["group"] = group
    look: dict[str, Any] = {"metavar": "NUMBER", "allow_leading_hyphen": True} | more
    return Option(help=help, converter=_read, **look)


def word(help: str, group: Any = None, **more: Any) -> Option:
    """Return an option for words."""
    return number(help, group, metavar="WORD", allow_leading_hyphen=False, **more)


def declared(kind: Any, name: str, group: Any = None) -> Option:
    """Return the option for a number that a class declares."""
    one = parameters_of(kind)[name]
    return number(f"{one.symbol}, {one.help}; {one.legal}.".lstrip(", "), group or GROUPS[kind])


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Task:
    """The options of a `SparseTokenProblem`."""

    length: Annotated[Numbers, declared(SparseTokenProblem, "length")] = SparseTokenProblem.length
    informative: Annotated[Numbers, declared(SparseTokenProblem, "informative")] = (
        SparseTokenProblem.informative
    )
    strength: Annotated[Numbers, declared(SparseTokenProblem, "strength")] = (
        SparseTokenProblem.strength
    )
    positive_rate: Annotated[Numbers, declared(SparseTokenProblem, "positive_rate")] = (
        SparseTokenProblem.positive_rate
    )


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Steps:
    """The options of `TwoSteps`."""

    alpha0: Annotated[Numbers, declared(TwoSteps, "alpha0")] = TwoSteps.alpha0
    eta_w: Annotated[Numbers, declared(TwoSteps, "eta_w")] = TwoSteps.eta_w
    eta_b: Annotated[Numbers, declared(TwoSteps, "eta_b")] = TwoSteps.eta_b
    eta_q: Annotated[Numbers, declared(TwoSteps, "eta_q")] = TwoSteps.eta_q
    beta: Annotated[Numbers, declared(TwoSteps, "beta")] = TwoSteps.beta


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Given:
    """The options of a `Query`."""

    cosine: Annotated[Numbers | None, declared(Query, "cosine")] = None
    sharpness: Annotated[Numbers | None, declared(Query, "sharpness")] = None


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Fitted:
    """The options of a `Readout`."""

    ridge: Annotated[Numbers, declared(Readout, "ridge")] = Readout.ridge
    alpha1: Annotated[Numbers, declared(Readout, "alpha1")] = Readout.alpha1


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Common:
    """The options of all commands."""

    config: Annotated[
        Path | None,
        Option(help="TOML file with values of options by name; typed ones take precedence."),
    ] = None
    json: Annotated[
        bool,
        Option(help="Print one JSON object on standard output; messages go to standard error."),
    ] = False


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Grid(Common):
    """How settings are computed, and where their results go."""

    workers: Annotated[int, number("Processes that share the settings; 1 is this one.", _GRID)] = 1
    cluster: Annotated[
        str, Option(group=_GRID, help="Address of a dask scheduler, tcp://host:port.")
    ] = ""
    keep: Annotated[
        str | None,
        Option(group=_GRID, help="Folder that keeps each result, from which a new run resumes."),
    ] = None
    out: Annotated[
        Path | None, Option(group=_GRID, help="Table (.csv, .parquet) or arrays (.nc).")
    ] = None
    plot: Annotated[
        Path | None,
        Option(
            group=_GRID,
            help="Picture (.svg, .png, .pdf): curves over the number that is several, a map over "
            "two.",
        ),
    ] = None
    all: Annotated[bool, Option(group=_GRID, help="Show all columns of the table.")] = False

    @property
    def work(self) -> dict[str, Any]:
        """The arguments of a call."""
        return {"workers": self.workers, "keep": self.keep}


ModelName = Annotated[
    Words,
    word(f"{', '.join(MODELS)}; several with commas between, or all.", name="MODEL"),
]
Loss = Annotated[Words, word(f"ℓ, loss of all stages; {', '.join(LOSSES)}.")]
Activation = Annotated[
    Words,
    word(
        f"{parameters_of(Elementwise)['activation'].help}; "
        f"{', '.join(parameters_of(Elementwise)['activation'].choices)}.",
        GROUPS[Elementwise],
    ),
]
Trials = Annotated[int, number("Independent repetitions.", EXPERIMENT)]
TrialSeed = Annotated[int, number("Seed of all trials.", EXPERIMENT)]
Seed = Annotated[int, number("Random seed, at least 0 and below 2^32.")]
Cluster = Annotated[str, Option(help="Address of a dask scheduler, tcp://host:port.")]
Tolerance = Annotated[
    float,
    number(
        "Tolerance: an upper bound on twice the numerical error of the test error, or the "
        "relative one of the capacity.",
    ),
]


def listed(given: Any) -> list[Any]:
    """Return what an option has, one or several, as a list."""
    return list(given) if isinstance(given, tuple) else [given]


def random_state(seed: int) -> int:
    """Return a seed that scikit-learn takes, or raise `InvalidInput`."""
    return integer("seed", seed, 0, 2**32 - 1)
