"""The memory of this machine."""

from __future__ import annotations

import os


def machine_memory() -> int:
    """Return the bytes of memory of this machine, or 8 GiB if they are unknown."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return 8 * 2**30
