"""The store of a sweep: what it shares, what is refused, and what is found again after damage."""

import dataclasses
import json
import os
import random
import shutil

import pytest
import xarray as xr

from broken_files import writers_of
from sparsetoken.base.validation import Failure, InvalidInput
from sparsetoken.sweep import Grid, compute, run, to_frame, to_xarray
from sparsetoken.sweep.runs import count
from sparsetoken.work import canonical_text, digest

GRID = Grid(
    "alignment",
    {"strength": [1, 2, 3, 4], "length+informative": [(4, 1), (10, 3)]},
    {"dimension": 12},
    quantities=("theory", "simulation"),
    trials=3,
)
TOTAL = GRID.size * 4


@pytest.fixture(autouse=True)
def _small_pieces(monkeypatch):
    monkeypatch.setitem(compute.MOST_PREDICTIONS, "alignment", 3)
    monkeypatch.setattr(compute, "MOST_TRIALS", 5)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "s"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(compute, "MOST_TRIALS", 5)
        assert run(GRID, path).done == TOTAL
    return path


@pytest.fixture
def path(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "s")


@pytest.fixture
def seen(monkeypatch):
    """The results that are computed."""
    items, tried = [], compute._tried
    monkeypatch.setattr(compute, "_tried", lambda *given: items.extend(given[0]) or tried(*given))
    return items


def pieces(path):
    return sorted((path / "pieces").iterdir())


def changed(**changes):
    return dataclasses.replace(GRID, **changes)


def test_a_second_run_computes_and_changes_nothing(path, seen):
    before = {p: p.read_bytes() for p in pieces(path)}
    assert run(GRID, path).done == TOTAL
    assert seen == []
    assert {p: p.read_bytes() for p in pieces(path)} == before


@pytest.mark.parametrize(
    ("changes", "new"),
    [
        ({"trials": 5}, 16),
        ({"trials": 1}, 0),
        ({"axes": {**GRID.axes, "strength": [0.5, 1, 2, 3, 4]}}, 8),
        ({"axes": {**GRID.axes, "strength": [4, 3, 7]}}, 8),
        ({"axes": {"length+informative": [(10, 3)], "strength": [2.0]}}, 0),
        ({"axes": {"strength": [1, 2]}, "fixed": {"dimension": 12, "length": 4}}, 0),
        ({"axes": {**GRID.axes, "alpha0": [2.0, 4.0]}}, 32),
        ({"fixed": {"dimension": 13}}, 24),  # the theory has no dimension
        ({"seed": 1}, 24),
        ({"quantities": ("theory",)}, 0),
        ({"plot": {"x": "strength"}}, 0),
    ],
)
def test_a_grid_may_change_in_any_way_and_reuses_what_it_shares(path, seen, changes, new):
    old = to_frame(path)
    grid = changed(**changes)
    assert run(grid, path).done == sum(grid.rows.values())
    assert len(seen) == new
    found = to_frame(path)
    assert len(found) == sum(grid.rows.values())
    keys = ["quantity", "strength", "length", "informative", "alpha0"]
    keys += [name for name in ("trial",) if name in found]
    both = old.merge(found, on=keys, suffixes=("", "_new"))
    if grid.seed == 0 and grid.fixed["dimension"] == 12:
        assert len(both) >= len(found) - new
        assert both["cosine"].tolist() == both["cosine_new"].tolist()
    assert xr.open_zarr(path / "results.zarr").sizes == to_xarray(path).sizes
    assert run(GRID, path).done == TOTAL
    assert to_frame(path).equals(old)


def test_what_is_no_store_is_refused_and_stays(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="folder of other files"):
        run(GRID, folder)
    with pytest.raises(InvalidInput, match="has none"):
        to_xarray(folder)
    assert [p.name for p in folder.iterdir()] == ["thesis.txt"]
    with pytest.raises(InvalidInput, match="a folder, or a URL"):
        run(GRID, folder / "thesis.txt")
    assert (folder / "thesis.txt").read_text() == "mine"


def test_what_an_interrupted_start_leaves_is_a_store(path, tmp_path):
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".sweep.0123.json").write_bytes(b"{")
    assert run(GRID, tmp_path / "new").done == TOTAL
    (path / "sweep.json").unlink()
    with pytest.raises(InvalidInput, match="has none"):
        to_xarray(path)
    assert run(GRID, path).done == TOTAL
    assert to_xarray(path).identical(to_xarray(tmp_path / "new"))


def flip(file, rng):
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)


@pytest.mark.parametrize(("how", "damaged"), [("flipped", 1), ("swapped", 2), ("removed", 0)])
def test_what_is_damaged_is_never_read_and_computed_again(path, whole, how, damaged, seen):
    one, other = pieces(path)[:2]
    if how == "flipped":
        flip(one, random.Random(0))
    elif how == "swapped":
        content = one.read_bytes()
        one.write_bytes(other.read_bytes())
        other.write_bytes(content)
    else:
        one.unlink()
    left = count(GRID, path).left
    assert 0 < left < TOTAL
    if damaged:
        with pytest.raises(Failure, match=f"{damaged} files in .* are damaged"):
            to_xarray(path)
    said = []
    assert run(GRID, path, on_counts=said.append).done == TOTAL
    assert {counts.damaged for counts in said} == {damaged}
    assert len(seen) == left
    assert to_xarray(path).identical(to_xarray(whole))


