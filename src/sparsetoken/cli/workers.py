"""Worker processes: where the work of a command goes, and their end when it is stopped."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Iterator, Sized
from concurrent.futures import Executor
from multiprocessing import resource_tracker, util


@contextlib.contextmanager
def executor_of(workers: int, address: str) -> Iterator[tuple[Executor, int]]:
    """Return an executor, and the calls that it runs at once.

    The calls go to the cluster at the address, or to so many processes of this machine.
    """
    if address:
        from sparsetoken.sweep.cluster import connected

        with connected(address) as cluster:
            yield cluster
        return
    from sparsetoken.sweep import WorkerPool

    pool = WorkerPool(workers)
    try:
        yield pool, workers
    finally:
        pool.shutdown(wait=False)


def end_workers() -> None:
    """End the worker processes, and give semaphores back, also if their tracker was ended."""
    # A thread that waits for workers may fail as they end: its traceback would tell nothing.
    threading.excepthook = lambda _: None
    for process in multiprocessing.active_children():
        process.kill()
    resource_tracker.unregister = _unregister
    util._run_finalizers(0)  # type: ignore[attr-defined]


def _unregister(name: Sized, rtype: str) -> None:
    """Tell the tracker of a semaphore if it still runs; a new one would know of none."""
    descriptor = getattr(resource_tracker._resource_tracker, "_fd", None)
    if descriptor is not None:
        with contextlib.suppress(OSError):
            os.write(descriptor, f"UNREGISTER:{name}:{rtype}\n".encode())
