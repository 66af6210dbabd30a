"""A sweep as an xarray Dataset, as a table, and as a file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.base.files import require_place, written_whole
from sparsetoken.base.machine import machine_memory, needed
from sparsetoken.base.validation import InvalidInput
from sparsetoken.sweep.grid import Grid
from sparsetoken.sweep.layout import name_of, results_of
from sparsetoken.sweep.metadata import coordinates
from sparsetoken.sweep.parameters import MISSING, uses
from sparsetoken.sweep.store import ZIP, Store, StoreError

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

ENDINGS = (".csv", ".parquet", ".nc", ZIP)
BYTES = 8 * 4  # of a number in memory, with the copies that tables make


def to_xarray(store: Store | Path | str) -> xr.Dataset:
    """Return a sweep as a Dataset with a dimension for each axis, and for simulations trial.

    Parameters
    ----------
    store : Store, path or str

    Returns
    -------
    xarray.Dataset
        theory_NAME and simulation_NAME for each NAME that was found, NaN where it is missing;
        theory_status and simulation_status, "missing" where nothing was computed; and
        theory_message and simulation_message, if there are any. Tied parameters share a
        dimension named after all of them; fixed ones are coordinates without one.

    Raises
    ------
    InvalidInput
        If there is no store, xarray is missing, or memory cannot hold the sweep.
    StoreError
        If results are damaged.

    See Also
    --------
    to_frame : Results as a table.
    run : Computes what is missing.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, linear, run, to_xarray
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run(grid, f"{folder}/sweep.zarr")
    ...     to_xarray(f"{folder}/sweep.zarr")["theory_cosine"].dims
    ('strength',)
    """
    store = store if isinstance(store, Store) else Store(store)
    found, damaged = read(store)
    if damaged:
        remedy = "Rerun the sweep to recompute them."
        raise StoreError(f"{damaged} results in {store.path} are damaged. {remedy}")
    return found


def to_frame(store: Store | Path | str) -> pd.DataFrame:
    """Return the results of a sweep as a table with a row for each prediction and trial.

    A result with the name of a parameter gets the ending _found, such as the cosine that one
    experiment finds and another is given.

    Parameters
    ----------
    store : Store, path or str

    Raises
    ------
    InvalidInput, StoreError
        As `to_xarray`.

    See Also
    --------
    to_xarray : Results as a Dataset.
    run : Computes what is missing.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, linear, run, to_frame
    >>> grid = Grid("alignment", [linear("strength", 1, 3, 3)], {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run(grid, f"{folder}/sweep.zarr")
    ...     len(to_frame(f"{folder}/sweep.zarr"))
    3
    """
    return table(to_xarray(store))


def read(store: Store, facts: bool = False) -> tuple[xr.Dataset, int]:
    """Return what is whole of a sweep, and how many results are damaged.

    The facts are the seconds of each piece of work and what it was computed with.
    """
    xr = needed("xarray", "to read sweeps", "data")
    grid, names = store.grid, results_of(store.grid)
    require_memory(grid)
    arrays, texts, damaged = {}, {}, 0
    for quantity in grid.quantities:
        shape = store.layout(quantity).shape
        arrays[quantity] = np.full(shape, np.nan)
        for name in ("status", "message", *(("seconds", "computed_with") if facts else ())):
            texts[f"{quantity}_{name}"] = np.full(shape[:-1], "", dtype=object)
        texts[f"{quantity}_status"][...] = MISSING
    for piece in store.pieces():
        damaged += piece.damaged
        region = store.layout(piece.quantity).region(piece.place)
        part = arrays[piece.quantity][region]
        part[...] = piece.entries.reshape(part.shape)
        statuses = np.array(piece.statuses, dtype=object).reshape(part.shape[:-1])
        texts[f"{piece.quantity}_status"][region[:-1]] = statuses
        if facts or set(piece.statuses) - {"converged", MISSING}:
            told = store.facts(piece.quantity, piece.place)
            messages = told.get("messages", {})
            own = np.array([messages.get(name_of(key), "") for key in piece.keys])
            texts[f"{piece.quantity}_message"][region[:-1]] = own.reshape(part.shape[:-1])
            for name in ("seconds", "computed_with") if facts else ():
                texts[f"{piece.quantity}_{name}"][region[:-1]] = (
                    json.dumps(told[name]) if name in told else ""
                )
    variables: dict[str, Any] = {}
    for quantity, array in arrays.items():
        dims = store.layout(quantity).dims[:-1]
        for name, values in zip(names[2:], np.moveaxis(array, -1, 0)[2:], strict=True):
            if not np.isnan(values).all():
                variables[f"{quantity}_{name}"] = (dims, values)
        for name, values in texts.items():
            if name.startswith(quantity) and (values != "").any():
                variables[name] = (dims, values)
    coords: dict[str, Any] = coordinates(grid)
    del coords["result"]
    fixed = {name: grid.values({})[name] for name in uses(grid.experiment) - set(coords)}
    coords |= {name: value for name, value in sorted(fixed.items()) if value is not None}
    attributes = {"experiment": grid.experiment, "seed": grid.seed, "specification": grid.text()}
    return xr.Dataset(variables, coords, attributes), damaged


def require_memory(grid: Grid) -> None:
    """Raise `InvalidInput` if half of the memory cannot hold the results of a grid."""
    need, most = sum(grid.rows.values()) * len(results_of(grid)) * BYTES, machine_memory() // 2
    if need > most:
        remedy = "Sweep fewer points, or open a part: xarray.open_zarr(path), then sel or isel."
        legal = f"at most {most / 2**30:.3g} GiB in memory"
        raise InvalidInput("results", legal, f"{need / 2**30:.3g} GiB", remedy)


def table(dataset: xr.Dataset) -> pd.DataFrame:
    """Return a Dataset of `to_xarray` as a table, predictions first."""
    pd = needed("pandas", "to make tables", "data")
    parts = []
    for quantity in ("theory", "simulation"):
        own = [name for name in dataset.data_vars if str(name).startswith(f"{quantity}_")]
        if not own:
            continue
        coords = set(dataset.coords)
        names = {n: str(n).removeprefix(f"{quantity}_") for n in own}
        names = {n: f"{new}_found" if new in coords else new for n, new in names.items()}
        frame = dataset[own].rename(names).to_dataframe().reset_index()
        tied = [dim for dim in dataset[own].dims if dim not in coords]
        parts.append(frame.drop(columns=tied).assign(quantity=quantity))
    found = pd.concat(parts, ignore_index=True)
    first = ["quantity", *(n for n in dataset.coords if n in found and dataset[n].ndim)]
    last = [n for n in dataset.coords if n in found and not dataset[n].ndim]
    middle = [n for n in found if n not in {*first, *last}]
    return found[[*first, *middle, *last]]


def check_export(path: Path, store: Path | str) -> None:
    """Raise `InvalidInput` unless a sweep can be exported to a path that is not its own."""
    if not path.name.lower().endswith(ENDINGS):
        raise InvalidInput("--export", f"a path that ends in {', '.join(ENDINGS)}", str(path))
    require_place("--export", path, Path(store))
    if path.suffix.lower() == ".parquet":
        needed("pyarrow", "to write Parquet files", "data")


def export(dataset: xr.Dataset, path: Path) -> None:
    """Write a Dataset of `to_xarray` to a .csv, .parquet or .nc file (netCDF 3).

    The same results give the same bytes.
    """
    with written_whole(path) as aside:
        if path.suffix.lower() == ".nc":
            whole = {
                n: dataset[n].astype(str) for n in dataset.data_vars if dataset[n].dtype == object
            }
            seed = str(dataset.attrs["seed"])  # integers of this format have 32 bits
            large = {
                name: coord.astype(float)
                for name, coord in dataset.coords.items()
                if coord.dtype.kind == "i" and (abs(coord) >= 2**31).any()
            }
            dataset = dataset.assign(whole).assign_coords(large).assign_attrs(seed=seed)
            dataset.to_netcdf(aside, engine="scipy", format="NETCDF3_64BIT")
        elif path.suffix.lower() == ".csv":
            table(dataset).to_csv(aside, index=False, lineterminator="\n")
        else:
            table(dataset).to_parquet(aside, index=False)
