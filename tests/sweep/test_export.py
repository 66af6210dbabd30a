"""Exports and summaries: what a store has, in other forms; damaged stores."""

import csv
import math
import statistics

import numpy as np
import pytest

from sparsetoken.sweep import (
    Grid,
    GridPlan,
    Store,
    StoreError,
    export_table,
    linear,
    listed,
    run,
    summaries,
    tied,
    to_pandas,
    to_xarray,
)
from sparsetoken.sweep.integrity import find_damage
from sparsetoken.sweep.records import Answer, Result
from sparsetoken.sweep.summary import grid_of_sweep
from sparsetoken.validation import InvalidInput

GRID = Grid(
    "alignment",
    [linear("strength", 1, 12, 12), tied(length=[4, 10], informative=[1, 3])],
    {"dimension": 12},
    quantities=("theory", "simulation"),
    trials=3,
)


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    path = tmp_path_factory.mktemp("store") / "s.sqlite"
    with Store(path) as store:
        run(store, GridPlan(GRID))
    return path


def written(path, values):
    """Write a store whose rows have these results, in turn."""
    with Store(path) as store:
        store.begin("1")
        sweep = store.add_sweep("t", [{"n": n} for n in range(len(values))])
        for row, value in zip(values, values, strict=True):
            (lease,) = store.lease(sweep, 0, 1)
            failed = isinstance(row, str)
            found = {} if failed else value
            status = "failed" if failed else "converged"
            store.finish([Answer(lease.id, Result(found, status, "x" * failed))])
    return path


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_rows_are_sorted_by_configuration_with_results_first(path, tmp_path):
    with Store(path, write=False) as store:
        assert export_table(store, tmp_path / "t.csv") == (0, 0)
    rows = table(tmp_path / "t.csv")
    names = list(rows[0])
    assert names[:2] == ["cosine", "overlap"]
    assert names.index("status") < names.index("experiment") < names.index("strength")
    assert not {"seconds", "computed_with", "host"} & set(names)
    order = [
        (r["quantity"], int(r["length"]), float(r["strength"]), int(r["trial"] or 0)) for r in rows
    ]
    assert order == sorted(order)  # numbers as numbers: 10 after 2
    assert len(rows) == 24 * 4


def test_numbers_are_exact_and_missing_ones_empty(path, tmp_path):
    with Store(path, write=False) as store:
        export_table(store, tmp_path / "t.csv")
        known = {}
        for row in store.rows():
            c = row.configuration
            known[c["quantity"], c["length"], c["strength"], c.get("trial")] = row
    for line in table(tmp_path / "t.csv"):
        trial = int(line["trial"]) if line["trial"] else None
        row = known[line["quantity"], int(line["length"]), float(line["strength"]), trial]
        assert float(line["cosine"]) == row.values["cosine"]
        assert (line["rate"] == "") == (line["quantity"] == "simulation")
        assert line["trial_seed"] == ("" if row.seed is None else f"{row.seed:032x}")


def test_facts_are_added_on_request(path, tmp_path):
    with Store(path, write=False) as store:
        export_table(store, tmp_path / "t.csv", facts=True)
    line = table(tmp_path / "t.csv")[0]
    assert float(line["seconds"]) > 0
    assert "numpy" in line["computed_with"]


def test_texts_that_need_quotes_and_values_of_all_kinds(tmp_path):
    values = [{"v": 1}, {"v": 2.5}, {"v": math.nan}, {"v": 'a,"b"\n'}, {"w": [1, 2]}, "failed"]
    with Store(written(tmp_path / "s.sqlite", values), write=False) as store:
        export_table(store, tmp_path / "t.csv")
        pytest.importorskip("pyarrow")
        export_table(store, tmp_path / "t.parquet")
    rows = table(tmp_path / "t.csv")
    assert [row["v"] for row in rows] == ["1.0", "2.5", "nan", 'a,"b"\n', "", ""]
    assert [row["w"] for row in rows] == ["", "", "", "", "[1, 2]", ""]
    assert rows[-1]["status"] == "failed"
    assert rows[-1]["message"] == "x"


