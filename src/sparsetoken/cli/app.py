"""The application: its commands, which are imported when they run, and the exit codes."""

from __future__ import annotations

import errno
import functools
import inspect
import os
import shutil
import signal
import sys
import warnings
from collections.abc import Mapping, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, get_args

from sparsetoken.base.validation import InvalidInput, closest, one_line
from sparsetoken.cli.ending import end
from sparsetoken.cli.output import message

if TYPE_CHECKING:
    from cyclopts import App, ArgumentCollection, CycloptsError, UnknownOptionError

GROUPS = {
    "Theory": {
        "align": "theory",
        "predict": "theory",
        "capacity": "theory",
        "descend": "descend",
        "minimize": "minimize",
        "bayes": "theory",
        "represent": "theory",
    },
    "Experiments at finite dimension": {"simulate": "theory", "reproduce": "reproduce"},
    "Pages": {"explore": "explore"},
}
"""The commands by the heading of the help, with the modules that they are in."""

BAGS = {
    "pack": "bags",
    "fit": "fit",
    "predict": "bags",
    "score": "bags",
    "tokens": "tokens",
    "forecast": "bags",
}
"""The commands of the group bags, with the modules that they are in."""

COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
NARROWEST, WIDEST = 40, 1000
"""Columns of the help; in less than three columns its tables would not end."""

UNREADABLE = "Error reading persistent compilation cache"
"""How JAX begins its warning of a damaged file of compiled code."""

SMALL = ("align", "predict", "capacity", "descend", "minimize", "bayes", "represent")
"""Commands whose arrays are small: more threads of the linear algebra only wait for one another."""

HELP = (
    "Attention on a few informative tokens among many.  Exact predictions in the proportional "
    "limit, and the same experiments at finite dimension. Models: attention, pooled, vectorized, "
    "elementwise, hard_attention. Exit codes: 0 converged, 1 not converged, failed or an "
    "unwritable file, 2 bad input, 130 interrupted."
)


