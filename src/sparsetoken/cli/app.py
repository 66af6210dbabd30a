"""The application: its commands, `--version` and the entry point."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from sparsetoken.cli.cache import use_compilation_cache
from sparsetoken.cli.represent import represent
from sparsetoken.cli.reproduce import reproduce
from sparsetoken.cli.simulate import simulate
from sparsetoken.cli.theory import align, capacity, predict

__all__ = ["app", "main"]

app = typer.Typer(
    name="sparsetoken",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (align, predict, capacity, simulate, represent, reproduce):
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
    try:
        app()
    except KeyboardInterrupt:
        typer.echo("Interrupted.", err=True)
        sys.exit(130)
