"""A cluster of dask.distributed as an executor."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

from sparsetoken.base.machine import needed
from sparsetoken.base.validation import InvalidInput
from sparsetoken.work.calls import package_version

TIMEOUT_SECONDS = 10
LEGAL = "the address of a dask scheduler that is running, such as tcp://host:8786"


@contextlib.contextmanager
def connected(address: str) -> Iterator[tuple[Executor, int]]:
    """Connect to a scheduler, such as ``tcp://host:8786``.

    Return an executor, and the number of calls that it runs at once. Every worker must have this
    version of the package.
    """
    if not re.fullmatch(r"\w+://\S+|\S+:\d+", address):
        raise InvalidInput("--cluster", LEGAL, address)
    distributed = needed("distributed", "to run on a cluster", "cluster")
    with _quiet():
        try:
            client = distributed.Client(address, timeout=TIMEOUT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            cause = " ".join(str(error).split())[:200]
            remedy = f"It did not answer in {TIMEOUT_SECONDS} s: {cause}."
            raise InvalidInput("--cluster", LEGAL, address, remedy) from None
        try:
            threads = _checked_threads(client)
            yield client.get_executor(), threads
        finally:
            client.close(timeout=2)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep dask from writing tracebacks of lost connections, which the run reports itself."""
    known = logging.Logger.manager.loggerDict
    names = [name for name in known if name.partition(".")[0] == "distributed"]
    before = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for name, level in before.items():
            logging.getLogger(name).setLevel(level)


def _checked_threads(client: Any) -> int:
    """Return the threads of all workers, which must have this version of the package."""
    if not (threads := sum(client.nthreads().values())):
        raise InvalidInput("--cluster", "a scheduler with workers", "no workers")
    mine = package_version()
    for worker, version in _versions(client).items():
        if version != mine:
            legal = f"of workers with sparsetoken {mine}"
            raise InvalidInput("--cluster", legal, f"{version} on {worker}")
    return threads


def _versions(client: Any) -> dict[str, str]:
    try:
        return client.run(package_version)
    except ImportError as error:
        return {"a worker": f"none ({error})"}