def run(arguments: Sequence[str]) -> NoReturn:
    """Run a command, and end with its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a letter that the terminal lacks is no error
            stream.reconfigure(errors="backslashreplace")
    try:
        code = execute(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # before the interpreter ends with a message of its own
    except OSError as error:
        _not_written(error)
    except SystemExit as stop:
        if isinstance(stop.__context__, BrokenPipeError):  # rich, which writes the help
            _not_written(stop.__context__)
        raise
    sys.exit(code)


def execute(arguments: Sequence[str]) -> int:
    """Run a command, and return its exit code: 2 with one message for a mistyped one."""
    first = arguments[0] if arguments else ""
    known = {**COMMANDS, "bags": ""}
    if first and not first.startswith("-") and first not in known:
        message(f"Error: no command {first!r}.{closest(first, known)} See sparsetoken --help.")
        return 2
    second = arguments[1] if first == "bags" and len(arguments) > 1 else ""
    if second and not second.startswith("-") and second not in BAGS:
        remedy = "See sparsetoken bags --help."
        message(f"Error: no command {second!r} of bags.{closest(second, BAGS)} {remedy}")
        return 2
    columns = shutil.get_terminal_size().columns
    if "COLUMNS" in os.environ or columns < NARROWEST:
        os.environ["COLUMNS"] = str(min(max(columns, NARROWEST), WIDEST))
    if first in SMALL:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    os.environ["MPLBACKEND"] = "agg"  # figures are files: whatever the user shows windows with
    if not os.path.isdir(os.path.expanduser("~")) and "MPLCONFIGDIR" not in os.environ:
        import atexit
        import tempfile

        os.environ["MPLCONFIGDIR"] = tempfile.mkdtemp()  # matplotlib would make the home
        atexit.register(shutil.rmtree, os.environ["MPLCONFIGDIR"], ignore_errors=True)
    use_compilation_cache()
    # The process that gives back what killed workers held would report it.
    if (option := "ignore:resource_tracker") not in sys.warnoptions:
        sys.warnoptions.append(option)
    from cyclopts import CycloptsError

    app = application()
    if first in ("", "-h", "--help"):
        for name in COMMANDS:
            app[name]  # imports it, so that the help has its first sentence
    if first == "bags" and second in ("", "-h", "--help"):
        for name in BAGS:
            app["bags"][name]
    words = [*arguments]
    try:
        app.config = _config(words, app)
        code = app(words, exit_on_error=False, print_error=False)
    except InvalidInput as error:
        message(f"Error: {error}")
        return 2
    except CycloptsError as error:
        command = f"{first} {second}".rstrip() + " " if first in known else ""
        message(f"Error: {_told(error) or error} See sparsetoken {command}--help.")
        return 2
    return code if isinstance(code, int) else 0


def _told(error: CycloptsError) -> str:
    """Return the message for words that no option takes, or that an option lacks; "" for others."""
    from cyclopts import MissingArgumentError, UnknownOptionError, UnusedCliTokensError

    if isinstance(error, UnknownOptionError):
        return _unknown(error)
    if isinstance(error, UnusedCliTokensError):
        words = " ".join(error.unused_tokens or [])
        remedy = "Several values of one option are separated by commas, without spaces."
        return f"No argument or option takes {words!r}. {remedy}"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        what = (
            f"{error.keyword} needs a value"
            if error.keyword
            else f"{error.argument.name} is missing"
        )
        return f"{what}: {error.argument.parameter.help}"
    return ""


def _unknown(error: UnknownOptionError) -> str:
    """Return the message for an argument or a key of the file of --config, "" for an option."""
    given, _, _ = (error.token.keyword or error.token.value).partition("=")
    if error.token.source != "cli":
        options = [name for one in error.argument_collection if one.parse for name in one.names]
        known = [name.removeprefix("--") for name in options if name.startswith("--")]
        key = given.strip("[]")
        return f"Unknown key {key!r} in {error.token.source}.{closest(key.lower(), known)}"
    word = given.lstrip("-")
    taken = inspect.signature(error.target).parameters if callable(error.target) else {}
    if word in taken and taken[word].kind is inspect.Parameter.POSITIONAL_ONLY:
        return f"Unknown option: {given}. {word.upper()} is given without an option."
    if f"Did you mean {given}?" in str(error):
        return f"No argument takes {given!r}: options stand in front of --."
    return ""


def application() -> App:
    """Return the application with all commands."""
    from cyclopts import App, Group, Parameter

    options = Group("Options", sort_key=20)
    app = App(
        name="sparsetoken",
        help=HELP,
        version=_version,
        group_commands=options,
        group_parameters=options,
        default_parameter=Parameter(show_default=_shown, negative=""),
        result_action="return_value",
    )
    for place, (title, commands) in enumerate(GROUPS.items()):
        group = Group(title, sort_key=place)
        for name, module in commands.items():
            app.command(f"sparsetoken.cli.{module}:{name}", name=name, group=group)
    title = "Bags of your own: fit, predict, score, forecast."
    bags = App(name="bags", help=title, group=Group("Your own bags", sort_key=len(GROUPS)))
    for name, module in BAGS.items():
        bags.command(f"sparsetoken.cli.{module}:{name}", name=name)
    app.command(bags)
    return app


def _config(words: list[str], app: App) -> tuple[Any, ...]:
    """Take ``--config FILE`` out of the words, if it is there, and return what the file gives."""
    import tomllib

    options = words[: words.index("--")] if "--" in words else words
    places = [n for n, word in enumerate(options) if word.partition("=")[0] == "--config"]
    if not places:
        return ()
    if len(places) > 1:
        raise InvalidInput("--config", "given once", f"{len(places)} files")
    place = places[0]
    _, equals, name = words.pop(place).partition("=")
    path = Path(name if equals else "".join(words[place : place + 1]))
    if not equals:
        del words[place : place + 1]
    try:
        if not path.is_file():
            raise InvalidInput("--config", "a TOML file that is there", str(path))
        table = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except InvalidInput:
        raise
    except (OSError, ValueError, RecursionError) as error:
        raise InvalidInput("--config", "a TOML file", f"{path}: {one_line(error)}") from None
    return (functools.partial(_filled, table, path, app),)


def _filled(
    table: Mapping[str, Any],
    path: Path,
    root: App,
    app: App,
    commands: tuple[str, ...],
    arguments: ArgumentCollection,
) -> None:
    """Give options the values that a file has for them, or raise `InvalidInput`."""
    from cyclopts.config import Dict

    found: dict[str, Any] = {}
    spelt: dict[str, str] = {}
    for key, value in table.items():
        name, title = key.replace("_", "-"), f"key {key!r} in {path}"
        if isinstance(value, dict) or name == "config" or name in root:
            raise InvalidInput(title, "an option, at the top level of the file", value)
        if spelt.setdefault(name, key) != key:
            raise InvalidInput(title, "given once", f"{spelt[name]} as well")
        option = arguments.get(f"--{name}", None)
        kinds = () if option is None else (option.hint, *get_args(option.hint))
        if Path in kinds and not isinstance(value, str):
            raise InvalidInput(title, "a path, in quotes", value)
        if kinds and isinstance(value, bool) and bool not in kinds:
            raise InvalidInput(title, "a number or text", value)
        found[name] = ",".join(map(str, value)) if isinstance(value, list) else value
    given = {**found, "config": str(path)}
    Dict(given, use_commands_as_keys=False, source=str(path))(app, commands, arguments)


def _shown(default: object) -> str | None:
    """Return what the help says of a default: nothing if there is none, or it is off or empty."""
    if default is False or default in (None, "", ()):
        return None
    return ", ".join(default) if isinstance(default, tuple) else str(default)


def _version() -> str:
    import sparsetoken

    return f"sparsetoken {sparsetoken.__version__}"


def _not_written(error: OSError) -> NoReturn:
    if error.errno == errno.EPIPE:  # whoever read the output wants no more of it
        end("", 128 + getattr(signal, "SIGPIPE", 13))
    if not _has_working_folder():
        text = "Error: the working folder does not exist any more. Change to another one."
    else:
        text = f"Error: standard output or a file cannot be written: {error}."
    end(text, 1)  # what is left in the buffer of standard output can never be written


def _has_working_folder() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return False
    return True


def cache_folder(environ: MutableMapping[str, str]) -> Path:
    """Return the folder of compiled code under the user's cache folder."""
    home = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "sparsetoken" / "jax"


