"""The application: its commands, which are imported when they run, and the exit codes."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from sparsetoken.cli.cache import use_compilation_cache
from sparsetoken.cli.output import message
from sparsetoken.validation import closest

GROUPS = {
    "Theory": {
        "align": "theory",
        "predict": "theory",
        "capacity": "theory",
        "descend": "training",
        "floor": "theory",
        "represent": "represent",
    },
    "Experiments at finite dimension": {"simulate": "simulate", "reproduce": "reproduce"},
    "Sweeps": {"sweep": "sweeps", "results": "sweeps", "plot": "sweeps"},
    "Your own bags": {
        "diagnose": "forecast",
        "forecast": "forecast",
        "fit": "fit",
        "score": "saved",
    },
    "Pages": {"explore": "explore"},
}
"""The commands by the heading of the help, with the modules that they are in."""

COMMANDS = {name: module for group in GROUPS.values() for name, module in group.items()}
SMALL = ("align", "predict", "capacity", "descend", "floor", "represent")
"""Commands whose arrays are small: more threads of the linear algebra only wait for one another."""

HELP = """Attention on a few informative tokens among many.

Exact predictions for high dimension, and the same experiments at finite dimension.
Models: attention, pooled, vectorized, elementwise, hard_attention.
Exit codes: 0 converged, 1 a result that fell short or a file that cannot be written, 2 bad input,
130 interrupted.
"""


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
    sys.exit(code)


def execute(arguments: Sequence[str]) -> int:
    """Run a command, and return its exit code: 2 with one message for a mistyped one."""
    first = arguments[0] if arguments else ""
    if first and not first.startswith("-") and first not in COMMANDS:
        message(f"Error: no command {first!r}.{closest(first, COMMANDS)} See sparsetoken --help.")
        return 2
    if first in SMALL:
        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    use_compilation_cache()
    from cyclopts import App, CycloptsError

    app = App(
        name="sparsetoken",
        help=HELP,
        help_formatter="plain",
        version=_version,
        result_action="return_value",
    )
    for group, commands in GROUPS.items():
        for name, module in commands.items():
            app.command(f"sparsetoken.cli.{module}:{name}", name=name, group=group)
    try:
        code = app(arguments, exit_on_error=False, print_error=False)
    except CycloptsError as error:
        message(f"Error: {error} See sparsetoken {first} --help.")
        return 2
    return code if isinstance(code, int) else 0


def _version() -> str:
    import sparsetoken

    return f"sparsetoken {sparsetoken.__version__}"


def _not_written(error: OSError) -> NoReturn:
    if error.errno in (errno.EMFILE, errno.ENFILE):
        text = (
            f"Error: no more files can be opened: {error}. `ulimit -n` tells and raises the limit."
        )
    else:
        text = f"Error: standard output or a file cannot be written: {error}."
    with contextlib.suppress(OSError):
        os.write(2, f"{text}\n".encode(errors="backslashreplace"))
    os._exit(1)  # what is left in the buffer of standard output can never be written
