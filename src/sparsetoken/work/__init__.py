"""Worker processes on this machine or a cluster, and the kept results of their calls."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from concurrent.futures import Executor

from sparsetoken.work.calls import (
    RunStopped,
    WorkerDied,
    completed,
    package_version,
    require_executor,
    timed,
)
from sparsetoken.work.cluster import connected
from sparsetoken.work.folder import Folder
from sparsetoken.work.kept import Kept, Result, canonical_text, digest
from sparsetoken.work.pool import (
    WorkerPool,
    end_workers,
    one_thread_each,
)

__all__ = [
    "Folder",
    "Kept",
    "Result",
    "RunStopped",
    "WorkerDied",
    "WorkerPool",
    "canonical_text",
    "completed",
    "digest",
    "end_workers",
    "executor_of",
    "one_thread_each",
    "package_version",
    "require_executor",
    "timed",
]


@contextlib.contextmanager
def executor_of(workers: int, address: str = "") -> Iterator[tuple[Executor, int]]:
    """Return an executor, and the number of calls that it runs at once.

    The calls go to the cluster at the address, or else to so many processes of this machine,
    which end with the block.
    """
    if address:
        with connected(address) as cluster:
            yield cluster
        return
    pool = WorkerPool(workers)
    try:
        yield pool, workers
    finally:
        pool.shutdown(wait=False)
