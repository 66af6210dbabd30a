"""One thread for the numerical libraries.

The last digits of a product depend on how many threads share it, and where other work keeps the
cores busy, threads that wait for one another make small products many times slower.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import threading
from collections.abc import Iterator
from typing import Any

LOADED_FIRST = ("numpy", "scipy.linalg")  # each brings a BLAS library of its own


@functools.cache
def _controller() -> Any:
    for name in LOADED_FIRST:
        importlib.import_module(name)
    return importlib.import_module("threadpoolctl").ThreadpoolController()


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit the linear algebra of this process to one thread within a block, or a function.

    Blocks of several threads may overlap: the limit holds until the last of them ends. That of
    threadpoolctl alone would then stay for good. Code that runs on OpenMP, as estimators of a user
    may, keeps its threads.
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
