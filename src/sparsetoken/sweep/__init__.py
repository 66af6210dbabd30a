"""Sweeps: a grid of configurations, a store that survives anything, any executor."""

from sparsetoken.sweep.axes import Axis, linear, listed, logarithmic, tied
from sparsetoken.sweep.dataset import to_xarray
from sparsetoken.sweep.drawing import Drawing
from sparsetoken.sweep.export import export_table, to_pandas
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.plan import GridPlan, JobPlan
from sparsetoken.sweep.processes import WorkerPool
from sparsetoken.sweep.records import Counts, RunStopped
from sparsetoken.sweep.runner import InProcess, run
from sparsetoken.sweep.schema import StoreError
from sparsetoken.sweep.spec import read_spec
from sparsetoken.sweep.store import Store
from sparsetoken.sweep.summary import Summary, summaries

__all__ = [
    "Axis",
    "Counts",
    "Drawing",
    "Grid",
    "GridPlan",
    "InProcess",
    "JobPlan",
    "WorkerPool",
    "RunStopped",
    "Store",
    "StoreError",
    "Summary",
    "export_table",
    "linear",
    "listed",
    "logarithmic",
    "read_spec",
    "run",
    "summaries",
    "tied",
    "to_pandas",
    "to_xarray",
]
