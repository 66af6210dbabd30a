"""Worker processes: one thread each, ending with their parent, replaced when they die."""

from __future__ import annotations

import contextlib
import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from typing import Any

__all__ = [
    "ProcessLanes",
    "WorkerDied",
    "machine_share",
    "memory_taken",
    "mark_row",
    "one_thread_each",
    "worker_pool",
]

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


class WorkerDied(Exception):
    """The worker of a call died.

    Attributes
    ----------
    row : int or None
        The row it was at, if this call was the one running.
    """

    def __init__(self, row: int | None) -> None:
        super().__init__(row)
        self.row = row


_row: Any = None


def _begin_lane(row: Any) -> None:
    global _row
    _row = row
    _begin_worker()


def mark_row(number: int) -> None:
    """Tell the parent which row this process works at; -1: none."""
    if _row is not None:
        _row.value = number


def memory_taken() -> int:
    """Return the most bytes that this process has held in memory; 0 if not known."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def machine_share(workers: int) -> int:
    """Return the bytes of memory that each worker may take: nine tenths of all, shared."""
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        total = 8 * 2**30
    return int(0.9 * total / workers)


class _Lane:
    """One worker process and the calls that wait for it, first come first served.

    Calls are given by one thread. What comes back is passed on by a thread of the pool, which
    may hold a lock that `submit` of the pool needs: it shares nothing with it but a count.
    """

    def __init__(self, context: Any, memory: int) -> None:
        self._context, self._memory = context, memory
        self._lock = threading.Lock()
        self.waiting = 0
        self._renew()

    def _renew(self) -> None:
        self.row = self._context.RawValue(ctypes.c_int64, -1)
        self.pool = ProcessPoolExecutor(
            1, mp_context=self._context, initializer=_begin_lane, initargs=(self.row,)
        )
        self.blamed, self._large = threading.Event(), threading.Event()

    def submit(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
        """Give a call to the process, or to a new one if it has died or grown too large."""
        if self._large.is_set():
            self.pool.shutdown(wait=False)  # what it has begun it ends
            self._renew()
        try:
            inner = self.pool.submit(call, *args, **kwargs)
        except BrokenExecutor:
            self._renew()
            inner = self.pool.submit(call, *args, **kwargs)
        outer: Future = Future()
        outer.set_running_or_notify_cancel()
        self._add(1)
        inner.add_done_callback(self._passing_on(outer))
        return outer

    def _add(self, calls: int) -> None:
        with self._lock:
            self.waiting += calls

    def _passing_on(self, outer: Future) -> Callable[[Future], None]:
        row, blamed, large = self.row, self.blamed, self._large

        def pass_on(done: Future) -> None:
            self._add(-1)
            error = done.exception()
            if error is None:
                if getattr(done.result(), "memory", 0) > self._memory:
                    large.set()
                outer.set_result(done.result())
            elif isinstance(error, BrokenExecutor):
                # The first call of a broken pool is the one that ran.
                outer.set_exception(WorkerDied(None if blamed.is_set() else row.value))
                blamed.set()
            else:
                outer.set_exception(error)

        return pass_on


class ProcessLanes(Executor):
    """Spawned processes, each with a queue of its own: a death loses one process's calls.

    Parameters
    ----------
    workers : int
    memory : int, optional
        Bytes after which a process is replaced by a fresh one; its share of the machine.
    """

    def __init__(self, workers: int, memory: int | None = None) -> None:
        self.workers = workers
        self._threads = one_thread_each()
        self._threads.__enter__()
        context = multiprocessing.get_context("spawn")
        limit = machine_share(workers) if memory is None else memory
        self._lanes = [_Lane(context, limit) for _ in range(workers)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Give a call to the lane with the fewest; it may raise `WorkerDied`."""
        lane = min(self._lanes, key=lambda lane: lane.waiting)
        return lane.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; without `wait`, at once."""
        for lane in self._lanes:
            processes = list((lane.pool._processes or {}).values())
            lane.pool.shutdown(wait=wait, cancel_futures=cancel_futures)
            if not wait:
                for process in processes:
                    process.kill()
        self._threads.__exit__(None, None, None)
