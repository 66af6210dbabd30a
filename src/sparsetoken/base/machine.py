"""What this machine has: the packages that only some functions need, and their versions."""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Iterable
from importlib import metadata
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


def made_with(packages: Iterable[str]) -> dict[str, str]:
    """Return the date and the versions of packages, none for those that are not installed."""
    now = datetime.datetime.now(datetime.UTC)
    found = {"date": now.strftime("%Y-%m-%d %H:%M UTC")}
    for name in packages:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "none"
    return found