def test_a_flipped_bit_of_the_specification_is_noticed(path, whole):
    file, rng = path / "sweep.json", random.Random(0)
    content = file.read_bytes()
    expected = to_xarray(whole)
    for _ in range(40):
        file.write_bytes(content)
        flip(file, rng)
        with pytest.raises(Failure, match=r"is damaged\. Run the same sweep again"):
            to_xarray(path)
    assert run(GRID, path).done == TOTAL
    assert to_xarray(path).identical(expected)


@pytest.mark.parametrize(
    "changes",
    [
        {"axes": 3},
        {"axes": {"strength": [[1]]}},
        {"keys": {"theory": []}},
        {"keys": {"theory": 3}},
        {"trials": "many"},
        {"trials": 10**15},
        {"experiment": "nothing"},
        {"fixed": []},
        {"fixed": {"status": {"a": 1}}},
    ],
)
def test_a_foreign_specification_is_refused_in_one_message(path, changes):
    about = json.loads((path / "sweep.json").read_bytes())
    about = {name: value for name, value in about.items() if name != "digest"} | changes
    content = {"digest": digest(canonical_text(about)), **about}
    (path / "sweep.json").write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match=r"store must be a sweep|results must be at most"):
        to_xarray(path)
    assert run(GRID, path).done == TOTAL


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_or_a_folder_in_place_of_the_specification_is_named(path):
    file = path / "sweep.json"
    file.unlink()
    os.mkfifo(file)
    with writers_of(file) as opened, pytest.raises(InvalidInput, match="a pipe"):
        to_xarray(path)
    assert not opened
    file.unlink()
    file.mkdir()
    with pytest.raises(InvalidInput, match=r"regular file; got .*, a folder.*Remove it"):
        to_xarray(path)
    file.rmdir()
    assert run(GRID, path).done == TOTAL


@pytest.mark.parametrize("kind", ["file", "link", "loop", "folder"])
def test_whatever_stands_for_the_named_arrays_is_replaced(path, whole, kind, tmp_path):
    arrays, other = path / "results.zarr", tmp_path / "other"
    shutil.rmtree(arrays)
    other.mkdir()
    (other / "mine").touch()
    if kind == "file":
        arrays.write_text("no arrays")
    elif kind == "folder":
        (arrays / "theory_cosine").mkdir(parents=True)
    else:
        arrays.symlink_to(other if kind == "link" else arrays)
    run(GRID, path)
    found = xr.open_zarr(arrays)["theory_cosine"]
    assert (found == to_xarray(whole)["theory_cosine"]).all()
    assert (other / "mine").exists()
    assert not [p for p in path.iterdir() if p.name.startswith(".")]


def test_a_store_that_vanishes_ends_the_run(path):
    with pytest.raises(Failure, match="cannot be read or written: FileNotFoundError"):
        run(changed(trials=9), path, on_counts=lambda _: shutil.rmtree(path, ignore_errors=True))
    assert run(GRID, path).done == TOTAL


def test_two_sweeps_at_once_do_not_mix(path, whole):
    """One begins and ends while the other runs."""
    other = changed(axes={**GRID.axes, "strength": [5, 6, 7, 8]}, trials=5)
    begun = []

    def interrupt(_):
        if not begun:
            begun.append(run(other, path))

    assert run(changed(trials=4), path, on_counts=interrupt).done == GRID.size * 5
    assert begun[0].done == other.size * 6
    assert to_xarray(path)["strength"].values.tolist() == [1, 2, 3, 4]
    assert run(GRID, path).done == TOTAL
    assert to_xarray(path).identical(to_xarray(whole))


def test_a_url_of_a_file_is_its_path(path):
    for url in (path.as_uri(), f"local://{path}"):
        assert to_xarray(url).identical(to_xarray(path))


def test_a_url_of_fsspec_is_a_store(path):
    memory = pytest.importorskip("fsspec").filesystem("memory")
    url = "memory://sweeps/s"
    assert run(changed(trials=5, axes={**GRID.axes, "strength": [5, 6, 7, 8, 9]}), url).left == 0
    assert run(GRID, url).done == TOTAL
    assert to_xarray(url).identical(to_xarray(path))
    found = xr.open_zarr(url + "/results.zarr")
    for name, expected in xr.open_zarr(path / "results.zarr").items():
        assert found[name].equals(expected), name
    memory.pipe_file(memory.ls("/sweeps/s/pieces", detail=False)[0], b"x")
    with pytest.raises(Failure, match="files in memory://sweeps/s are damaged"):
        to_xarray(url)
    assert run(GRID, url).done == TOTAL
    memory.rm("/sweeps", recursive=True)
