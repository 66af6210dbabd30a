"""The command line. Signals are caught first; a command is imported when it runs."""

from __future__ import annotations

import signal
import sys

from sparsetoken.cli.ending import end

__all__ = ["main"]

ENDINGS = {"SIGINT": "Interrupted", "SIGTERM": "Terminated", "SIGHUP": "Hung up"}


def main() -> None:
    """Run the command line, or say which extra it needs."""
    # A shell starts background jobs with SIGINT ignored, and nohup SIGHUP; they stay so.
    for name in ENDINGS:
        number = getattr(signal, name, None)
        if number and signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
            signal.signal(number, _stopped)
    try:
        from sparsetoken.cli.app import run

        run(sys.argv[1:])  # which imports cyclopts when it is needed
    except ModuleNotFoundError as error:
        if error.name != "cyclopts":
            raise
        sys.exit('The command line needs its extra: pip install "sparsetoken[app]".')


def _stopped(number: int, _: object) -> None:
    """End at once, with exit code 130 after SIGINT, 143 after SIGTERM and 129 after SIGHUP.

    A KeyboardInterrupt would be lost where Python ignores exceptions, and XLA may crash an
    interpreter that ends in the middle of its work. What a command has finished it has
    written; only worker processes end and give their semaphores back here.
    """
    show_cursor = "\x1b[?25h" if sys.stderr is not None and sys.stderr.isatty() else ""
    end(f"{show_cursor}\n{ENDINGS[signal.Signals(number).name]}.", 128 + number)
