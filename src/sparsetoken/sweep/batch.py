"""The batch of rows that a worker computes."""

from __future__ import annotations

import functools
import json
import platform
import time
from collections.abc import Sequence
from importlib import metadata
from typing import NamedTuple

from sparsetoken.numerics.threads import kernels, use_one_thread
from sparsetoken.sweep.processes import mark_row, peak_memory
from sparsetoken.sweep.records import FAILED, Answer, Call, Result

PACKAGES = ("numpy", "scipy", "jax", "jaxlib")
LONGEST_MESSAGE = 2000


class Report(NamedTuple):
    """The answers of a batch, the environment as JSON, and the peak memory of the worker."""

    answers: list[Answer]
    environment: str
    memory: int


def run_batch(calls: Sequence[Call]) -> Report:
    """Make some calls; a row whose computation raises an error has status failed.

    From here on this process uses one BLAS thread.
    """
    use_one_thread()
    answers = [answer for call in calls for answer in _answers(call)]
    mark_row(None)
    return Report(answers, environment(), peak_memory())


def _answers(call: Call) -> list[Answer]:
    """Return the answers of a call. If several rows fail together, each is tried by itself."""
    mark_row(call.rows[0])
    start = time.perf_counter()
    try:
        results = call.function(call.items, *call.shared)
        json.dumps([result.values for result in results])
    except Exception as error:
        if len(call.rows) > 1:
            return [answer for single in call.split() for answer in _answers(single)]
        text = " ".join(f"{type(error).__name__}: {error}".split())[:LONGEST_MESSAGE]
        results = [Result({}, FAILED, text)]
    seconds = (time.perf_counter() - start) / len(call.rows)
    pairs = zip(call.rows, results, strict=True)
    return [Answer(row, result, seconds) for row, result in pairs]


def package_version(name: str = "sparsetoken") -> str:
    """Return the version of a package, or none if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


@functools.cache
def environment() -> str:
    """Return versions, host and kernels of the linear algebra as JSON."""
    facts = {name: package_version(name) for name in ("sparsetoken", *PACKAGES)}
    facts |= {"python": platform.python_version(), "host": platform.node()}
    facts |= {"machine": platform.machine(), "system": platform.system()}
    facts["linear algebra"] = kernels()
    return json.dumps(facts, sort_keys=True)
