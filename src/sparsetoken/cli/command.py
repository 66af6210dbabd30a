"""A command is a function of values: its options are the declarations of their fields."""

from __future__ import annotations

import errno
import functools
import inspect
import itertools
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

from cyclopts import Group
from cyclopts import Parameter as Option

from sparsetoken.base.parameters import REQUIRED, Parameter, parameters_of
from sparsetoken.base.progress import progress_of, showing
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.cli.output import Answer, ProgressLines, message, together

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
        return self.kind(**own)


def command(function: Callable[..., Answer]) -> Callable[..., int]:
    """Make a command of a function of values and options, which returns an `Answer`.

    A parameter whose annotation is a class of declared fields stands for their options; two
    classes that declare the same name share the option. A parameter before the ``*`` has no
    name on the command line, and one of the type `Given` is no option. Bad input ends in one
    message.

    The function is called at each combination of the options that hold several values, which only
    commands with such classes accept.
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
    of_numbers = {n: kind for n, one in options.items() if (kind := _kind_of_number(one))}
    options |= {
        name: options[name].replace(annotation=Annotated[options[name].annotation, _READ])
        for name in {**declared, **of_numbers}
    }
    schedules = {name for name, one in declared.items() if one.per_step}
    first = [p for p in options.values() if p.kind is not inspect.Parameter.KEYWORD_ONLY]
    rest = [p for p in options.values() if p.kind is inspect.Parameter.KEYWORD_ONLY]
    signature = inspect.Signature([*first, *rest])
    names = [getattr(p.annotation, "__dataclass_fields__", [p.name]) for p in rest]
    spelling = _spelling(
        {name: option_name(name) for name in itertools.chain.from_iterable(names)}
        | {one.name: one.name.upper() for one in first}
    )

    @functools.wraps(function)
    def run(*args: Any, **kwargs: Any) -> int:
        bound = signature.bind(*args, **kwargs)
        given = Given(bound.arguments)
        bound.apply_defaults()
        arguments = bound.arguments
        try:
            for name, kind in of_numbers.items():
                _refuse_words(name, kind, arguments[name], name in declared, bool(groups))
            settings = list(_settings(arguments, schedules)) if groups else [{}]
            calls = []
            for setting in settings:
                at = {**arguments, **setting}
                values: dict[str, Any] = {n: group.made(at) for n, group in groups.items()}
                for name, parameter in parameters.items():
                    if name not in groups:
                        values[name] = given if parameter.annotation is Given else at[name]
                calls.append(values)
            with showing(ProgressLines.unless_terminal):
                return _answered(function, settings, calls).show(arguments["json"])
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
    kind: Any = str if declared.choices else declared.number
    default = None if optional or declared.default is REQUIRED else declared.default
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


def _kind_of_number(parameter: inspect.Parameter) -> type[int] | type[float] | None:
    """Return the type of the numbers of an option, None for another option."""
    kind: Any = typing.get_args(parameter.annotation)[:1]
    return next((one for one in (int, float) if kind in ((one,), (one | None,))), None)


def _read(kind: Any, tokens: Any) -> Any:
    """Return the value of an option, or a tuple of several; what is no number stays a word."""
    text: str = tokens[0].value
    number = next((one for one in (int, float) if kind in (one, one | None)), str)
    try:
        entries = tuple(number(part.strip()) for part in text.split(","))
    except ValueError:
        return text
    return entries if len(entries) > 1 else entries[0]


SIGNED = Option(allow_leading_hyphen=True)
"""Of an option whose text may begin with a minus, such as -0.5,0.5."""
_READ = Option(converter=_read, allow_leading_hyphen=True)


def _refuse_words(name: str, kind: type, given: Any, declared: bool, several: bool) -> None:
    """Raise `InvalidInput` for a word in place of a number, or for numbers in place of one."""
    if isinstance(given, tuple) and not several:
        given = ",".join(map(str, given))
    elif not isinstance(given, str) or declared:  # the class of a declared field says its range
        return
    raise InvalidInput(option_name(name), "an integer" if kind is int else "a number", given)


def _settings(arguments: Mapping[str, Any], schedules: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the combinations of the options that hold several values, and are no schedules."""
    given = {name: value for name, value in arguments.items() if name not in schedules}
    several = {name: value for name, value in given.items() if isinstance(value, tuple)}
    for values in itertools.product(*several.values()):
        yield dict(zip(several, values, strict=True))


def _answered(
    function: Callable[..., Answer],
    settings: list[dict[str, Any]],
    calls: list[dict[str, Any]],
) -> Answer:
    """Return the answer of a command, or one of several settings."""
    if len(calls) == 1:
        return function(**calls[0])
    with progress_of("settings", len(calls)) as done:
        answers = []
        for values in calls:
            answers.append(function(**values))
            done()
    return together(settings, answers)


def numbers(name: str, text: str, kind: type[Any]) -> list[Any]:
    """Return the numbers in a comma-separated list, or raise `InvalidInput`."""
    try:
        return [kind(part) for part in text.split(",")]
    except ValueError:
        words = {int: "whole numbers", float: "numbers"}[kind]
        raise InvalidInput(name, f"{words}, separated by commas", text) from None


def _spelling(options: Mapping[str, str]) -> Callable[[str], str]:
    """Return how a command spells the names of values and keywords: as its options."""
    keywords = {**options, "labels": option_name("label")}  # of all bags

    def spelt(word: str) -> str:
        name, equals, given = word.partition("=")
        if equals:
            flag = f"{keywords.get(name)} {given.removesuffix('True')}".rstrip()
            return flag if name in keywords else word
        name, space, meaning = word.partition(" (")
        return f"{options.get(name, name)}{space}{meaning}"

    return spelt
