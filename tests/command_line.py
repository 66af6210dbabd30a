"""Runs the command line in this process."""

import contextlib
import io
import sys
import warnings
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from sparsetoken.cli.app import execute


class Finished(NamedTuple):
    """What a command printed, and how it ended."""

    exit_code: int
    stdout: str
    stderr: str


def invoke(*arguments: object) -> Finished:
    """Run a command with these arguments."""
    out, err = io.StringIO(), io.StringIO()
    with (
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default", UserWarning)  # as in a process of its own
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


@contextlib.contextmanager
def limited(size: int) -> Iterator[None]:
    """Let no file become larger than so many bytes, as on a disk that fills up."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with pytest.MonkeyPatch.context() as patch:  # Python would keep what it compiles, cut
        patch.setattr(sys, "dont_write_bytecode", True)
        patch.setenv("PYTHONDONTWRITEBYTECODE", "1")
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
        try:
            yield
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