def test_whole_numbers_stay_whole(tmp_path):
    values = [{"v": 1}, {"v": 0}, {"w": 1.5}]
    with Store(written(tmp_path / "s.sqlite", values), write=False) as store:
        export_table(store, tmp_path / "t.csv")
    assert [row["v"] for row in table(tmp_path / "t.csv")] == ["1", "0", ""]


def test_a_store_without_results_has_a_table_without_rows(tmp_path):
    with Store(written(tmp_path / "s.sqlite", []), write=False) as store:
        export_table(store, tmp_path / "t.csv")
    assert table(tmp_path / "t.csv") == []


def test_parquet_and_pandas_hold_the_same(path, tmp_path):
    pd = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    with Store(path, write=False) as store:
        export_table(store, tmp_path / "t.parquet")
        export_table(store, tmp_path / "t.csv")
        frame = to_pandas(store)
    stored = pd.read_parquet(tmp_path / "t.parquet")
    # The number parser of some versions of pandas is wrong in the last digit.
    text = pd.read_csv(tmp_path / "t.csv", dtype=str)
    assert list(stored.columns) == list(frame.columns) == list(text.columns)
    for name in ("cosine", "rate", "strength"):
        np.testing.assert_array_equal(stored[name], frame[name])
        np.testing.assert_array_equal(text[name].map(float), frame[name])
    assert stored["length"].dtype == np.int64
    assert list(stored["quantity"]) == list(frame["quantity"])


@pytest.mark.parametrize("name", ["t.txt", "t", "no/t.csv"])
def test_places_that_cannot_be_written(path, tmp_path, name):
    with Store(path, write=False) as store, pytest.raises(InvalidInput, match="--export"):
        export_table(store, tmp_path / name)


def test_a_failed_export_leaves_the_old_file(path, tmp_path, monkeypatch):
    old = tmp_path / "t.csv"
    old.write_text("old")

    def full(*_):
        raise OSError("No space left on device")

    monkeypatch.setattr("sparsetoken.sweep.export._alike", full)
    with Store(path, write=False) as store, pytest.raises(OSError, match="No space"):
        export_table(store, old)
    assert old.read_text() == "old"


def test_summaries_are_means_and_standard_errors_over_trials(path):
    with Store(path, write=False) as store:
        found = list(summaries(store))
        rows = list(store.rows())
    assert len(found) == 48
    point = {"strength": 3.0, "length": 10, "informative": 3}
    (one,) = (s for s in found if s.point == point and s.quantity == "simulation")
    cosines = [
        row.values["cosine"]
        for row in rows
        if row.configuration["quantity"] == "simulation"
        and all(row.configuration[name] == value for name, value in point.items())
    ]
    assert len(cosines) == one.trials == 3
    assert one.values["cosine"] == pytest.approx(statistics.fmean(cosines), rel=1e-14)
    expected = statistics.stdev(cosines) / math.sqrt(3)
    assert one.errors["cosine"] == pytest.approx(expected, rel=1e-14)


def test_what_is_not_there_is_missing_and_what_failed_is_not_converged(tmp_path):
    grid = Grid("alignment", [listed("strength", [1.0, 2.0, 3.0])], quantities=("theory",))
    with Store(tmp_path / "s.sqlite") as store:
        store.begin("1")
        sweep = store.add_sweep(grid.text(), grid.rows())
        first, second = store.lease(sweep, 0, 2)
        store.finish([Answer(first.id, Result({"cosine": 0.5}, "no_limit"))])
        store.finish([Answer(second.id, Result({}, "failed", "why"))])
        found = list(summaries(store))
    assert [one.status for one in found] == ["no_limit", "failed", "missing"]
    assert [one.trials for one in found] == [1, 0, 0]


