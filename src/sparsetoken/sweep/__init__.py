"""Sweeps: a grid of settings whose results are named arrays on disk (Zarr)."""

from sparsetoken.sweep.axes import Axis, linear, listed, logarithmic, tied
from sparsetoken.sweep.dataset import to_frame, to_xarray
from sparsetoken.sweep.grid import Drawing, Grid
from sparsetoken.sweep.runs import Counts, run
from sparsetoken.sweep.spec import read_spec
from sparsetoken.sweep.store import Store, StoreError

__all__ = [
    "Axis",
    "Counts",
    "Drawing",
    "Grid",
    "Store",
    "StoreError",
    "linear",
    "listed",
    "logarithmic",
    "read_spec",
    "run",
    "tied",
    "to_frame",
    "to_xarray",
]
__dir__ = __all__.copy
