"""What a worker does: a batch of rows, one after another, each by itself."""

from __future__ import annotations

import functools
import json
import platform
import time
from collections.abc import Sequence
from importlib import metadata
from typing import NamedTuple

from sparsetoken.sweep.plan import Call
from sparsetoken.sweep.processes import mark_row, memory_taken
from sparsetoken.sweep.records import FAILED, Answer
from sparsetoken.sweep.threads import one_thread_for_good

__all__ = ["Report", "environment", "package_version", "run_batch"]

PACKAGES = ("numpy", "scipy", "jax", "jaxlib")
LONGEST_MESSAGE = 2000


class Report(NamedTuple):
    """The answers of a batch, what they were computed with, and the worker's memory."""

    answers: list[Answer]
    facts: str
    memory: int


def run_batch(calls: Sequence[tuple[int, Call]]) -> Report:
    """Run numbered calls. An error is the answer of its row, and the others go on.

    From here on the process has one BLAS thread.
    """
    one_thread_for_good()
    answers = [_answer(number, call) for number, call in calls]
    mark_row(-1)
    return Report(answers, environment(), memory_taken())


def _answer(number: int, call: Call) -> Answer:
    mark_row(number)
    function, arguments = call
    start = time.perf_counter()
    try:
        found = function(*arguments)
        json.dumps(found.values)
    except Exception as error:
        text = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_MESSAGE]
        return Answer(number, FAILED, {}, text, None, time.perf_counter() - start)
    seconds = time.perf_counter() - start
    return Answer(number, found.status, found.values, found.remedy, found.seed, seconds)


def package_version(name: str = "sparsetoken") -> str:
    """Return the version of a package, none if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


@functools.cache
def environment() -> str:
    """Return versions and host as JSON."""
    facts = {name: package_version(name) for name in ("sparsetoken", *PACKAGES)}
    facts |= {"python": platform.python_version(), "host": platform.node()}
    facts |= {"machine": platform.machine(), "system": platform.system()}
    return json.dumps(facts, sort_keys=True)
