"""A cluster of dask.distributed as an executor."""

from __future__ import annotations

import contextlib
import logging
import re
from collections.abc import Iterator
from concurrent.futures import Executor
from typing import Any

from sparsetoken.extras import needed
from sparsetoken.validation import InvalidInput
from sparsetoken.workers.environment import package_version

TIMEOUT_SECONDS = 10
LEGAL = "the address of a dask scheduler that is running, such as tcp://host:8786"


@contextlib.contextmanager
def connected(address: str) -> Iterator[tuple[Executor, int]]:
    """Connect to a scheduler, such as ``tcp://host:8786``.

    Return an executor, and the number of calls that it runs at once.

    Every worker must have this version of the package.

    Raises
    ------
    InvalidInput
        If dask is missing, the scheduler does not answer, it has no workers, or a worker
        has another version.
    """
    if not re.fullmatch(r"\w+://\S+|\S+:\d+", address):
        raise InvalidInput("--cluster", LEGAL, address)
    distributed = needed("distributed", "to run on a cluster", "cluster")
    with _quiet():
        try:
            client = distributed.Client(address, timeout=TIMEOUT_SECONDS, set_as_default=False)
        except (OSError, ValueError, TimeoutError) as error:
            told = " ".join(str(error).split())[:200]
            remedy = f"It did not answer in {TIMEOUT_SECONDS} s: {told}."
            raise InvalidInput("--cluster", LEGAL, address, remedy) from None
        try:
            _check_versions(client)
            yield client.get_executor(), _threads(client)
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


def _threads(client: Any) -> int:
    return sum(client.nthreads().values())


def _check_versions(client: Any) -> None:
    if not _threads(client):
        raise InvalidInput("--cluster", "a scheduler with workers", "no workers")
    mine = package_version()
    for worker, version in _versions(client).items():
        if version != mine:
            legal = f"of workers with sparsetoken {mine}"
            raise InvalidInput("--cluster", legal, f"{version} on {worker}")


def _versions(client: Any) -> dict[str, str]:
    try:
        return client.run(package_version)
    except ImportError as error:
        return {"a worker": f"none ({error})"}
