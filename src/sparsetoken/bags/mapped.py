"""Arrays in files: what is picked from a memory map may not fit into memory either."""

from __future__ import annotations

import math
import mmap
import shutil
import tempfile
from typing import Any

import numpy as np

LARGE = 1 << 26  # bytes from which a copy goes to a file


def is_mapped(array: Any) -> bool:
    """Whether an array is a view of a memory map."""
    while isinstance(array, np.ndarray):
        array = array.base
    return isinstance(array, mmap.mmap)


def scratch(shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Return an array to write to: a large one in a temporary file that ends with the array.

    Where the disk of temporary files (TMPDIR) has no room it is in memory.
    """
    size = math.prod(shape) * dtype.itemsize
    if size < LARGE or shutil.disk_usage(tempfile.gettempdir()).free < size:
        return np.empty(shape, dtype)
    with tempfile.TemporaryFile() as file:
        file.truncate(size)
        # No np.memmap: joblib would look for the name of its file.
        return np.ndarray(shape, dtype, mmap.mmap(file.fileno(), size))
