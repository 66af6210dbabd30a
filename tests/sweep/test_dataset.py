"""Sweeps as Datasets, tables and files."""

import json
import math
import zipfile

import numpy as np
import pandas as pd
import pytest
import xarray as xr
import zarr

from sparsetoken import SparseTokenProblem, TwoSteps, simulation, theory
from sparsetoken.base.validation import InvalidInput
from sparsetoken.sweep import Grid, run, to_frame, to_xarray
from sparsetoken.sweep.dataset import check_export, export, read

GRID = Grid(
    "alignment",
    {"strength": np.linspace(1, 3, 3), "length+informative": [(4, 1), (10, 3)]},
    {"dimension": 12},
    quantities=("theory", "simulation"),
    trials=3,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "s.zarr"
    run(GRID, path)
    return path


def test_a_dataset_has_what_the_functions_give(path):
    found = to_xarray(path)
    assert found["theory_cosine"].dims == ("strength", "length+informative")
    assert found["simulation_cosine"].dims == ("strength", "length+informative", "trial")
    problem = SparseTokenProblem(10, 3, 2.0)
    here = found.sel(strength=2.0).isel({"length+informative": 1})
    assert here["theory_cosine"] == theory.align(problem, TwoSteps()).cosine
    trials = simulation.align(problem, TwoSteps(), dimension=12, trials=3, seed=0).trials
    assert here["simulation_cosine"].values.tolist() == trials.cosine.tolist()
    assert found["length"].values.tolist() == [4, 10]
    assert found["alpha0"] == TwoSteps().alpha0
    assert (found["theory_status"] == "converged").all()
    about = json.loads(found.attrs["specification"])
    assert (about["experiment"], about["trials"]) == ("alignment", 3)
    assert about["axes"]["length+informative"] == [[4, 1], [10, 3]]


def test_what_was_not_computed_is_missing(tmp_path):
    def stop(_):
        raise KeyboardInterrupt

    run(Grid("alignment", {"strength": [1.0]}), tmp_path / "s.zarr")
    with pytest.raises(KeyboardInterrupt):
        run(Grid("alignment", {"strength": [1.0, 2.0]}), tmp_path / "s.zarr", on_counts=stop)
    found = to_xarray(tmp_path / "s.zarr")
    assert found["theory_status"].values.tolist() == ["converged", "missing"]
    assert math.isnan(found["theory_cosine"].values[1])


@pytest.mark.parametrize("target", ["s/results.zarr", "e.zarr", "e.zarr.zip"])
def test_anyone_can_open_the_named_arrays(path, tmp_path, target):
    if target != "s/results.zarr":
        export(read(path)[0], tmp_path / target)
    place = path / "results.zarr" if target == "s/results.zarr" else tmp_path / target
    store = zarr.storage.ZipStore(place, mode="r") if target.endswith(".zip") else place
    found, expected = xr.open_zarr(store), to_xarray(path)
    assert {*found.data_vars} == {*expected.data_vars}
    assert {*found.coords} == {*expected.coords}
    np.testing.assert_array_equal(found["simulation_cosine"], expected["simulation_cosine"])
    assert found["theory_cosine"].dims == expected["theory_cosine"].dims
    assert found["length"].values.tolist() == [4, 10]
    assert (found["theory_status"] == "converged").all()
    assert found.attrs == expected.attrs


def test_a_table_has_a_row_for_each_prediction_and_trial(path):
    found = to_frame(path)
    assert len(found) == 6 + 18
    assert list(found)[:6] == ["quantity", "trial", "strength", "length", "informative", "cosine"]
    assert found["quantity"].tolist() == ["theory"] * 6 + ["simulation"] * 18
    assert found["dimension"].unique().tolist() == [12]
    assert found["rate"].notna().tolist() == [True] * 6 + [False] * 18


def test_a_result_with_the_name_of_a_parameter_has_an_ending(tmp_path):
    grid = Grid("learning", {"cosine": np.linspace(0.2, 0.9, 2)}, {"sharpness": 1.0, "length": 4})
    run(grid, tmp_path / "s.zarr")
    found = to_frame(tmp_path / "s.zarr")
    assert found["cosine"].tolist() == found["cosine_found"].tolist() == [0.2, 0.9]


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".nc", ".zarr.zip"])
def test_files_bring_the_numbers_back_and_have_the_same_bytes(path, tmp_path, ending):
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
    one, other = tmp_path / f"a{ending}", tmp_path / f"b{ending}"
    dataset, table = to_xarray(path), to_frame(path)
    export(read(path)[0], one)
    export(read(path)[0], other)
    assert one.read_bytes() == other.read_bytes()
    if ending == ".zarr.zip":
        assert zipfile.ZipFile(one).testzip() is None
    elif ending == ".nc":
        with xr.open_dataset(one) as found:
            np.testing.assert_array_equal(found["theory_cosine"], dataset["theory_cosine"])
            assert found["length"].values.tolist() == [4, 10]
            assert (found["simulation_status"] == "converged").all()
    else:
        found = pd.read_csv(one) if ending == ".csv" else pd.read_parquet(one)
        assert list(found) == list(table)
        # Some versions of pandas read the last digit of a CSV file wrong.
        assert found["cosine"].tolist() == pytest.approx(table["cosine"].tolist(), rel=1e-15)
        assert found["loss"].tolist() == table["loss"].tolist()


def test_exports_that_are_refused(path, tmp_path):
    (path.parent / "there.zarr").mkdir()
    for target, words in [
        (tmp_path / "a.txt", r"\.csv, \.parquet, \.nc, \.zarr, \.zarr\.zip"),
        (tmp_path / "no" / "a.csv", "writable folder"),
        (path.rename(tmp_path / "s.csv"), "a file other than the input"),
        (path.parent / "there.zarr", "a file; got .*a folder"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            check_export(target, tmp_path / "s.csv")
    (tmp_path / "s.csv").rename(path)


def test_a_sweep_that_memory_cannot_hold_is_refused(path, monkeypatch):
    monkeypatch.setattr("sparsetoken.sweep.dataset.machine_memory", lambda: 1000)
    with pytest.raises(InvalidInput, match=r"xarray\.open_zarr"):
        to_xarray(path)


@pytest.mark.parametrize("fixed", [True, False])
def test_integers_above_those_of_files_are_floats_there(tmp_path, fixed):
    length = 10**20
    values = {"fixed": {"length": length}} if fixed else {}
    axes = {"strength": [1.0, 2.0]} if fixed else {"length": [4, length]}
    run(Grid("alignment", axes, quantities=("theory",), **values), tmp_path / "s")
    assert float(xr.open_zarr(tmp_path / "s" / "results.zarr")["length"].max()) == 1e20
    for ending in ("nc", "csv"):
        export(read(tmp_path / "s")[0], tmp_path / f"t.{ending}")
