"""Options made of the declarations of values, and those that commands share."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

from cyclopts import Group
from cyclopts import Parameter as Option

from sparsetoken.base.parameters import REQUIRED, Parameter, parameters_of
from sparsetoken.base.validation import MOST_POINTS, InvalidInput, integer, require_points
from sparsetoken.model.models import MODELS, Elementwise, QueriedModel
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps

Kind = TypeVar("Kind", bound="Values")

PANELS: dict[Any, str] = {
    SparseTokenProblem: "Task",
    TwoSteps: "Two gradient steps",
    Query: "Query (both or neither; by default two gradient steps find it)",
    Readout: "Readout",
    Elementwise: "Elementwise attention",
}


def option_name(name: str) -> str:
    """Return the name of an option, such as --eta-w."""
    return "--" + name.replace("_", "-")


def _read(kind: Any, tokens: Any) -> Any:
    """Return the value of an option: a number, a tuple of several, or the words as they are."""
    text: str = tokens[0].value
    parts = text.split(",")
    try:
        entries: list[Any] = _numbers(text, _number)
    except ValueError:
        entries = [part.strip() for part in parts]
    return tuple(entries) if len(entries) > 1 else entries[0]


def _number(text: str) -> int | float:
    try:
        return int(text)
    except ValueError:
        return float(text)


def _numbers(text: str, kind: Callable[[str], Any]) -> list[Any]:
    """Return the numbers of a list of single ones and ranges.

    What is neither, and more of them than `MOST_POINTS`, is a ValueError.
    """
    require_points("points", _count(text))
    return [number for part in text.split(",") for number in (_range(part) or [kind(part)])]


def _count(text: str) -> int:
    """Return how many numbers a list of single ones and ranges has, which are not made."""
    words = (part.split(":")[2:3] for part in text.split(","))
    return sum(int(word[0][:40]) if word and word[0].isdecimal() else 1 for word in words)


def _range(text: str) -> list[int | float]:
    """Return the numbers of from:to:points or from:to:points:log, none if it is a single one.

    What is no range is a ValueError.
    """
    low, *rest = text.strip().split(":")
    if not rest:
        return []
    high, count, *scale = rest
    ends, points = [float(low), float(high)], int(count)
    if scale not in ([], ["log"]) or points < 2:
        raise ValueError(text)
    if not all(map(math.isfinite, ends)) or (scale and min(ends) <= 0):
        raise ValueError(text)
    import numpy as np

    spread: Any = np.geomspace if scale else np.linspace
    numbers = spread(*ends, points).tolist()
    rounded = [float(f"{number:.12g}") for number in numbers]
    return [int(number) if number.is_integer() else number for number in rounded]


def several(help: str, group: Any = None, **more: Any) -> Option:
    """Return an option that takes numbers or words, several of them or a range.

    What is no number stays a word, which the call refuses with the legal range.
    """
    if group is not None:  # a group of None would hide the option in the help
        more["group"] = group
    return Option(help=help, converter=_read, allow_leading_hyphen=True, **more)


class Values:
    """The values of options, which become the values that the theory takes."""

    declared: ClassVar[Mapping[str, Parameter]] = {}

    def of(self, kind: Any) -> Any:
        """Return the value of a class."""
        names = parameters_of(kind).keys() & self.declared.keys()
        return kind(**{name: getattr(self, name) for name in names})

    def query(self) -> Query | TwoSteps:
        """Return the query that is given, or the steps that find it."""
        given = [name for name in ("cosine", "sharpness") if getattr(self, name) is not None]
        if len(given) == 1:
            remedy = "Give both, or neither to find the query by two gradient steps."
            got = f"{option_name(given[0])} alone"
            raise InvalidInput("--cosine and --sharpness", "given together", got, remedy)
        found: Query | TwoSteps = self.of(Query) if given else self.of(TwoSteps)
        return found

    def unused(self, models: Sequence[str]) -> list[str]:
        """Return advice about options that have no effect on any of the models."""
        kinds = [MODELS[model] for model in models]
        names, told = ", ".join(models), []
        moved = self._moved(TwoSteps)
        given = [f"--{name}" for name in ("cosine", "sharpness") if getattr(self, name) is not None]
        if not any(issubclass(kind, QueriedModel) for kind in kinds):
            told.append(([*given, *moved], f"{names}: no query."))
        elif given:
            told.append((moved, "--cosine and --sharpness give the query."))
        if not any("activation" in parameters_of(kind) for kind in kinds):
            told.append((self._moved(Elementwise), f"{names}: no elementwise attention."))
        return [f"No effect: {', '.join(some)}. {reason}" for some, reason in told if some]

    def _moved(self, kind: Any) -> list[str]:
        """Return the options of a class that are not at their defaults."""
        return [
            option_name(name)
            for name, one in parameters_of(kind).items()
            if name in self.declared and name != "loss" and getattr(self, name) != one.default
        ]

    @property
    def several(self) -> list[str]:
        """The names of the options that have several values."""
        return [name for name in self.declared if isinstance(getattr(self, name), tuple)]

    def settings(self) -> Iterator[tuple[dict[str, Any], dict[str, Any], Values]]:
        """Yield the combinations of what no array can hold: words, numbers, and the options there.

        In the options are arrays of all other numbers, with an axis for each that is several.
        """
        given = {name: getattr(self, name) for name in self.declared}
        many = {name: given[name] for name in self.several}
        arrays = [name for name in many if self.declared[name].several]
        shapes = {name: [-1 if name == other else 1 for other in arrays] for name in arrays}
        words = [name for name in many if self.declared[name].number is None]
        loops = [*words, *(name for name in many if name not in {*words, *arrays})]
        for chosen in itertools.product(*(many[name] for name in loops)):
            at = dict(zip(loops, chosen, strict=True))
            single = {name: value for name, value in {**given, **at}.items() if name not in shapes}
            for name, value in single.items():
                _refuse_range(name, value)
                if value is not None:
                    self.declared[name].checked(value)
            options: Any = dataclasses.replace(self, **single, **self._shaped(shapes))  # type: ignore[type-var]
            numbers = {name: value for name, value in at.items() if name not in words}
            yield {name: at[name] for name in words}, numbers, options

    def _shaped(self, shapes: Mapping[str, list[int]]) -> dict[str, Any]:
        if not shapes:
            return {}
        import numpy as np

        found = {}
        for name, shape in shapes.items():
            value = getattr(self, name)
            if any(isinstance(entry, str) for entry in value):
                _refuse_range(name, text := ",".join(map(str, value)))
                self.declared[name].checked(text)
            found[name] = np.reshape(value, shape)
        return found


def _refuse_range(name: str, given: Any) -> None:
    """Raise `InvalidInput` for a word that was to be a range, or has too many numbers."""
    if isinstance(given, str) and ":" in given:
        require_points(f"{name} (points)", _count(given))
        legal = (
            f"given by numbers or ranges from:to:points, of 2 to {MOST_POINTS} points, with :log "
            "for equal ratios between ends above 0"
        )
        raise InvalidInput(name, legal, given)


def of(*kinds: Any, optional: Any = (), **more: Parameter) -> Callable[[type[Kind]], type[Kind]]:
    """Fill a class with the options of values and of further parameters.

    A name that several values declare is one option, whose help says what it is to each. The
    options of optional values are None by default. Further parameters have no group.
    """
    declared: dict[str, Parameter] = {}
    fields: list[tuple[str, Any, Any]] = []
    for kind in kinds:
        group = Group(PANELS[kind], sort_key=list(PANELS).index(kind))
        for name, one in parameters_of(kind).items():
            if name not in declared and (one.number or one.choices):
                default = None if kind in optional else one.default
                meanings = [
                    parameters_of(each)[name] for each in kinds if name in parameters_of(each)
                ]
                fields.append(_field(name, _shared(meanings), default, group))
                declared[name] = one
    for name, one in more.items():
        fields.append(_field(name, one, one.default, None))
        declared[name] = one

    def made(kind: type[Kind]) -> type[Kind]:
        filled: Any = dataclasses.make_dataclass(
            kind.__name__,
            fields,
            bases=(kind,),
            namespace={"declared": declared},
            frozen=True,
        )
        filled.__module__ = kind.__module__  # by that of `types` it would count as no dataclass
        flat: type[Kind] = Option(name="*")(filled)
        return flat

    return made


def _shared(meanings: Sequence[Parameter]) -> Parameter:
    """Return a parameter of several values, with what it is to each in its help."""
    first, *others = meanings
    more = [one.help.removeprefix(one.label).lstrip(", ") for one in others]
    return dataclasses.replace(first, help=", and ".join([first.help, *more]))


def _field(name: str, one: Parameter, default: Any, group: Any) -> tuple[str, Any, Any]:
    legal = f"{one.symbol}, {one.help}; {one.legal}.".lstrip(", ")
    kind: Any = str if one.choices else one.number
    annotation: Any = kind | None if default is None else kind
    option = several(legal, group, name=option_name(name))
    return name, Annotated[annotation, option], None if default is REQUIRED else default


def _models(_: Any, tokens: Any) -> tuple[str, ...]:
    """Return the names of models."""
    text: str = tokens[0].value
    return tuple(MODELS) if text == "all" else tuple(map(str.strip, text.split(",")))


ModelName = Annotated[
    str,  # on the command line; a tuple of names in the call
    Option(
        "MODEL",
        converter=_models,
        help=f"{', '.join(MODELS)}; several with commas between, or all.",
    ),
]
EXPERIMENT = "Experiment at finite dimension"
Trials = Annotated[int, several("Independent repetitions.", EXPERIMENT)]
TrialSeed = Annotated[int, several("Seed of all trials.", EXPERIMENT, name="--seed")]
Seed = Annotated[int, several("Random seed, at least 0 and below 2^32.")]
Cluster = Annotated[str, Option(help="Address of a dask scheduler, tcp://host:port.")]
Json = Annotated[
    bool,
    Option(
        "--json",
        negative="",
        help="Print one JSON object on standard output; messages go to standard error.",
    ),
]
Tolerance = Annotated[
    float,
    several(
        "Tolerance: an upper bound on twice the numerical error of the test error, or the "
        "relative one of the capacity.",
    ),
]


def random_state(seed: int) -> int:
    """Return a seed that scikit-learn takes, or raise `InvalidInput`."""
    return integer("seed", seed, 0, 2**32 - 1)


def numbers(name: str, text: str, kind: type[Any]) -> list[Any]:
    """Return the numbers in a comma-separated list or a range, or raise `InvalidInput`."""
    words = {int: "whole numbers", float: "numbers"}[kind]
    try:
        return _numbers(text, kind)
    except ValueError:
        _refuse_range(name, text)
        raise InvalidInput(name, f"{words}, separated by commas", text) from None


def _folder(_: Any, tokens: Any) -> Any:
    """Return a path; no text stays none, which would be the working folder."""
    text: str = tokens[0].value
    return Path(text) if text else text


_GRID = Group("Several settings (numbers separated by commas, or from:to:points[:log])", sort_key=9)


@Option(name="*")
@dataclasses.dataclass(frozen=True)
class Grid:
    """How many settings are computed, and where their results go."""

    workers: Annotated[int, several("Processes that share the settings; 1 is this one.", _GRID)] = 1
    cluster: Annotated[
        str, Option(group=_GRID, help="Address of a dask scheduler, tcp://host:port.")
    ] = ""
    keep: Annotated[
        Path | None,
        Option(
            group=_GRID,
            converter=_folder,
            help="Folder that keeps each result, from which a new run resumes.",
        ),
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
    json: Json = False

    @property
    def work(self) -> dict[str, Any]:
        """The arguments of a call."""
        if self.keep is not None and not isinstance(self.keep, Path):  # an unset variable
            raise InvalidInput("--keep", "a folder", self.keep)
        return {"workers": integer("workers", self.workers, 1), "keep": self.keep}
