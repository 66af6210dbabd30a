"""One BLAS thread: the last digits of a product depend on how many threads share it."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any

LOADED_FIRST = ("numpy", "scipy.linalg")  # each brings a BLAS library of its own


@functools.cache
def _controller() -> Any:
    for name in LOADED_FIRST:
        importlib.import_module(name)
    return importlib.import_module("threadpoolctl").ThreadpoolController()


@functools.cache
def use_one_thread() -> None:
    """Limit this process to one thread until it ends, whatever the environment says."""
    _controller().limit(limits=1)


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Limit this process to one thread within the block."""
    with _controller().limit(limits=1):
        yield


def kernels() -> str:
    """Return the libraries of linear algebra that are loaded, each with its kernel."""
    found = [info for info in _controller().info() if info["user_api"] == "blas"]
    names = [f"{i['internal_api']} {i['version']} {i.get('architecture', '')}" for i in found]
    return ", ".join(sorted({name.strip() for name in names})) or "none"
