"""The declaration of a parameter: its name, letter, range and help, each written once.

The classes of problems, models and stages declare their fields with `parameter`. Validation,
docstrings, sliders, axes of figures, options and the page on notation read the declarations.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
import re
import textwrap
from collections.abc import Callable
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar, dataclass_transform

from sparsetoken.base.content import code_version
from sparsetoken.base.validation import (
    LARGEST_LOAD,
    LARGEST_VALUE,
    choice,
    integer,
    integers,
    legal_integer,
    legal_real,
    real,
    reals,
    refuse_masked,
    require_points,
)

__all__ = [
    "REQUIRED",
    "Linear",
    "Log",
    "Named",
    "Parameter",
    "Range",
    "parameter",
    "parameters_of",
    "same_as",
    "value",
    "version_of_functions",
]

Kind = TypeVar("Kind")

REQUIRED = inspect.Parameter.empty
"""The default of a parameter that must be given."""

_LAST_SECTIONS = re.compile(r"^(?=(?:See Also|Examples)$)", re.MULTILINE)
"""Where the last sections of a docstring begin: what is declared is written before them."""

_GREEK = {"alpha": "α", "beta": "β", "eta": "η", "theta": "θ", "lambda": "λ", "pi": "π"}
_GREEK |= {"ell": "ℓ", "phi": "φ"}
_DIGITS = str.maketrans("0123456789", "₀₁₂₃₄₅₆₇₈₉")


class Linear(NamedTuple):
    """The ends of a slider with equal steps."""

    low: float
    high: float


class Log(Linear):
    """The ends of a slider with equal ratios between steps."""


class Range(NamedTuple):
    """Legal numbers are >= least, > above, <= most and < below; with `infinite`, also inf."""

    least: float | None = None
    above: float | None = None
    most: float | None = None
    below: float | None = None
    infinite: bool = False

    @property
    def whole(self) -> tuple[int, int | None]:
        """The ends for integers."""
        return int(self.least or 0), None if self.most is None else int(self.most)

    @property
    def interval(self) -> dict[str, Any]:
        """The arguments of `legal_real`."""
        low = self.least if self.above is None else self.above
        high = self.most if self.below is None else self.below
        return {
            "low": -math.inf if low is None else low,
            "high": math.inf if high is None else high,
            "open_low": self.above is not None,
            "open_high": self.below is not None,
        }


ANY = Range()
SIZES = Range(least=0, most=LARGEST_VALUE)
POSITIVE = Range(above=0, most=LARGEST_VALUE)
LOADS = Range(above=0, most=LARGEST_LOAD)
"""Bounds of all finite numbers, strengths and steps, temperatures, and samples per dimension."""


@dataclasses.dataclass(frozen=True)
class Parameter:
    r"""A parameter: its meaning and its legal values.

    It is a real number unless `whole`, `choices` or `find` is set.

    Parameters
    ----------
    name : str
    help : str
        What it is, without a capital at the start and a full stop at the end. The words before
        the first punctuation mark are its label on axes and sliders.
    letter : str
        In TeX, such as ``\theta``; or an equation, such as ``\alpha_0 = n_0/d``.
    default : object
        `REQUIRED` if it must be given; where it is None, None is legal.
    range : Range
    whole : bool
        Whether it is an integer.
    arrays : bool, optional
        Whether a number may be an array of numbers, which is kept as nested tuples. By default real
        numbers may, and integers may not.
    per_step : bool
        Whether the last axis of an array has one number for each step of a descent.
    choices : tuple of str
        The legal words.
    find : callable, optional
        Returns the object that a value stands for, or raises `InvalidInput`. A word among the
        `choices` is kept, and its object is found when the field is read: see `Named`.
    kind : str
        The type in words, where it is none of those above.
    slider : Linear or Log, optional
    remedy : str
        The last sentence of the error message.
    """

    name: str = ""
    help: str = ""
    letter: str = ""
    default: Any = REQUIRED
    range: Range = ANY
    whole: bool = False
    arrays: bool | None = None
    per_step: bool = False
    choices: tuple[str, ...] = ()
    find: Callable[[Any], Any] | None = None
    kind: str = ""
    slider: Linear | Log | None = None
    remedy: str = ""

    def checked(self, given: Any) -> Any:
        """Return a legal value in its type, or raise `InvalidInput`."""
        if given is None and self.default is None:
            return None
        refuse_masked(self.title, given)
        if self.several and not self.per_step:
            require_points(f"{self.name} (points)", getattr(given, "size", 1))
        if self.find is not None:
            known = isinstance(given, str) and given in self.choices
            return given if known else self.find(given)
        if self.choices:
            return choice(self.title, given, self.choices, self.remedy)
        if self.whole:
            of = integers if self.several else integer
            return of(self.title, given, *self.range.whole, self.remedy)
        check, limits = reals if self.several else real, self.range.interval
        infinite, remedy = self.range.infinite, self.remedy
        return check(self.title, given, **limits, infinite=infinite, remedy=remedy)

    @property
    def legal(self) -> str:
        """The legal values in words; "" where `find` decides."""
        if self.choices:
            return "one of " + ", ".join(self.choices)
        if self.find is not None:
            return ""
        if self.whole:
            return legal_integer(*self.range.whole)
        return legal_real(**self.range.interval, infinite=self.range.infinite)

    @property
    def meaning(self) -> str:
        """What the letter adds to the name: theta for strength, n0/d for alpha0."""
        last = _plain(self.letter).rpartition(" = ")[2]
        return "" if last == self.name else last

    @property
    def symbol(self) -> str:
        """The letter in Unicode, such as θ or α₀."""
        return self.equation.partition(" = ")[0]

    @property
    def equation(self) -> str:
        """The letter in Unicode with its definition, such as α₀ = n₀/d."""
        text = re.sub(r"\\([a-z]+)", lambda match: _GREEK.get(match[1], match[1]), self.letter)
        return re.sub(r"_(\d)", lambda match: match[1].translate(_DIGITS), text)

    @functools.cached_property
    def title(self) -> str:
        """The name in messages, with its letter, such as strength (theta)."""
        return f"{self.name} ({self.meaning})" if self.meaning else self.name

    @property
    def label(self) -> str:
        """A short label for axes and sliders: the first words of `help`, or the name."""
        return re.split(r"[.,:;(]", self.help)[0] or self.name.replace("_", " ")

    @property
    def axis_label(self) -> str:
        """The text of an axis, with its letter in TeX."""
        return f"{self.label} ${self.letter}$" if self.letter else self.label

    @property
    def sentence(self) -> str:
        """The help as a sentence."""
        return f"{self.help[:1].upper()}{self.help[1:]}."

    @property
    def several(self) -> bool:
        """Whether it may hold an array of numbers."""
        return self.number is not None and (not self.whole if self.arrays is None else self.arrays)

    @property
    def number(self) -> type[int] | type[float] | None:
        """The type of a number, None for other parameters."""
        if self.choices or self.find is not None:
            return None
        return int if self.whole else float

    @property
    def kind_and_range(self) -> str:
        """The type and the range, as written in docstrings."""
        optional = ", optional" if self.default is None else ""
        if self.kind or self.choices:
            return f"{self.kind or self.legal}{optional}"
        array = " or array" if self.several else ""
        if self.whole:
            return self.legal.replace("an integer", f"int{array}")
        schedule = ", sequence of floats" if self.per_step else ""
        return f"float{schedule}{array}{self.legal.removeprefix('a finite number')}{optional}"


def _plain(letter: str) -> str:
    return re.sub(r"_(\d)", r"\1", letter.replace("\\", ""))


def parameter(help: str, letter: str = "", *, default: Any = REQUIRED, **more: Any) -> Any:
    """Declare a field of a `value` by the fields of `Parameter`, except its name.

    The default is given by keyword, where type checkers expect it.
    """
    declared = Parameter("", help, letter, default, **more)
    default = dataclasses.MISSING if default is REQUIRED else default
    return dataclasses.field(default=default, metadata={"parameter": declared})


def same_as(kind: Any, name: str, *, default: Any) -> Any:
    """Declare a field of a `value` as another one has it."""
    declared = dataclasses.replace(parameters_of(kind)[name], default=default)
    return dataclasses.field(default=default, metadata={"parameter": declared})


def version_of_functions() -> Any:
    """Declare the field of a `value` that stands for the code of a user in it."""
    return parameter(
        "of the functions, for calls with `keep`: any text or whole number, to be changed whenever "
        "their code changes",
        default="",
        find=code_version,
        kind="str or int",
    )


def parameters_of(kind: Any) -> dict[str, Parameter]:
    r"""Return the declared fields of a class or its instance, by name.

    Examples
    --------
    >>> import sparsetoken as st
    >>> from sparsetoken.base.parameters import parameters_of
    >>> parameters_of(st.SparseTokenProblem)["strength"].axis_label
    'signal strength $\\theta$'
    """
    fields = dataclasses.fields(kind)
    return {f.name: f.metadata["parameter"] for f in fields if "parameter" in f.metadata}


@dataclass_transform(frozen_default=True, field_specifiers=(parameter, same_as, dataclasses.field))
def value(kind: type[Kind]) -> type[Kind]:
    """Make a frozen dataclass that checks and documents its declared fields.

    Its method ``_check_together``, if any, is then called to check conditions between fields.
    """
    for name, field in vars(kind).items():
        if isinstance(field, dataclasses.Field) and "parameter" in field.metadata:
            declared = dataclasses.replace(field.metadata["parameter"], name=name)
            field.metadata = MappingProxyType({"parameter": declared})
    kind.__post_init__ = _check_fields  # type: ignore[attr-defined]
    made = dataclasses.dataclass(frozen=True)(kind)
    for declared in parameters_of(made).values():
        if declared.choices and declared.find is not None:
            setattr(made, declared.name, Named(declared))
    made.__doc__ = _documented(inspect.getdoc(made) or "", parameters_of(made))
    return made


def _check_fields(self: Any) -> None:
    fields = vars(self)  # what is kept: reading the attribute would find the object of a word
    for name, declared in parameters_of(type(self)).items():
        fields[name] = declared.checked(fields[name])
    if hasattr(self, "_check_together"):
        self._check_together()


class Named(Generic[Kind]):
    """A field that takes an object or a word for it, and gives the object.

    The word is stored and the object is loaded on first use: losses take long to load.
    """

    def __init__(self, declared: Parameter) -> None:
        self._declared = declared

    def __get__(self, owner: object, kind: type) -> Kind:
        """Return the object; of the class, the default."""
        declared: Any = self._declared
        kept = declared.default if owner is None else vars(owner)[declared.name]
        return declared.find(kept)

    def __set__(self, owner: object, given: Kind | str) -> None:
        vars(owner)[self._declared.name] = given


def _documented(text: str, declared: dict[str, Parameter]) -> str:
    """Return a docstring with its parameters and errors inserted before the other sections."""
    if not declared:
        return text
    lines = ["Parameters", "----------"]
    for each in declared.values():
        words = f"{each.meaning}: {each.help}." if each.meaning else each.sentence
        wrapped = textwrap.indent(textwrap.fill(words, 88), "    ")
        lines += [f"{each.name} : {each.kind_and_range}", wrapped]
    lines += ["", "Raises", "------", "InvalidInput", "    If a value is not legal.", ""]
    about, *rest = _LAST_SECTIONS.split(text, maxsplit=1)
    return "\n".join([about.rstrip(), "", *lines, *rest]).rstrip() + "\n"
