"""Keep compiled JAX code between runs, so that a second command is quick.

Only the command line does this: a library must not change global settings.
"""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from pathlib import Path


def cache_folder(environ: MutableMapping[str, str]) -> Path:
    """Return the folder of compiled code under the user's cache folder."""
    home = environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(home) / "sparsetoken" / "jax"


def use_compilation_cache(environ: MutableMapping[str, str] = os.environ) -> None:
    """Point JAX at the cache before JAX is imported, unless the user has chosen another.

    Without a writable folder nothing is set, and JAX compiles each time.
    """
    if "JAX_COMPILATION_CACHE_DIR" not in environ:
        folder = cache_folder(environ)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            return
        if not os.access(folder, os.W_OK | os.X_OK):
            return
        environ["JAX_COMPILATION_CACHE_DIR"] = str(folder)
    environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
    environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
