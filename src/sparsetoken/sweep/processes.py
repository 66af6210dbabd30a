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

from sparsetoken.memory import machine_memory
from sparsetoken.validation import InvalidInput, integer

_THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
NO_ROW = -1
_row: Any = None  # in a worker: memory shared with the parent, which holds the row being computed


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


class WorkerDied(BrokenExecutor):
    """The worker process of a call died; the pool has replaced it, and takes more calls.

    Attributes
    ----------
    row : int or None
        The row that the worker was computing, `NO_ROW` if it was at none, or None if the
        worker died in an earlier call than this one.
    """

    def __init__(self, row: int | None) -> None:
        super().__init__(row)
        self.row = row


def mark_row(number: int | None) -> None:
    """Tell the parent process which row this process computes; None if it computes none."""
    if _row is not None:
        _row.value = NO_ROW if number is None else number


def peak_memory() -> int:
    """Return the most bytes that this process has held in memory; 0 if not known."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def memory_share(workers: int) -> int:
    """Return the bytes of memory that each worker may take: nine tenths of all, shared."""
    return int(0.9 * machine_memory() / workers)


def _begin_worker(row: Any) -> None:
    """End at Ctrl-C without a traceback, and with the parent process even if it is killed."""
    global _row
    _row = row
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _mask("SIG_UNBLOCK")
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _mask(how: str) -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(getattr(signal, how), {signal.SIGINT})


@contextlib.contextmanager
def _born_deaf() -> Iterator[None]:
    """Let a process that is started here not hear Ctrl-C until it has begun.

    Python would answer it with a traceback out of the imports of that process.
    """
    _mask("SIG_BLOCK")
    try:
        yield
    finally:
        _mask("SIG_UNBLOCK")


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class _Worker:
    """One worker process and the calls that wait for it, first come first served.

    Calls are submitted by one thread. Results are passed on by a thread of the executor, which
    may hold a lock that `submit` of the executor needs: the two share nothing but a count.
    """

    def __init__(self, context: Any, memory: int) -> None:
        self._context, self._memory = context, memory
        self._lock = threading.Lock()
        self.waiting = 0
        self._renew()

    def _renew(self) -> None:
        self.row = self._context.RawValue(ctypes.c_int64, NO_ROW)
        self.executor = ProcessPoolExecutor(
            1, mp_context=self._context, initializer=_begin_worker, initargs=(self.row,)
        )
        self._dead, self._large = threading.Event(), threading.Event()

    def submit(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
        """Give a call to the process, or to a new one if it has died or grown too large."""
        if self._large.is_set():
            self.executor.shutdown(wait=False)  # it still ends the calls that it has
            self._renew()
        try:
            inner = self._given(call, *args, **kwargs)
        except BrokenExecutor:
            self._renew()
            inner = self._given(call, *args, **kwargs)
        outer: Future = Future()
        outer.set_running_or_notify_cancel()
        self._count(1)
        inner.add_done_callback(self._passing_on(outer))
        return outer

    def _given(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Future:
        with _born_deaf():  # the first call starts the process
            return self.executor.submit(call, *args, **kwargs)

    def _count(self, calls: int) -> None:
        with self._lock:
            self.waiting += calls

    def _passing_on(self, outer: Future) -> Callable[[Future], None]:
        row, dead, large = self.row, self._dead, self._large

        def pass_on(done: Future) -> None:
            self._count(-1)
            error = done.exception()
            if error is None:
                if getattr(done.result(), "memory", 0) > self._memory:
                    large.set()
                outer.set_result(done.result())
            elif isinstance(error, BrokenExecutor):
                # The first call of a broken executor is the one that was running.
                outer.set_exception(WorkerDied(None if dead.is_set() else row.value))
                dead.set()
            else:
                outer.set_exception(error)

        return pass_on


def _require_files(workers: int) -> None:
    """Raise `InvalidInput` if this process may not have as many files open as workers need."""
    try:
        import resource
    except ImportError:
        return
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = max(1, (limit - FILES_BESIDE) // FILES_OF_WORKER)
    if limit != resource.RLIM_INFINITY and workers > most:
        remedy = f"This process may have {limit} files open; `ulimit -n` raises it."
        raise InvalidInput("workers", f"at most {most} here", workers, remedy)


FILES_OF_WORKER, FILES_BESIDE = 12, 64
"""Files that a worker keeps open in its parent, and what else the parent needs, with a margin."""


class WorkerPool(Executor):
    """Spawned processes, each with a queue of its own, so that a death loses the calls of one.

    Parameters
    ----------
    workers : int
    memory : int, optional
        Bytes after which a process is replaced by a fresh one; its share of the machine.
    """

    def __init__(self, workers: int, memory: int | None = None) -> None:
        _require_files(integer("workers", workers, 1))
        self._one_thread = one_thread_each()
        self._one_thread.__enter__()
        context = multiprocessing.get_context("spawn")
        limit = memory_share(workers) if memory is None else memory
        self._workers = [_Worker(context, limit) for _ in range(workers)]

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Give a call to the worker with the fewest; the result may be `WorkerDied`."""
        worker = min(self._workers, key=lambda worker: worker.waiting)
        return worker.submit(fn, *args, **kwargs)

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; without `wait`, at once."""
        for worker in self._workers:
            processes = list((worker.executor._processes or {}).values())
            worker.executor.shutdown(wait=wait, cancel_futures=cancel_futures)
            if not wait:
                for process in processes:
                    process.kill()
        self._one_thread.__exit__(None, None, None)


@contextlib.contextmanager
def worker_pool(workers: int) -> Iterator[Executor]:
    """Return a `WorkerPool`, whose processes end at once if the block raises an error."""
    pool = WorkerPool(workers)
    try:
        yield pool
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