def test_a_sweep_that_is_not_there(path, tmp_path):
    with Store(path, write=False) as store, pytest.raises(InvalidInput, match="one of 1"):
        grid_of_sweep(store, 7)
    with (
        Store(written(tmp_path / "s.sqlite", []), write=False) as store,
        pytest.raises(InvalidInput, match="with a sweep"),
    ):
        grid_of_sweep(store)


def test_xarray_has_a_dimension_for_each_axis(path):
    pytest.importorskip("xarray", reason="xarray is not installed")
    with Store(path, write=False) as store:
        found = to_xarray(store)
        known = list(summaries(store))
    assert dict(found.sizes) == {"strength": 12, "length+informative": 2}
    assert found["informative"].values.tolist() == [1, 3]
    for one in known:
        place = {"strength": one.point["strength"]}
        cell = found.sel(place).isel({"length+informative": int(one.point["length"] == 10)})
        assert float(cell[f"{one.quantity}_cosine"]) == one.values["cosine"]
        if one.quantity == "simulation":
            assert float(cell["simulation_cosine_error"]) == one.errors["cosine"]
    assert set(found["theory_status"].values.ravel()) == {"converged"}


def copy_of(path, tmp_path):
    copy = tmp_path / "copy.sqlite"
    copy.write_bytes(path.read_bytes())
    return copy


def spoil(path, first, size, content=b"\xa5"):
    data = bytearray(path.read_bytes())
    data[first : first + size] = content * size
    path.write_bytes(data)


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A store of many pages."""
    values = [{"value": f"{n:04}" + "x" * 400} for n in range(300)]
    path = tmp_path_factory.mktemp("large") / "s.sqlite"
    with Store(path) as store:
        store.begin("1")
        sweep = store.add_sweep("t", [{"n": n} for n in range(300)])
        leases = store.lease(sweep, 0, 300)
        store.finish(Answer(c.id, Result(v)) for c, v in zip(leases, values, strict=True))
    return path


def test_a_whole_store_is_whole(large):
    with Store(large, write=False) as store:
        assert find_damage(store) == ""


def test_a_changed_result_is_found_by_its_check_sum(large, tmp_path):
    copy = copy_of(large, tmp_path)
    place = copy.read_bytes().index(b"0123xxxx")
    spoil(copy, place, 1, b"9")
    with Store(copy, write=False) as store:
        assert find_damage(store) == ""  # the structure is, as far as SQLite can see
        with pytest.raises(StoreError, match=r"Row 124 of .* is damaged"):
            list(store.rows())
        assert export_table(store, tmp_path / "t.csv") == (1, 0)
    assert [int(row["n"]) for row in table(tmp_path / "t.csv")] == [
        n for n in range(300) if n != 123
    ]


def test_what_can_be_read_of_a_damaged_file_is_exported(large, tmp_path):
    copy = copy_of(large, tmp_path)
    place = copy.read_bytes().index(b"0150xxxx")
    spoil(copy, place // 4096 * 4096, 4096)  # a whole page
    with Store(copy, write=False) as store:
        assert find_damage(store)
        lost, unknown = export_table(store, tmp_path / "t.csv")
    assert unknown == 0
    rows = table(tmp_path / "t.csv")
    assert 0 < lost < 20  # a page holds nine rows of 450 bytes
    assert len(rows) == 300 - lost
    for row in rows:
        assert row["value"][:4] == f"{int(row['n']):04}"


def test_a_file_cut_short_is_found(large, tmp_path):
    copy = copy_of(large, tmp_path)
    copy.write_bytes(copy.read_bytes()[: large.stat().st_size // 2])
    with pytest.raises(StoreError, match="damaged"):
        Store(copy)


def test_a_file_that_is_no_store(tmp_path):
    path = tmp_path / "s.sqlite"
    path.write_bytes(b"strength,length\n" * 100)
    with pytest.raises(StoreError, match="damaged, or not a store"):
        Store(path)
    assert path.read_bytes() == b"strength,length\n" * 100
