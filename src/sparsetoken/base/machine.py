"""What this machine has: memory, and the packages that only some functions need."""

from __future__ import annotations

import importlib
from typing import Any

from sparsetoken.base.validation import InvalidInput


def needed(name: str, purpose: str, extra: str = "") -> Any:
    """Import a package, or raise `InvalidInput` with the extra, if any, that brings it."""
    try:
        return importlib.import_module(name)
    except ImportError:
        package = name.partition(".")[0]
        remedy = f"pip install 'sparsetoken[{extra}]'." if extra else f"pip install {package}."
        raise InvalidInput(package, f"installed {purpose}", "no such package", remedy) from None


def need_jax() -> None:
    """Raise `InvalidInput` unless JAX is installed: nothing else of the package needs it."""
    needed("jax", "for descents, networks and functions of your own (losses, metrics)", "networks")
