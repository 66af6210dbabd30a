"""Worker processes for trials and jobs."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from concurrent.futures import Executor, ProcessPoolExecutor

__all__ = ["one_thread_each", "worker_pool"]

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes started here use one BLAS thread each, unless the user has chosen.

    On a few busy cores several threads per process are slower, up to ten times.
    """
    added = [name for name in _THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


@contextlib.contextmanager
def worker_pool(workers: int) -> Iterator[Executor]:
    """Return an executor of spawned processes; on an error the rest is dropped."""
    context = multiprocessing.get_context("spawn")
    with one_thread_each():
        pool = ProcessPoolExecutor(workers, mp_context=context, initializer=_begin_worker)
        try:
            yield pool
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise
        pool.shutdown()


def _begin_worker() -> None:
    """End at Ctrl-C without a traceback, and with the parent process even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
