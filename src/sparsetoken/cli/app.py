"""The application: its commands, `--version` and the entry point."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from multiprocessing import util
from typing import Annotated

import typer

from sparsetoken.cli.cache import use_compilation_cache
from sparsetoken.cli.diagnose import diagnose
from sparsetoken.cli.fit import fit
from sparsetoken.cli.forecast import forecast
from sparsetoken.cli.plot import plot
from sparsetoken.cli.represent import represent
from sparsetoken.cli.reproduce import reproduce
from sparsetoken.cli.results import results
from sparsetoken.cli.simulate import simulate
from sparsetoken.cli.sweep import sweep
from sparsetoken.cli.theory import align, capacity, predict
from sparsetoken.cli.training import descend, floor

__all__ = ["app", "main"]

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
    # A shell starts background jobs with SIGINT ignored; they stay so.
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _stopped)
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _stopped)
    app()


def _stopped(number: int, _: object) -> None:
    """End at once, with exit code 130 after SIGINT and 143 after SIGTERM.

    A KeyboardInterrupt would be lost where Python ignores exceptions, and XLA may crash an
    interpreter that ends in the middle of its work. What a command has finished it has
    written; only the semaphores of the workers go back to the system here.
    """
    for process in multiprocessing.active_children():
        process.kill()
    util._run_finalizers(0)  # type: ignore[attr-defined]
    show_cursor = "\x1b[?25h" if sys.stderr.isatty() else ""
    word = "Interrupted" if number == signal.SIGINT else "Terminated"
    os.write(2, f"{show_cursor}\n{word}.\n".encode())
    os._exit(128 + number)
