"""The application: its commands, `--version` and the entry point."""

from __future__ import annotations

import contextlib
import errno
import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Sized
from multiprocessing import resource_tracker, util
from typing import Annotated, NoReturn

import typer

from sparsetoken.cli.cache import use_compilation_cache
from sparsetoken.cli.diagnose import diagnose
from sparsetoken.cli.explore import explore
from sparsetoken.cli.fit import fit
from sparsetoken.cli.forecast import forecast
from sparsetoken.cli.plot import plot
from sparsetoken.cli.represent import represent
from sparsetoken.cli.reproduce import reproduce
from sparsetoken.cli.results import results
from sparsetoken.cli.saved import score
from sparsetoken.cli.simulate import simulate
from sparsetoken.cli.sweep import sweep
from sparsetoken.cli.theory import align, capacity, predict
from sparsetoken.cli.training import descend, floor

app = typer.Typer(
    name="sparsetoken",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
COMMANDS = (
    align,
    predict,
    capacity,
    simulate,
    descend,
    floor,
    represent,
    reproduce,
    sweep,
    results,
    plot,
    diagnose,
    forecast,
    fit,
    explore,
    score,
)
for command in COMMANDS:
    app.command()(command)


def _version(wanted: bool) -> None:
    if wanted:
        import sparsetoken

        typer.echo(f"sparsetoken {sparsetoken.__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Attention on a few informative tokens among many.

    Exact predictions for high dimension, and the same experiments at finite dimension.
    Models: attention, pooled, vectorized, elementwise.
    """


def main() -> None:
    """Run the command line."""
    use_compilation_cache()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a letter that the terminal lacks is no error
            stream.reconfigure(errors="backslashreplace")
    # A shell starts background jobs with SIGINT ignored, and nohup SIGHUP; they stay so.
    for name in ENDINGS:
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stopped)
    try:
        app()
    except OSError as error:
        _not_written(error)
    except SystemExit:
        _flush()
        raise
    _flush()


ENDINGS = {"SIGINT": "Interrupted", "SIGTERM": "Terminated", "SIGHUP": "Hung up"}


def _flush() -> None:
    """Say so if standard output is full, before the interpreter ends with a message of its own."""
    try:
        if sys.stdout is not None:
            sys.stdout.flush()
    except OSError as error:
        _not_written(error)


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


def _stopped(number: int, _: object) -> None:
    """End at once, with exit code 130 after SIGINT, 143 after SIGTERM and 129 after SIGHUP.

    A KeyboardInterrupt would be lost where Python ignores exceptions, and XLA may crash an
    interpreter that ends in the middle of its work. What a command has finished it has
    written; only the semaphores of the workers go back to the system here.
    """
    # A thread that waits for workers may fail as they end: its traceback would tell nothing.
    threading.excepthook = lambda _: None
    for process in multiprocessing.active_children():
        process.kill()
    _free_semaphores()
    show_cursor = "\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else ""
    with contextlib.suppress(OSError):  # a terminal that was closed
        os.write(2, f"{show_cursor}\n{ENDINGS[signal.Signals(number).name]}.\n".encode())
    os._exit(128 + number)


def _free_semaphores() -> None:
    """Give semaphores back, also if the process that tracks them got the signal as well."""
    resource_tracker.unregister = _unregister
    util._run_finalizers(0)  # type: ignore[attr-defined]


def _unregister(name: Sized, rtype: str) -> None:
    """Tell the tracker of a semaphore if it still runs; a new one would know of none."""
    descriptor = getattr(resource_tracker._resource_tracker, "_fd", None)
    if descriptor is not None:
        with contextlib.suppress(OSError):
            os.write(descriptor, f"UNREGISTER:{name}:{rtype}\n".encode())
