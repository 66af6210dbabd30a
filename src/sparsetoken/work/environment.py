"""The versions, host, kernels and memory that a result was computed with."""

from __future__ import annotations

import functools
import json
import os
import platform
from importlib import metadata

from sparsetoken.numerics.threads import kernels

PACKAGES = ("sparsetoken", "numpy", "scipy", "jax", "jaxlib")


def package_version(name: str = "sparsetoken") -> str:
    """Return the version of a package, or none if it is not installed."""
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return "none"


@functools.cache
def environment() -> str:
    """Return versions, host and kernels of the linear algebra as JSON."""
    facts = {name: package_version(name) for name in PACKAGES}
    facts |= {"python": platform.python_version(), "host": platform.node()}
    facts |= {"machine": platform.machine(), "system": platform.system()}
    facts["linear algebra"] = kernels()
    return json.dumps(facts, sort_keys=True)


def peak_memory() -> int:
    """Return the most bytes that this process has held in memory; 0 if not known."""
    try:
        import resource
    except ImportError:
        return 0
    unit = 1 if os.uname().sysname == "Darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