def _is_private(folder: Path) -> bool:
    """Make a folder if need be, and return whether nobody else can have put code there.

    A pipe in it would never be read to its end.
    """
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        about = folder.stat()
        with os.scandir(folder) as entries:
            readable = all(entry.is_file() or entry.is_dir() for entry in entries)
    except OSError:
        return False
    own = not hasattr(os, "getuid") or about.st_uid == os.getuid()
    return own and about.st_mode & 0o777 == 0o700 and readable


def use_compilation_cache(environ: MutableMapping[str, str] = os.environ) -> None:
    """Keep compiled JAX code between runs, unless the user has chosen another place for it.

    Without a folder of the user's own nothing is set, and JAX compiles each time. Only the command
    line does this, before JAX is imported: a library must not change global settings.
    """
    if "JAX_COMPILATION_CACHE_DIR" not in environ:
        folder = cache_folder(environ)
        known = "XDG_CACHE_HOME" in environ or os.path.isdir(os.path.expanduser("~"))
        if not (known and _is_private(folder)):
            return
        environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
    # JAX compiles again what another process has written only in part.
    warnings.filterwarnings("ignore", UNREADABLE)
    if (option := f"ignore:{UNREADABLE}") not in sys.warnoptions:
        sys.warnoptions.append(option)  # worker processes take over these options
