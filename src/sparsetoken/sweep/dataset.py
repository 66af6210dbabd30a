"""A sweep as an xarray Dataset, as a table, and as a file."""

from __future__ import annotations

import collections
import json
import math
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from sparsetoken.base.files import require_place, written_whole
from sparsetoken.base.machine import machine_memory, needed
from sparsetoken.base.untrusted import refused
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.sweep.compute import row_of
from sparsetoken.sweep.parameters import FAILED, MISSING, RESULTS
from sparsetoken.sweep.store import PIECES, opened, specification, write_folder
from sparsetoken.work import Kept, Result, canonical_text

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

ENDINGS = (".csv", ".parquet", ".nc", ".zarr", ".zarr.zip")
BYTES = 100  # of a number in memory, as an object and in the copies that tables make
_MISSING = Result(seconds=math.nan)


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


def read(store: Path | str, facts: bool = False) -> tuple[xr.Dataset, int]:
    """Return what a store has of its last sweep, and the number of its damaged files.

    The facts are the seconds of the piece of work of each result and what it was computed with.
    """
    folder = opened(store)
    about = specification(folder)
    with refused("store", "a sweep that can be read", Path(folder.path)):
        return read_kept(Kept(folder / PIECES, row_of), about, facts)


def read_kept(kept: Kept, about: Mapping[str, Any], facts: bool = False) -> tuple[xr.Dataset, int]:
    """Return what is kept of the sweep of a specification, as `read`."""
    xr = needed("xarray", "to read sweeps", "data")
    shapes = {label: len(steps) for label, steps in about["axes"].items()}
    trials = {
        quantity: about["trials"] if quantity == "simulation" else 1 for quantity in about["keys"]
    }
    require_memory(math.prod(shapes.values()) * sum(trials.values()), about["experiment"])
    names = {
        quantity: [f"{key}.{trial}" for key in keys for trial in range(trials[quantity])]
        for quantity, keys in about["keys"].items()
    }
    known = kept.read({name for some in names.values() for name in some})
    variables: dict[str, Any] = {}
    for quantity, some in names.items():
        own = {**shapes, **({"trial": trials[quantity]} if quantity == "simulation" else {})}
        results = [known.results.get(name, _MISSING) for name in some]
        for name, column in _columns(results, about["experiment"], facts).items():
            variables[f"{quantity}_{name}"] = (tuple(own), column.reshape(tuple(own.values())))
    coords: dict[str, Any] = {}
    if "simulation" in trials:
        coords["trial"] = np.arange(about["trials"])
    for label, steps in about["axes"].items():
        for name, values in zip(label.split("+"), zip(*steps, strict=True), strict=True):
            words = any(isinstance(value, str) for value in values)
            numbers = [np.nan if value is None else value for value in values]
            coords[name] = (label, np.array(values, dtype=object) if words else _numbers(numbers))
    fixed = sorted(about["fixed"].items())
    coords |= {n: one if isinstance(one, str) else _numbers(one) for n, one in fixed}
    text = canonical_text({name: one for name, one in about.items() if name != "keys"})
    attributes = {name: about[name] for name in ("experiment", "seed")} | {"specification": text}
    return xr.Dataset(variables, coords, attributes), known.damaged


def _numbers(given: Any) -> np.ndarray:
    """Return numbers as an array; integers that no file can hold as floats."""
    array = np.array(given)
    return array.astype(float) if array.dtype == object else array


def _columns(results: list[Result], experiment: str, facts: bool) -> dict[str, np.ndarray]:
    """Return the results as arrays by name; those without numbers, and no message, are left out."""
    rows = [
        one.value or {"status": FAILED if one.error else MISSING, "message": one.error}
        for one in results
    ]
    columns = {
        name: np.array([row.get(name, math.nan) for row in rows]) for name in RESULTS[experiment]
    }
    columns = {name: values for name, values in columns.items() if not np.isnan(values).all()}

    def texts(words: list[str]) -> np.ndarray:
        return np.array(words, dtype=object)

    columns["status"] = texts([row["status"] for row in rows])
    messages = texts([row["message"] for row in rows])
    if (messages != "").any():
        columns["message"] = messages
    if facts:
        columns["seconds"] = np.array([one.seconds for one in results])
        columns["computed_with"] = texts([json.dumps(dict(one.environment)) for one in results])
    return columns


def statuses_of(dataset: xr.Dataset) -> collections.Counter[str]:
    """Return the number of results with each status."""
    statuses: collections.Counter[str] = collections.Counter()
    for name in dataset.data_vars:
        if str(name).endswith("_status"):
            statuses.update(dataset[name].to_numpy().ravel().tolist())
    return statuses


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
    joined = pd.concat(parts, ignore_index=True)
    first = ["quantity", *(n for n in dataset.coords if n in joined and dataset[n].ndim)]
    last = [n for n in dataset.coords if n in joined and not dataset[n].ndim]
    middle = [n for n in joined if n not in {*first, *last}]
    return joined[[*first, *middle, *last]]


def check_export(path: Path, store: Path | str) -> None:
    """Raise `InvalidInput` unless a sweep can be exported to a path that is not its own."""
    if not path.name.lower().endswith(ENDINGS):
        raise InvalidInput("--export", f"a path that ends in {', '.join(ENDINGS)}", str(path))
    require_place("--export", path, Path(store))
    if path.suffix.lower() == ".zarr" and path.exists():
        raise InvalidInput("--export", "a folder that is not there yet", str(path), "Remove it.")
    if path.suffix.lower() == ".parquet":
        needed("pyarrow", "to write Parquet files", "data")


def export(dataset: xr.Dataset, path: Path) -> None:
    """Write a Dataset of `to_xarray` to a file or, as .zarr, to a folder.

    The same results give the same bytes; netCDF is of version 3.
    """
    ending = path.suffix.lower()
    if ending == ".zarr":
        write_folder(path, zarr_files(dataset))
        return
    with written_whole(path) as aside:
        if ending == ".zip":
            with zipfile.ZipFile(aside, "w") as file:
                for name, content in sorted(zarr_files(dataset).items()):
                    file.writestr(zipfile.ZipInfo(name), content)
        elif ending == ".nc":
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
        elif ending == ".csv":
            table(dataset).to_csv(aside, index=False, lineterminator="\n")
        else:
            table(dataset).to_parquet(aside, index=False)


def zarr_files(dataset: xr.Dataset) -> dict[str, bytes]:
    """Return a Dataset as the files of a Zarr group (version 3), by name."""
    zarr = needed("zarr", "to keep named arrays", "data")
    memory: dict[str, Any] = {}
    # Every chunk is a file, so that none of an older group can take its place.
    with zarr.config.set({"array.write_empty_chunks": True}), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # texts and consolidated metadata are not standard yet
        dataset.to_zarr(zarr.storage.MemoryStore(memory), mode="w", zarr_format=3)
    return {name: content.to_bytes() for name, content in memory.items()}
