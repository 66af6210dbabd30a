"""Runs the command line in this process."""

import contextlib
import io
from typing import NamedTuple

from sparsetoken.cli.app import execute


class Finished(NamedTuple):
    """What a command printed, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str


def invoke(*arguments: object) -> Finished:
    """Run a command with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            code = execute([str(argument) for argument in arguments])
        except SystemExit as end:
            code = end.code or 0
    return Finished(code, out.getvalue(), err.getvalue())


def refused(*arguments: object) -> str:
    """Return the message of a command that is refused."""
    found = invoke(*arguments)
    assert (found.exit_code, found.stdout) == (2, ""), found
    assert found.stderr.startswith("Error: ")
    assert len(found.stderr.splitlines()) == 1
    return found.stderr
