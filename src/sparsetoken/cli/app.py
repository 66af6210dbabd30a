"""The command line: one message for an error, and the exit codes."""

from __future__ import annotations

import contextlib
import errno
import itertools
import os
import re
import shutil
import signal
import sys
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from sparsetoken.base.progress import showing
from sparsetoken.base.validation import Failure, InvalidInput, closest
from sparsetoken.cli.commands import BAGS, COMMANDS
from sparsetoken.cli.ending import end
from sparsetoken.cli.output import Answer, message

NARROWEST, WIDEST = 40, 1000
"""Columns of the help; in less than three columns its tables would not end."""

UNREADABLE = "Error reading persistent compilation cache"
"""How JAX begins its warning of a damaged file of compiled code."""

_ARGUMENT = re.compile(r"""\b([a-z_]+)=(?:True\b|\("(\w+)",\)|(?=[\s.,;:]|$))""")
"""An argument of Python in a message: labels=, partial=True or exclude=("size",)."""

FULL = {errno.ENOSPC, errno.EFBIG, errno.EROFS, getattr(errno, "EDQUOT", errno.ENOSPC)}


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
    """Run a command, and return its exit code: 2 with one message for bad input."""
    first, second, *_ = [*arguments, "", ""]
    word, known = (second, BAGS) if first == "bags" else (first, {**COMMANDS, "bags": ""})
    if word and not word.startswith("-") and word not in known:  # before anything is imported
        near = f" Did you mean bags {word}?" if word in BAGS else closest(word, known)
        message(f"Error: no command {word!r}.{near} See sparsetoken --help.")
        return 2
    for before, one in itertools.pairwise(["", *arguments]):  # a variable that is not set
        option, equals, value = one.partition("=") if one.startswith("--") else (before, "", one)
        if not value and (equals or not one):
            name = option if option.startswith("--") else "an argument"
            message(f"Error: {InvalidInput(name, 'given a value, or left out', '')}")
            return 2
    columns = shutil.get_terminal_size().columns
    if "COLUMNS" in os.environ or columns < NARROWEST:
        os.environ["COLUMNS"] = str(min(max(columns, NARROWEST), WIDEST))
    os.environ["MPLBACKEND"] = "agg"  # figures are files: whatever the user shows windows with
    keep_compiled_code()
    # The process that gives back what killed workers held would report it; JAX compiles again what
    # another process has written only in part. Worker processes take over these options.
    for warning in ("ignore:resource_tracker", f"ignore:{UNREADABLE}"):
        if warning not in sys.warnoptions:
            sys.warnoptions.append(warning)
    from cyclopts import CycloptsError, UnusedCliTokensError

    from sparsetoken.cli.application import application
    from sparsetoken.cli.progress import bar_or_lines

    app = application()
    if word in ("", "-h", "--help"):
        for name in known:
            app["bags"][name] if known is BAGS else app[name]  # the help has its first sentence
    try:
        command, given, _ = app.parse_args([*arguments], exit_on_error=False, print_error=False)
        with showing(bar_or_lines), warnings.catch_warnings():
            warnings.showwarning = _Warned()  # type: ignore[assignment]  # takes any arguments
            warnings.filterwarnings("ignore", UNREADABLE)
            answer = command(*given.args, **given.kwargs)
        if not isinstance(answer, Answer):  # the help, or the version
            return 0
        return answer.show(any(getattr(one, "json", False) for one in given.arguments.values()))
    except InvalidInput as error:
        name, legal, got, remedy = error.args
        message(f"Error: {InvalidInput(name, legal, got, _with_options(remedy))}")
        return 2
    except CycloptsError as error:
        names = [first, second] if known is BAGS else [first] * (first in known)
        words = ["sparsetoken", *(name for name in names if name[:1] not in ("", "-")), "--help"]
        what = str(error)
        if isinstance(error, UnusedCliTokensError) and error.unused_tokens:
            first = error.unused_tokens[0]
            what = f"{first!r} is one argument too many; lists have commas without spaces."
        message(f"Error: {what} See {' '.join(words)}.")
        return 2
    except Failure as error:
        message(f"Error: {error}")
        return 1
    except OSError as error:
        if error.filename is None:
            raise
        full = error.errno in FULL
        what = "written" if full else "read"
        message(f"Error: {error.filename} cannot be {what}: {error.strerror}.")
        return 1 if full else 2


def _with_options(text: str) -> str:
    """Return a message with options for arguments of Python: --partial for partial=True."""

    def option(found: re.Match[str]) -> str:
        return f"--{found[1].replace('_', '-')} {found[2] or ''}".rstrip()

    return _ARGUMENT.sub(option, text)


class _Warned:
    """Writes each warning to standard error once, in a line without the place in the code."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def __call__(self, warning: Warning | str, *of: object) -> None:
        text = f"Warning: {warning}"
        if isinstance(warning, UserWarning):  # of bags: others name no arguments
            text = _with_options(text)
        if text not in self._told:
            self._told.add(text)
            message(text)


def keep_compiled_code() -> None:
    """Let JAX keep compiled code in the user's cache folder, unless he has chosen another place.

    Only the command line does this, before JAX is imported: a library changes no global setting.
    """
    with contextlib.suppress(OSError, RuntimeError):  # without a home, JAX compiles each time
        if "JAX_COMPILATION_CACHE_DIR" not in os.environ:
            home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
            folder = Path(home, "sparsetoken", "jax")
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            os.environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
        os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")


def _not_written(error: OSError) -> NoReturn:
    if error.errno == errno.EPIPE:  # whoever read the output wants no more of it
        end("", 128 + getattr(signal, "SIGPIPE", 13))
    # What is left in the buffer of standard output can never be written.
    end(f"Error: standard output or a file cannot be written: {error}.", 1)
