"""The command line. Its modules import what they need when a command runs."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say which extra it needs."""
    try:
        from sparsetoken.cli.app import main as run
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit('The command line needs its extra: pip install "sparsetoken[app]".')
    run()
