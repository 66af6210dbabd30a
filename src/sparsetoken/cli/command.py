"""What all commands share: bad input ends in one message, and names are those of options."""

from __future__ import annotations

import dataclasses
import errno
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter as Option

from sparsetoken.base.files import path_of, require_other
from sparsetoken.base.parameters import Parameter
from sparsetoken.base.progress import showing
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.cli.options import Grid, Values, option_name
from sparsetoken.cli.output import Answer, ProgressLines, message

WRITTEN = ("out", "plot", "keep")
"""The parameters that are paths and no inputs."""

_CONFIG = inspect.Parameter(
    "config",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        Option(help="TOML file with values of options by name; typed ones take precedence."),
    ],
)


def command(function: Callable[..., Answer]) -> Callable[..., int]:
    """Make a command of a function that returns an `Answer`: show it, and return the exit code.

    Bad input ends in one message. The JSON of the answer is printed if the parameter ``json``, or
    that of a `Grid`, says so.
    """
    signature = inspect.signature(function, eval_str=True)
    names = _names(signature)

    @functools.wraps(function)
    def run(*args: Any, config: Path | None = None, **kwargs: Any) -> int:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        given = bound.arguments
        as_json = bool(given.get("json", getattr(given.get("grid"), "json", False)))
        paths = _paths({"config": config, **given})
        inputs = [path for name, path in paths.items() if name not in WRITTEN]
        try:
            for name, path in paths.items():
                path_of("--labels" if name == "labels" else name, path)
            for name in filter(paths.get, ("out", "plot")):
                others = (path for other, path in paths.items() if other != name)
                require_other(option_name(name), paths[name], *others)
            with showing(ProgressLines.unless_terminal):
                return function(*bound.args, **bound.kwargs).show(as_json)
        except InvalidInput as error:
            message(f"Error: {error.spelt(functools.partial(_spelt, names))}")
            return 2
        except Failure as error:
            message(f"Error: {error}")
            return 1
        except OSError as error:
            if error.errno == errno.ENAMETOOLONG:
                message(f"Error: the name of a file is too long: {str(error.filename)[:60]}...")
            elif _is_of(inputs, error.filename):
                message(f"Error: {error.filename} cannot be read: {error.strerror}.")
            else:
                raise
            return 2

    shown = signature.replace(parameters=[*signature.parameters.values(), _CONFIG])
    run.__signature__ = shown  # type: ignore[attr-defined]
    run.declared = declared_of(signature)  # type: ignore[attr-defined]
    return run


def _paths(given: Mapping[str, Any]) -> dict[str, Path]:
    """Return the paths among arguments and the fields of their values, by name."""
    found = {name: value for name, value in given.items() if isinstance(value, Path)}
    for value in given.values():
        if dataclasses.is_dataclass(value):
            found |= _paths(vars(value))
    return found


def _is_of(inputs: Sequence[Path], file: Any) -> bool:
    """Whether a file is one of the inputs, or in a folder of theirs."""
    if not isinstance(file, str | Path):
        return False
    path = Path(file).resolve()
    return any(one.resolve() in (path, *path.parents) for one in inputs)


def declared_of(signature: inspect.Signature) -> Mapping[str, Parameter]:
    """Return the declared parameters that are options of a command."""
    for parameter in signature.parameters.values():
        kind = parameter.annotation
        if inspect.isclass(kind) and issubclass(kind, Values):
            return kind.declared
    return {}


def _names(signature: inspect.Signature) -> dict[str, str]:
    """Return the options, and the arguments in capitals, by the names of parameters and fields."""
    names = dict.fromkeys((*declared_of(signature), *Grid.__dataclass_fields__))
    for name, parameter in signature.parameters.items():
        names |= dict.fromkeys(getattr(parameter.annotation, "__dataclass_fields__", ()))
        names[name] = None
    options = {name: option_name(name) for name in names}
    first = inspect.Parameter.POSITIONAL_ONLY
    options |= {n: n.upper() for n, p in signature.parameters.items() if p.kind is first}
    # Of all bags, and of `pack`, whose names in Python are others.
    return options | {"labels": option_name("label"), "to": "--out", "files": "SOURCE"}


def _spelt(names: Mapping[str, str], word: str) -> str:
    """Return the name of a value or keyword as the command spells it."""
    name, equals, given = word.partition("=")
    if equals:
        flag = f"{names.get(name)} {given.removesuffix('True')}".rstrip()
        return flag if name in names else word
    name, space, meaning = word.partition(" (")
    return f"{names.get(name, name)}{space}{meaning}"
