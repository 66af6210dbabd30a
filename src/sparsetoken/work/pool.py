"""Worker processes: one thread each, ending with their parent, replaced when they die."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sized
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from multiprocessing import resource_tracker, util
from typing import Any

from sparsetoken.base.machine import machine_memory
from sparsetoken.base.validation import InvalidInput, integer
from sparsetoken.work.calls import RunStopped

THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")
FILES_OF_WORKER, FILES_BESIDE = 4, 64
"""Files open for a worker and the one that it replaces, and what else this process needs."""


class WorkerPool(Executor):
    """Spawned processes, replaced when one dies; calls are submitted by one thread.

    Parameters
    ----------
    workers : int
    memory : int, optional
        Bytes: after a result whose attribute `memory`, the peak of its process, is above them,
        new calls go to fresh processes. By default each may take its share of the machine.
    """

    def __init__(self, workers: int, memory: int | None = None) -> None:
        _require_files(integer("workers", workers, 1))
        self._max_workers = workers  # under the name that executors of the standard library use
        self._memory = memory_share(workers) if memory is None else memory
        self._replaced: list[Any] = []  # processes
        self._ended = False
        self._begin()

    def _begin(self) -> None:
        context = multiprocessing.get_context("spawn")
        self._pool = ProcessPoolExecutor(self._max_workers, context, _begin_worker)
        self._large = threading.Event()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        """Give a call to the processes, or to new ones if one has died or grown too large."""
        if self._ended:
            raise RuntimeError("the pool has ended")
        if self._large.is_set():
            self._replace()
        try:
            return self._given(fn, *args, **kwargs)
        except BrokenExecutor:
            self._replace()
        try:
            self._given(os.getpid).result()
        except BrokenExecutor as error:
            text = "Worker processes die before they begin. Is there enough memory?"
            raise RunStopped(text) from error
        return self._given(fn, *args, **kwargs)

    def _replace(self) -> None:
        """Begin with new processes; the old ones still end their calls, unless one has died."""
        self._replaced = [process for process in self._replaced if process.is_alive()]
        self._replaced += self._processes()
        self._kill_if_broken(self._processes())
        self._pool.shutdown(wait=False)
        self._begin()

    def _processes(self) -> list[Any]:
        return list((self._pool._processes or {}).values())

    def _given(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future:
        with one_thread_each(), _born_deaf():  # a call may start processes
            future = self._pool.submit(fn, *args, **kwargs)
        large = self._large

        def weigh(done: Future) -> None:
            ended = not done.cancelled() and done.exception() is None
            if ended and getattr(done.result(), "memory", 0) > self._memory:
                large.set()

        future.add_done_callback(weigh)
        return future

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        """End the processes; without `wait`, at once."""
        self._ended = True
        processes = self._processes()
        self._pool.shutdown(wait=wait, cancel_futures=cancel_futures)
        self._kill_if_broken(processes)
        for process in (*self._replaced, *processes):
            process.join() if wait else process.kill()

    def _kill_if_broken(self, processes: list[Any]) -> None:
        """Kill the processes beside one that died: the thread that should may have failed."""
        if self._pool._broken:
            for process in processes:
                process.kill()

    def __exit__(self, kind: Any, *_: Any) -> None:
        """End the processes; at once after an error."""
        self.shutdown(wait=kind is None, cancel_futures=kind is not None)


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


@contextlib.contextmanager
def one_thread_each() -> Iterator[None]:
    """Let processes started here use one BLAS thread each, unless the user has chosen.

    On a few busy cores several threads per process are slower, up to ten times.
    """
    added = [name for name in THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    try:
        yield
    finally:
        for name in added:
            os.environ.pop(name, None)


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


def _mask(how: str) -> None:
    if hasattr(signal, "pthread_sigmask"):
        signal.pthread_sigmask(getattr(signal, how), {signal.SIGINT})


def _begin_worker() -> None:
    """End at Ctrl-C without a traceback, and with the parent process even if it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    _mask("SIG_UNBLOCK")
    threading.Thread(target=_end_with_parent, daemon=True).start()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def memory_share(workers: int) -> int:
    """Return the bytes of memory that each worker may take: nine tenths of all, shared."""
    return int(0.9 * machine_memory() / workers)


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
