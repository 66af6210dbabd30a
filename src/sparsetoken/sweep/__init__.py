"""Sweeps: a grid of settings whose results are kept, and read as named arrays."""

from sparsetoken.sweep.dataset import to_frame, to_xarray
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.runs import Counts, run
from sparsetoken.sweep.spec import read_spec

__all__ = [
    "Counts",
    "Grid",
    "read_spec",
    "run",
    "to_frame",
    "to_xarray",
]
__dir__ = __all__.copy
