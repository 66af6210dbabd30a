"""Calls in an executor, each of which ends or is abandoned, and the environment they ran in."""

from __future__ import annotations

import collections
import dataclasses
import functools
import itertools
import os
import platform
import queue
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from importlib import metadata
from typing import Any, Generic, NamedTuple, TypeVar

from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.numerics.threads import kernels, one_thread

Task = TypeVar("Task")
Result = TypeVar("Result")
MOST_DEATHS = 3


class RunStopped(Failure):
    """A run that cannot continue, and whose finished work is kept."""

    def __str__(self) -> str:
        return f"{super().__str__()} The next run resumes from here."


class WorkerDied(Failure):
    """A call that was abandoned, since worker processes died of it repeatedly."""


class Done(NamedTuple):
    """A result with the seconds it took, the environment, and the memory of the worker."""

    result: Any
    seconds: float
    environment: dict[str, str]
    memory: int


def timed(function: Callable[[Task], Any], task: Task) -> Done:
    """Call a function with one BLAS thread."""
    start = time.perf_counter()
    with one_thread():
        result = function(task)
    return Done(result, time.perf_counter() - start, environment(), peak_memory())


@dataclasses.dataclass
class _Call(Generic[Task]):
    task: Task
    deaths: int = 0


def require_executor(executor: Any) -> Executor:
    """Return an executor, or raise `InvalidInput` if it is none."""
    if not isinstance(executor, Executor):
        remedy = "Write ThreadPoolExecutor(2), for example, or client.get_executor() of Dask."
        raise InvalidInput("executor", "a concurrent.futures.Executor", executor, remedy)
    return executor


def completed(
    function: Callable[[Task], Result],
    tasks: Iterable[Task],
    executor: Executor | None = None,
    width: int = 1,
) -> Iterator[tuple[Task, Result | WorkerDied]]:
    """Yield each task with ``function(task)`` as it ends.

    Tasks are drawn as there is room: twice as many are in flight as the executor runs at once, its
    width. By default they run in this thread, with one BLAS thread. What a function raises is
    raised here, and `RunStopped` if the executor takes no more work, or has cancelled a call.

    If a worker dies, all tasks in flight are suspects, and run again one by one. A task is
    given up, and yielded with `WorkerDied`, after the third death of a worker that had it
    alone or with others, the last time alone: so it is never given up for what another did.
    When the generator is left, tasks that have not begun are cancelled.
    """
    if executor is None:
        for task in tasks:
            with one_thread():
                result = function(task)
            yield task, result
        return
    left, suspects = iter(tasks), collections.deque[_Call[Task]]()
    in_flight: dict[Future[Result], _Call[Task]] = {}
    ended: queue.SimpleQueue[Future[Result]] = queue.SimpleQueue()
    try:
        while True:
            alone = bool(suspects) and not in_flight
            room = 0 if suspects else 2 * width - len(in_flight)
            calls = [suspects.popleft()] if alone else map(_Call, itertools.islice(left, room))
            for call in calls:
                future = _submitted(executor, function, call)
                in_flight[future] = call
                future.add_done_callback(ended.put)
            if not in_flight:
                return
            future = ended.get()
            call = in_flight.pop(future)
            if future.cancelled():
                raise RunStopped("The executor was shut down, or lost its scheduler.")
            error = future.exception()
            # Dask gives a call up when several workers have died.
            killed = type(error).__name__ == "KilledWorker"
            if error is None:
                yield call.task, future.result()
            elif not (killed or isinstance(error, BrokenExecutor)):
                raise error
            elif alone and (killed or call.deaths + 1 >= MOST_DEATHS):
                text = (
                    f"Its worker process died {MOST_DEATHS} times or more. Is there enough memory?"
                )
                yield call.task, WorkerDied(text)
            else:
                call.deaths += 1
                suspects.append(call)
    finally:
        for future in in_flight:
            future.cancel()


def _submitted(
    executor: Executor, function: Callable[[Task], Result], call: _Call[Task]
) -> Future[Result]:
    try:
        return executor.submit(_run, function, call.task, call.deaths)
    except RunStopped:
        raise
    except (BrokenExecutor, RuntimeError) as error:
        raise RunStopped(f"The executor takes no more work: {error}.") from error


def _run(function: Callable[[Task], Result], task: Task, deaths: int) -> Result:
    """Return ``function(task)``; to dask the same arguments are the same call, and as lost."""
    return function(task)


PACKAGES = ("sparsetoken", "numpy", "scipy", "jax", "jaxlib")


def package_version(name: str = "sparsetoken") -> str:
    """Return the version of a package, or none if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


@functools.cache
def environment() -> dict[str, str]:
    """Return versions, host and kernels of the linear algebra."""
    facts = {name: package_version(name) for name in PACKAGES}
    facts |= {"python": platform.python_version(), "host": platform.node()}
    facts |= {"machine": platform.machine(), "system": platform.system()}
    return facts | {"linear algebra": kernels()}


def peak_memory() -> int:
    """Return the most bytes that this process has held in memory; 0 if not known."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
