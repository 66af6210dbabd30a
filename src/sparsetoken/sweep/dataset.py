"""A sweep as arrays with named axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from sparsetoken.extras import needed
from sparsetoken.sweep.store import Store
from sparsetoken.sweep.summary import Summary, grid_of_sweep, summaries


def to_xarray(store: Store, sweep: int | None = None) -> Any:
    """Return a sweep as an xarray Dataset with one dimension for each axis.

    Parameters
    ----------
    store : Store
    sweep : int, optional
        Its number in the store; the newest by default.

    Returns
    -------
    xarray.Dataset
        theory_NAME and simulation_NAME (means over trials), simulation_NAME_error (standard
        errors), and theory_status, simulation_status. Tied parameters share a dimension
        named after all of them. Missing values are NaN.

    Raises
    ------
    InvalidInput
        If xarray is missing, or the store has no such sweep.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, GridPlan, Store, linear, run, to_xarray
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder, Store(folder + "/s.sqlite") as store:
    ...     _ = run(store, GridPlan(grid))
    ...     to_xarray(store)["theory_cosine"].dims
    ('strength',)
    """
    xr = needed("xarray", "to make a Dataset", "data")
    sweep, grid = grid_of_sweep(store, sweep)
    shape = tuple(len(axis) for axis in grid.axes)
    arrays: dict[str, np.ndarray] = {}
    places = {quantity: iter(np.ndindex(shape)) for quantity in grid.quantities}
    for summary in summaries(store, sweep):
        _put(arrays, shape, next(places[summary.quantity]), summary)
    dims = [axis.label for axis in grid.axes]
    coordinates: dict[str, Any] = {}
    for axis in grid.axes:
        for name, values in zip(axis.names, zip(*axis.steps, strict=True), strict=True):
            coordinates[name] = (axis.label, list(values))
    return xr.Dataset(
        {name: (dims, array) for name, array in arrays.items()}, coordinates, dict(grid.fixed)
    )


def _put(
    arrays: dict[str, np.ndarray], shape: tuple[int, ...], place: tuple, summary: Summary
) -> None:
    def put(name: str, value: Any, empty: Any, kind: Any = float) -> None:
        if name not in arrays:
            arrays[name] = np.full(shape, empty, dtype=kind)
        arrays[name][place] = value

    put(f"{summary.quantity}_status", summary.status, "missing", object)
    for name, value in summary.values.items():
        put(f"{summary.quantity}_{name}", value, np.nan)
        if summary.quantity == "simulation":
            put(f"simulation_{name}_error", summary.errors[name], np.nan)
