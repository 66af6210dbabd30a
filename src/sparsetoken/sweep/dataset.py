"""A sweep as named arrays, as an xarray Dataset, as a table, and as a file."""

from __future__ import annotations

import itertools
import math
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.base.files import folder_written_whole, refused, require_place, written_whole
from sparsetoken.base.machine import machine_memory, needed
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.sweep.compute import checked_result
from sparsetoken.sweep.parameters import FAILED, MISSING, RESULTS
from sparsetoken.sweep.store import PIECES, opened, specification
from sparsetoken.work import Kept, Result, canonical_text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

ENDINGS = (".csv", ".parquet", ".nc", ".zarr", ".zarr.zip")
BYTES = 100  # of a number in memory, as an object and in the copies that tables make
_MISSING = Result()


def to_xarray(store: Path | str) -> xr.Dataset:
    """Return the last sweep in a store as a Dataset with a dimension for each axis.

    Parameters
    ----------
    store : path or str

    Returns
    -------
    xarray.Dataset
        theory_NAME and simulation_NAME for each NAME that was found, NaN where it is missing;
        theory_status and simulation_status, "missing" where nothing was computed; and
        theory_message and simulation_message, if there are any. Simulations have the dimension
        trial. Tied parameters share a dimension named after all of them; fixed ones are
        coordinates without one.

    Raises
    ------
    InvalidInput
        If there is no sweep, xarray is missing, or memory cannot hold the sweep.
    Failure
        If files are damaged, or cannot be read.

    See Also
    --------
    to_frame : Results as a table.
    run : Computes what is missing.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, run, to_xarray
    >>> grid = Grid("alignment", {"strength": [1, 2, 3]}, {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run(grid, f"{folder}/sweep")
    ...     to_xarray(f"{folder}/sweep")["theory_cosine"].dims
    ('strength',)
    """
    dataset, damaged = read(store)
    if damaged:
        remedy = "Rerun the sweep to recompute what they held."
        raise Failure(f"{damaged} files in {store} are damaged. {remedy}")
    return dataset


def to_frame(store: Path | str) -> pd.DataFrame:
    """Return the results of a sweep as a table with a row for each prediction and trial.

    A result with the name of a parameter gets the ending _found, such as the cosine that one
    experiment finds and another is given.

    Parameters
    ----------
    store : path or str

    Raises
    ------
    InvalidInput, Failure
        As `to_xarray`.

    See Also
    --------
    to_xarray : Results as a Dataset.
    run : Computes what is missing.

    Examples
    --------
    >>> import tempfile
    >>> from sparsetoken.sweep import Grid, run, to_frame
    >>> grid = Grid("alignment", {"strength": [1, 2, 3]}, {"length": 4})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = run(grid, f"{folder}/sweep")
    ...     len(to_frame(f"{folder}/sweep"))
    3
    """
    return table(to_xarray(store))


def read(store: Path | str) -> tuple[xr.Dataset, int]:
    """Return what a store has of its last sweep, and the number of its damaged files."""
    folder = opened(store)
    about = specification(folder)
    with refused("store", "a sweep that can be read", Path(folder.path)):
        return read_kept(Kept(folder / PIECES, checked_result), about)


def read_kept(kept: Kept, about: Mapping[str, Any]) -> tuple[xr.Dataset, int]:
    """Return what is kept of the sweep of a specification, as `read`."""
    xr = needed("xarray", "to read sweeps", "data")
    axes, trials = about["axes"], about["trials"]
    shape = {label: len(steps) for label, steps in axes.items()}
    shapes = {q: shape | {"trial": trials} if q == "simulation" else shape for q in about["keys"]}
    require_memory(sum(math.prod(s.values()) for s in shapes.values()), about["experiment"])
    names = {
        quantity: [f"{key}.{n}" for key in keys for n in range(shapes[quantity].get("trial", 1))]
        for quantity, keys in about["keys"].items()
    }
    known = kept.read({name for some in names.values() for name in some})
    variables: dict[str, Any] = {}
    for quantity, own in shapes.items():
        results = [known.results.get(name, _MISSING) for name in names[quantity]]
        for name, column in _columns(results, about["experiment"]).items():
            variables[f"{quantity}_{name}"] = tuple(own), column.reshape(tuple(own.values()))
    coords: dict[str, Any] = {}
    if "simulation" in shapes:
        coords["trial"] = ("trial",), np.arange(trials)
    for label, steps in axes.items():
        for name, values in zip(label.split("+"), zip(*steps, strict=True), strict=True):
            coords[name] = (label,), _array(values)
    coords |= {name: ((), _array(one)) for name, one in sorted(about["fixed"].items())}
    text = canonical_text({name: one for name, one in about.items() if name != "keys"})
    attributes = {name: about[name] for name in ("experiment", "seed")} | {"specification": text}
    return xr.Dataset(variables, coords, attributes), known.damaged


