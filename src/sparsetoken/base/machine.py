"""What this machine has: memory, and the packages that only some functions need."""

from __future__ import annotations

import importlib
import os
from typing import Any

from sparsetoken.base.validation import InvalidInput


def machine_memory() -> int:
    """Return the bytes of memory of this machine, or 8 GiB if they are unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * 2**30


def needed(name: str, purpose: str, extra: str) -> Any:
    """Import a package, or raise `InvalidInput` with the extra that brings it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        remedy = f"pip install 'sparsetoken[{extra}]'."
        package = name.partition(".")[0]
        raise InvalidInput(package, f"installed {purpose}", "no such package", remedy) from None


def need_jax() -> None:
    """Raise `InvalidInput` unless JAX is installed: nothing else of the package needs it."""
    needed("jax", "for descents, networks and functions of your own (losses, metrics)", "networks")
