"""One thread for the numerical libraries.

The last digits of a product depend on how many threads share it, and where other work keeps the
cores busy, threads that wait for one another make small products many times slower.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

_P = ParamSpec("_P")
_T = TypeVar("_T")

LOADED_FIRST = ("numpy", "scipy.linalg")  # each brings a BLAS library of its own


@functools.cache
def _controller() -> Any:
    for name in LOADED_FIRST:
        importlib.import_module(name)
    return importlib.import_module("threadpoolctl").ThreadpoolController()


def on_one_thread(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Run a function of many small products on one thread."""

    @functools.wraps(function)
    def wrapped(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if os.environ.get("OPENBLAS_NUM_THREADS") == "1":
            return function(*args, **kwargs)
        with one_thread():
            return function(*args, **kwargs)

    return wrapped


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit the linear algebra of this process to one thread within the block.

    Blocks of several threads may overlap: the limit holds until the last of them ends. Code that
    runs on OpenMP, as estimators of a user may, keeps its threads.
    """
    with _LIMIT.lock:
        _LIMIT.users += 1
        if _LIMIT.users == 1:
            _LIMIT.limiter = _controller().limit(limits=1, user_api="blas")
    try:
        yield
    finally:
        with _LIMIT.lock:
            _LIMIT.users -= 1
            if _LIMIT.users == 0:
                _LIMIT.limiter.restore_original_limits()


class _Limit:
    """Who needs the limit, over all threads."""

    def __init__(self) -> None:
        self.lock, self.users, self.limiter = threading.Lock(), 0, None


_LIMIT: Any = _Limit()


def kernels() -> str:
    """Return the libraries of linear algebra that are loaded, each with its kernel."""
    libraries = [info for info in _controller().info() if info["user_api"] == "blas"]
    names = [f"{i['internal_api']} {i['version']} {i.get('architecture', '')}" for i in libraries]
    return ", ".join(sorted({name.strip() for name in names})) or "none"