def statuses(dataset: xr.Dataset) -> list[str]:
    """Return the status of each result."""
    own = (one.values.ravel() for name, one in dataset.items() if str(name).endswith("_status"))
    return [*itertools.chain(*own)]


def _array(given: Any) -> np.ndarray:
    """Return words as objects, and integers that no file can hold as floats."""
    array = np.array(given)
    return array.astype({"U": object, "O": float}.get(array.dtype.kind, array.dtype))


def _columns(results: list[Result], experiment: str) -> dict[str, np.ndarray]:
    """Return the results as arrays by name; those without numbers, and no message, are left out."""
    rows = [
        one.value or {"status": FAILED if one.error else MISSING, "message": one.error}
        for one in results
    ]
    columns = {n: np.array([row.get(n, math.nan) for row in rows]) for n in RESULTS[experiment]}
    columns = {name: values for name, values in columns.items() if not np.isnan(values).all()}
    columns["status"] = np.array([row["status"] for row in rows], dtype=object)
    if any(row["message"] for row in rows):
        columns["message"] = np.array([row["message"] for row in rows], dtype=object)
    return columns


def require_memory(count: int, experiment: str) -> None:
    """Raise `InvalidInput` if half of the memory cannot hold so many results."""
    need, most = count * len(RESULTS[experiment]) * BYTES, machine_memory() // 2
    if need > most:
        remedy = "Sweep fewer points, or open a part: xarray.open_zarr(path), then sel or isel."
        legal = f"at most {most / 2**30:.3g} GiB in memory"
        raise InvalidInput("results", legal, f"{need / 2**30:.3g} GiB", remedy)


def table(dataset: xr.Dataset) -> pd.DataFrame:
    """Return a Dataset of `to_xarray` as a table, predictions first."""
    pd = needed("pandas", "to make tables", "data")
    parts, coords = [], {*dataset.coords}
    for quantity in ("theory", "simulation"):
        own = [name for name in dataset.data_vars if str(name).startswith(f"{quantity}_")]
        if not own:
            continue
        names = {n: str(n).removeprefix(f"{quantity}_") for n in own}
        names = {n: f"{new}_found" if new in coords else new for n, new in names.items()}
        frame = dataset[own].rename(names).to_dataframe().reset_index()
        tied = [dim for dim in dataset[own].dims if dim not in coords]
        parts.append(frame.drop(columns=tied).assign(quantity=quantity))
    joined = pd.concat(parts, ignore_index=True)
    first = ["quantity", *(n for n in dataset.coords if n in joined and dataset[n].ndim)]
    last = [n for n in dataset.coords if n in joined and not dataset[n].ndim]
    return joined[[*first, *(n for n in joined if n not in {*first, *last}), *last]]


def check_export(path: Path, store: Path | str) -> None:
    """Raise `InvalidInput` unless a sweep can be exported to a path that is not its own."""
    if not path.name.lower().endswith(ENDINGS):
        raise InvalidInput("--export", f"a path that ends in {', '.join(ENDINGS)}", str(path))
    require_place("--export", path, Path(store))
    if path.suffix.lower() == ".parquet":
        needed("pyarrow", "to write Parquet files", "data")


def export(dataset: xr.Dataset, path: Path) -> None:
    """Write a Dataset to a file or, as .zarr, to a folder.

    The same results give the same bytes; netCDF is of version 3.
    """
    ending = path.suffix.lower()
    if ending == ".zarr":
        folder_written_whole(path, zarr_files(dataset))
        return
    with written_whole(path) as aside:
        if ending == ".zip":
            with zipfile.ZipFile(aside, "w") as file:
                for name, content in sorted(zarr_files(dataset).items()):
                    file.writestr(zipfile.ZipInfo(name), content)
        elif ending == ".csv":
            table(dataset).to_csv(aside, index=False, lineterminator="\n")
        elif ending == ".parquet":
            table(dataset).to_parquet(aside, index=False)
        else:  # of netCDF 3, whose integers have 32 bits
            texts = {n: one.astype(str) for n, one in dataset.items() if one.dtype == object}
            large = {
                name: one.astype(float)
                for name, one in dataset.coords.items()
                if one.dtype.kind in "iu" and (abs(one) >= 2**31).any()
            }
            dataset = dataset.assign(texts).assign_coords(large)
            dataset = dataset.assign_attrs(seed=str(dataset.attrs["seed"]))
            dataset.to_netcdf(aside, engine="scipy", format="NETCDF3_64BIT")


def zarr_files(dataset: xr.Dataset) -> dict[str, bytes]:
    """Return a Dataset as the files of a Zarr group (version 3), by name."""
    zarr = needed("zarr", "to keep named arrays", "data")
    memory: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts and consolidated metadata are not standard yet
        # Every chunk is a file, so that none of an older group can take its place.
        dataset.to_zarr(
            zarr.storage.MemoryStore(memory),
            mode="w",
            write_empty_chunks=True,
            zarr_format=3,
            consolidated=True,
        )
    return {name: content.to_bytes() for name, content in memory.items()}
