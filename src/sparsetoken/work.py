"""Points of a grid in worker processes or on a cluster, and their results kept in a folder.

joblib runs the calls. It could keep them, too, but only under what they were called with: here
points are solved together, and each is kept by itself.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import io
import math
import multiprocessing
import multiprocessing.resource_tracker
import os
import pickle
import signal
import sys
import threading
import time
import types
import warnings
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from concurrent.futures import BrokenExecutor
from pathlib import Path
from typing import Any, TypeVar

import cloudpickle
import joblib
import numpy as np
from joblib.externals.loky.backend import resource_tracker

from sparsetoken.base.content import canonical_text, digest_of_source
from sparsetoken.base.files import path_of, write_whole
from sparsetoken.base.progress import progress_of
from sparsetoken.base.validation import Failure, InvalidInput, integer
from sparsetoken.numerics.threads import one_thread

Point = TypeVar("Point")
Result = TypeVar("Result")

_CHECKED = 20  # bytes of the checksum in front of a kept result
_MISSING = object()


class WorkerDied(Failure):
    """A worker process that ended before its call did."""


class DamagedResultWarning(UserWarning):
    """Kept results that cannot be read, and are computed again."""


def map_points(
    function: Callable[[Sequence[Point]], Iterable[Result]],
    points: Sequence[Point],
    *,
    call: Sequence[Any],
    together: Callable[[Point], Hashable] | None = None,
    workers: int = 1,
    keep: str | os.PathLike[str] | None = None,
    what: str = "points",
    progress: bool = True,
) -> list[Result]:
    """Return the result at each point, as this process, workers or a cluster compute it.

    Parameters
    ----------
    function : callable
        Returns or yields the results at points that are solved together; what it yields here is
        shown and kept as it comes. It is sent to other processes.
    points : sequence
    call : sequence
        All else that a result depends on: the name of the call, and its other arguments.
    together : callable, optional
        Maps a point to what the points that are solved together share; each is by itself if it is
        omitted. Several processes solve parts of them.
    workers : int >= 1
        Processes of this machine. With 1 the calls run here, or in the backend of a surrounding
        `joblib.parallel_config`.
    keep : path, optional
        A folder in which each result is kept as it ends, and from which earlier ones are taken.
        Exceptions are not kept.
    what : str
        The name of the points where progress is shown.
    progress : bool

    Raises
    ------
    InvalidInput
        If there is no such number of workers, or a result is to be kept whose call has code of a
        user without a version.
    WorkerDied
        If a worker process dies. What has ended is kept.
    Failure
        If the folder cannot be written any more, as on a full disk. What has ended is kept.
    """
    integer("workers", workers, 1)
    folder, keys = None if keep is None else Kept(keep), [""] * len(points)
    if folder is not None:
        source = digest_of_source()
        keys = [canonical_text([source, *call, point]) for point in points]
    results: dict[int, Result] = {}
    with progress_of(what, len(points), progress) as done:
        groups: dict[Hashable, list[int]] = {}
        for place, point in enumerate(points):
            known = _MISSING if folder is None else folder.read(keys[place])
            if known is not _MISSING:
                results[place] = known  # type: ignore[assignment]
            else:
                groups.setdefault(place if together is None else together(point), []).append(place)
        if folder is not None:
            folder.warn_of_damage()
        if results:
            done(len(results))

        def ended_at(place: int, result: Result) -> None:
            if folder is not None and not isinstance(result, Exception):
                folder.write(keys[place], result)
            results[place] = result
            done()

        # A surrounding `joblib.parallel_config` may have more.
        jobs = workers if workers > 1 else joblib.effective_n_jobs(None)
        parts = _parts([*groups.values()], jobs)
        if jobs == 1 or len(parts) < 2:  # what is alone may have its own parts run elsewhere
            for own in parts:
                found = iter(_here(function, [points[place] for place in own]))
                for place in own:
                    ended_at(place, _here(next, found))
            return [results[place] for place in range(len(points))]
        run = joblib.delayed(_computed)
        calls = [run(own, _Sent((function, [points[place] for place in own]))) for own in parts]
        starts = workers > 1
        start = {"initializer": _follow_parent} if starts else {}
        parallel = joblib.Parallel(
            n_jobs=min(workers, len(calls)) if starts else None,
            return_as="generator_unordered",
            **start,
        )
        try:
            with contextlib.ExitStack() as stack:
                if starts:
                    stack.enter_context(_joblib_silent())
                with _interrupts_blocked() if starts else contextlib.nullcontext():
                    ended = parallel(calls)  # starts the workers
                    stack.callback(ended.close)  # after an error ends what still runs
                for places, some in ended:
                    for place, result in zip(places, some, strict=True):
                        ended_at(place, result)
        except Exception as error:
            if not _lost_a_worker(error):
                raise
            saved = "" if folder is None else " What has ended is kept: run it again to resume."
            text = f"A worker process died. Fewer workers need less memory.{saved}"
            raise WorkerDied(text) from error
    return [results[place] for place in range(len(points))]


def _parts(groups: Sequence[list[int]], jobs: int) -> list[list[int]]:
    """Return the places of each group, cut where several processes have less than four parts."""
    size = max(1, math.ceil(sum(map(len, groups)) / (4 * jobs))) if jobs > 1 else sys.maxsize
    return [own[first : first + size] for own in groups for first in range(0, len(own), size)]


@one_thread()
@np.errstate(under="ignore")
def _here(function: Callable[[Any], Any], given: Any) -> Any:
    return function(given)


def _lost_a_worker(error: Exception) -> bool:
    """Return whether an error is that of joblib, or of dask, about workers that died."""
    return isinstance(error, BrokenExecutor) or type(error).__name__ == "KilledWorker"


@contextlib.contextmanager
def _joblib_silent() -> Iterator[None]:
    """Keep joblib from warning of a worker that it replaces, and of calls that an error ends."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "A worker stopped while some jobs")
        warnings.filterwarnings("ignore", r"\d+ tasks ")
        yield


