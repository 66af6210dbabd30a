"""A command is a function of values: its options are the declarations of their fields."""

from __future__ import annotations

import dataclasses
import errno
import functools
import inspect
import itertools
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, NamedTuple

from cyclopts import Group
from cyclopts import Parameter as Option

from sparsetoken.base.parameters import REQUIRED, Parameter, parameters_of
from sparsetoken.base.progress import showing
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.cli.output import Answer, ProgressLines, message

PANELS = {
    "SparseTokenProblem": "Task",
    "TwoSteps": "Two gradient steps",
    "Query": "Query (both or neither; by default two gradient steps find it)",
    "Readout": "Readout",
    "Elementwise": "Elementwise attention",
    "Descent": "Descent",
}


class Given(frozenset[str]):
    """The names of the given options, for a command that asks for them."""


class _Group(NamedTuple):
    """The options of one value."""

    kind: Any
    names: tuple[str, ...]
    optional: bool  # all of its options or none

    def made(self, given: Mapping[str, Any]) -> Any:
        own = {name: given[name] for name in self.names}
        missing = [name for name, value in own.items() if value is None]
        if self.optional and len(missing) == len(own):
            return None
        if self.optional and missing:
            names = [option_name(name) for name in own]
            got = " and ".join(option_name(name) for name in own if name not in missing)
            remedy = "Give both, or neither to find the query by two gradient steps."
            raise InvalidInput(" and ".join(names), "given together", f"{got} alone", remedy)
        declared = parameters_of(self.kind)
        return self.kind(**{n: _entry(declared[n], value) for n, value in own.items()})


def command(function: Callable[..., Answer]) -> Callable[..., int]:
    """Make a command of a function of values and options, which returns an `Answer`.

    A parameter whose annotation is a class of declared fields stands for their options; two
    classes that declare the same name share the option. A parameter before the ``*`` has no
    name on the command line, and one of the type `Given` is no option. Bad input ends in one
    message.
    """
    parameters = inspect.signature(function, eval_str=True).parameters
    groups: dict[str, _Group] = {}
    options: dict[str, inspect.Parameter] = {}
    declared: dict[str, Parameter] = {}
    for name, parameter in parameters.items():
        kind, optional = _value_class(parameter.annotation)
        if parameter.annotation is Given:
            continue
        if kind is None:
            options[name] = parameter
            if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD:
                options[name] = parameter.replace(kind=inspect.Parameter.POSITIONAL_ONLY)
            continue
        fields = {n: d for n, d in parameters_of(kind).items() if d.number or d.choices}
        groups[name] = _Group(kind, tuple(fields), optional)
        declared = {**fields, **declared}
        for own, one in fields.items():
            options.setdefault(own, _option(one, PANELS[kind.__name__], optional))
    options["json"] = inspect.Parameter(
        "json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=_JSON
    )
    options = {name: _exact(parameter) for name, parameter in options.items()}
    first = [p for p in options.values() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    rest = [p for p in options.values() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    signature = inspect.Signature([*first, *rest])
    names = [getattr(p.annotation, "__dataclass_fields__", [p.name]) for p in rest]
    spelling = _spelling(itertools.chain.from_iterable(names), declared)

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> int:
        bound = signature.bind(*args, **kwargs)
        given = Given(bound.arguments)
        bound.apply_defaults()
        arguments = bound.arguments
        try:
            with showing(ProgressLines.unless_terminal):
                values: dict[str, Any] = {n: group.made(arguments) for n, group in groups.items()}
                for name, parameter in parameters.items():
                    if name not in groups:
                        values[name] = given if parameter.annotation is Given else arguments[name]
                return function(**values).show(arguments["json"])
        except InvalidInput as error:
            message(f"Error: {error.spelt(spelling)}")
            return 2
        except Failure as error:
            message(f"Error: {error}")
            return 1
        except OSError as error:
            if error.errno != errno.ENAMETOOLONG:
                raise
            message(f"Error: the name of a file is too long: {str(error.filename)[:60]}...")
            return 2

    run.declared = declared  # type: ignore[attr-defined]
    run.__signature__ = signature  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in signature.parameters.values()}
    return run


def option_name(name: str) -> str:
    """Return the name of an option, such as --eta-w."""
    return "--" + name.replace("_", "-")


_JSON = Annotated[
    bool,
    Option(
        "--json",
        help="Print one JSON object on standard output; messages go to standard error.",
    ),
]


def _value_class(annotation: Any) -> tuple[Any, bool]:
    """Return the class of declared fields in an annotation, and whether it may be None."""
    kinds = [annotation]
    if isinstance(annotation, types.UnionType):
        kinds = [kind for kind in typing.get_args(annotation) if kind is not types.NoneType]
    (kind, *others) = kinds
    if others or not inspect.isclass(kind) or kind.__name__ not in PANELS:
        return None, False
    return kind, annotation is not kind


def _option(declared: Parameter, panel: str, optional: bool) -> inspect.Parameter:
    """Return the option of a declared field."""
    kind: Any = str if declared.per_step or declared.choices else declared.number
    default = None if optional or declared.default is REQUIRED else declared.default
    if declared.per_step:
        default = f"{default:g}"
    group = Group(panel, sort_key=list(PANELS.values()).index(panel))
    option = _described(declared, group)
    annotation: Any = Annotated[kind | None if default is None else kind, option]
    keyword = inspect.Parameter.KEYWORD_ONLY
    return inspect.Parameter(declared.name, keyword, default=default, annotation=annotation)


def option_of(kind: Any, name: str, group: str) -> Option:
    """Return the option of one field of a class, for a command that takes no whole value of it."""
    return _described(parameters_of(kind)[name], group)


def _described(declared: Parameter, group: Group | str) -> Option:
    legal = f"{declared.symbol}, {declared.help}; {declared.legal}.".lstrip(", ")
    return Option(option_name(declared.name), help=legal, group=group)


def _exact(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return an option that rounds no number where an integer is asked for."""
    if typing.get_args(parameter.annotation)[:1] not in ((int,), (int | None,)):
        return parameter
    return parameter.replace(annotation=Annotated[parameter.annotation, Option(converter=_whole)])


def _whole(_: Any, tokens: Any) -> int:
    text: str = tokens[0].value
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{text[:60]!r} is not an integer.") from None


def _entry(declared: Parameter, given: Any) -> Any:
    """Return the value of an option: for a schedule, one number or one for each step."""
    if not declared.per_step:
        return given
    entries = numbers(option_name(declared.name), given, float)
    return entries[0] if len(entries) == 1 else entries


def numbers(name: str, text: str, kind: type[Any]) -> list[Any]:
    """Return the numbers in a comma-separated list, or raise `InvalidInput`."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        words = {int: "whole numbers", float: "numbers"}[kind]
        raise InvalidInput(name, f"{words}, separated by commas", text) from None


def _spelling(names: Iterable[str], declared: Mapping[str, Parameter]) -> Callable[[str], str]:
    """Return how a command spells the names of values and keywords: as its options."""
    options = {name: option_name(name) for name in names}
    titles = options | {
        one.title: dataclasses.replace(one, name=options[name]).title
        for name, one in declared.items()
    }
    keywords = options | {"labels": option_name("label")}  # of all bags

    def spelt(word: str) -> str:
        name, equals, given = word.partition("=")
        if not equals:
            return titles.get(word, word)
        return (
            f"{keywords[name]} {given.removesuffix('True')}".rstrip() if name in keywords else word
        )

    return spelt