@contextlib.contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Let workers that are started here not hear Ctrl-C until their first call.

    Python would answer it with a traceback out of their imports.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    for tracker in (multiprocessing.resource_tracker, resource_tracker):
        tracker.ensure_running()  # which would unblock it
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@one_thread()
@np.errstate(under="ignore")
def _computed(places: list[int], sent: _Sent) -> tuple[list[int], Sequence[Any]]:
    """Return the results of a group, and their places."""
    _follow_parent()
    function, points = sent.value
    return places, [*function(points)]


class _Sent:
    """A value whose functions are the same objects in a process however often it gets there.

    What was compiled for them is then found again.
    """

    def __init__(self, value: Any) -> None:
        self.value = value

    def __reduce__(self) -> tuple[Any, ...]:
        content = io.BytesIO()
        _Pickler(content).dump(self.value)
        return _received, (content.getvalue(),)


class _Pickler(cloudpickle.Pickler):
    def reducer_override(self, value: Any) -> Any:
        if isinstance(value, types.FunctionType):
            return _function_of, (cloudpickle.dumps(value),)
        return super().reducer_override(value)


def _received(content: bytes) -> _Sent:
    return _Sent(pickle.loads(content))


@functools.lru_cache(maxsize=256)
def _function_of(content: bytes) -> Any:
    return pickle.loads(content)


@functools.cache
def _follow_parent() -> None:
    """Let a worker end silently at Ctrl-C, and soon when the process that it works for has died.

    Workers call it as they start: that process may die before their first call.
    """
    parent = multiprocessing.parent_process()
    if parent is None or os.name != "posix":
        return
    if threading.current_thread() is not threading.main_thread():  # as on a cluster
        return
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})

    def watch() -> None:
        while os.getppid() == parent.pid:
            time.sleep(1.0)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


class Kept:
    """Results in a folder, a file for each, by the canonical text of what was called.

    Files are written aside and then moved, under a hash of that text, with a checksum, so that a
    kill loses only the calls in flight, several processes may share a folder, and a damaged file is
    known. They are pickles: a folder is to be trusted like a program.

    Parameters
    ----------
    folder : path
        It is made if it is not there.

    Raises
    ------
    InvalidInput
        If it is a file, or cannot be made or written.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder, self.damaged = path_of("keep", folder), list[Path]()
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            got = f"{self.folder}: {error.strerror}"
            raise InvalidInput("keep", "a folder, or the path of a new one", got) from None
        if not os.access(self.folder, os.W_OK):
            raise InvalidInput("keep", "a folder that can be written", str(self.folder))

    def _file(self, key: str) -> Path:
        return self.folder / f"{hashlib.blake2b(key.encode(), digest_size=16).hexdigest()}.pkl"

    def read(self, key: str) -> Any:
        """Return the result of a call, or `_MISSING`, also where its file is damaged."""
        path = self._file(key)
        try:
            content = path.read_bytes()
            if _checksum(content[_CHECKED:]) != content[:_CHECKED]:
                raise ValueError("damaged")
            known, result = pickle.loads(content[_CHECKED:])
        except FileNotFoundError:
            return _MISSING
        except Exception:
            known = None
        if known != key:
            self.damaged.append(path)
            return _MISSING
        return result

    def warn_of_damage(self) -> None:
        """Say how many results could not be read."""
        if self.damaged:
            what = f"{len(self.damaged)} kept results in {self.folder}, such as"
            text = f"{what} {self.damaged[0].name}, are damaged and are computed again."
            warnings.warn(text, DamagedResultWarning, stacklevel=3)

    def write(self, key: str, result: Any) -> None:
        """Keep the result of a call, or raise `Failure` if the disk does not take it."""
        content, path = pickle.dumps((key, result)), self._file(key)
        try:
            write_whole(path, _checksum(content) + content)
        except OSError as error:
            text = f"A result cannot be written to {self.folder}: {error.strerror}."
            remedy = "What had ended before is kept there: run it again to resume."
            raise Failure(f"{text} {remedy}") from None


def _checksum(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_CHECKED).digest()
