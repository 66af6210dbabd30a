"""Stores: what is read is what was written, and nothing else is taken for a store."""

import dataclasses
import json
import random
import re
import shutil

import numpy as np
import pytest
import xarray as xr

from sparsetoken.base.validation import InvalidInput
from sparsetoken.sweep import (
    Drawing,
    Grid,
    Store,
    StoreError,
    linear,
    listed,
    run,
    tied,
    to_frame,
    to_xarray,
)
from sparsetoken.sweep.layout import ALONG, Layout
from sparsetoken.sweep.runs import count

GRID = Grid(
    "alignment",
    [linear("strength", 1, 4, 4), tied(length=[4, 10], informative=[1, 3])],
    {"dimension": 12},
    quantities=("theory", "simulation"),
    trials=3,
)
TOTAL = GRID.size * 4


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "s.zarr"
    assert run(GRID, path).done == TOTAL
    return path


@pytest.fixture
def path(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "s.zarr")


def files(path):
    """Return the contents of the files of results and of metadata, by name."""
    found = {str(p.relative_to(path)): p for p in path.rglob("*") if p.is_file()}
    return {name: p.read_bytes() for name, p in found.items() if "computed_with/c" not in name}


def extended(**changes):
    return dataclasses.replace(GRID, **changes)


def test_anyone_can_open_it(whole):
    found = xr.open_zarr(whole)
    assert found["simulation"].dims == ("strength", "length+informative", "trial", "result")
    assert found["length"].values.tolist() == [4, 10]
    cosines = found["simulation"].sel(result="cosine", strength=4.0, trial=1).values
    expected = to_xarray(whole)["simulation_cosine"].sel(strength=4.0, trial=1).values
    assert cosines.tolist() == expected.tolist()
    assert found.attrs["status"]["0"] == "converged"
    told = json.loads(found["theory_computed_with"].values.flat[0])
    assert told["seconds"] > 0
    assert "numpy" in told["computed_with"]


def test_a_second_run_changes_nothing(path):
    before = files(path)
    run(GRID, path)
    assert files(path) == before


@pytest.mark.parametrize(
    "changes",
    [
        {"trials": 3 + ALONG[0]},
        {"axes": [linear("strength", 1, 6, 6), GRID.axes[1]]},
        {"axes": [GRID.axes[0], tied(length=[4, 10, 6], informative=[1, 3, 2])], "trials": 4},
        {"plot": Drawing(x="strength")},
    ],
)
def test_a_larger_grid_keeps_what_is_there(path, changes, monkeypatch):
    old = to_frame(path)
    seen = []
    compute = "sparsetoken.sweep.compute._tried"
    from sparsetoken.sweep.compute import _tried

    monkeypatch.setattr(compute, lambda rows, *rest: seen.extend(rows) or _tried(rows, *rest))
    grid = extended(**changes)
    assert run(grid, path).done == sum(grid.rows.values())
    assert len(seen) == sum(grid.rows.values()) - TOTAL
    new = to_frame(path)
    keys = ["quantity", "strength", "length", "trial"]
    both = old.merge(new, on=keys, how="left", suffixes=("", "_new"))
    assert len(both) == len(old)
    assert both["cosine"].tolist() == both["cosine_new"].tolist()
    assert xr.open_zarr(path).sizes["trial"] == grid.trials


def test_a_store_that_another_run_has_extended_is_not_cut(path):
    store = Store(path)
    assert store.grid == GRID
    run(extended(trials=5), path)
    with pytest.raises(InvalidInput, match="trials must be that of the store, 5, or more; got 3"):
        run(GRID, store)


def test_of_two_extensions_at_once_one_is_told(path, monkeypatch):
    opened, calls = Store._open_arrays, []

    def late(store):
        calls.append(store)
        if len(calls) == 1:  # the files are written, and not yet opened
            Store(path).prepare(extended(trials=5))
        opened(store)

    monkeypatch.setattr(Store, "_open_arrays", late)
    with pytest.raises(StoreError, match="was replaced or extended"):
        run(GRID, path)
    assert Store(path).grid.trials == 5


def test_a_quantity_may_be_added(tmp_path):
    run(extended(quantities=("theory",)), tmp_path / "s.zarr")
    assert run(GRID, tmp_path / "s.zarr").done == TOTAL


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"trials": 2}, "trials must be that of the store, 3, or more; got 2"),
        ({"seed": 1}, "seed must be that of the store, 0; got 1"),
        ({"fixed": {"dimension": 13}}, "fixed.dimension must be that of the store, 12; got 13"),
        ({"axes": GRID.axes[:1]}, "axes must be"),
        ({"axes": [linear("strength", 1, 3, 3), GRID.axes[1]]}, "axes.strength must be"),
        ({"axes": [linear("strength", 0, 4, 5), GRID.axes[1]]}, "axes.strength must be"),
        ({"experiment": "learning", "versions": {}}, "experiment must be"),
        ({"quantities": ("theory",)}, "quantities must be"),
        ({"versions": {"alignment": 1}}, "versions must be"),
    ],
)
def test_another_sweep_is_refused_with_the_difference(path, changes, words):
    before = files(path)
    with pytest.raises(InvalidInput, match=words):
        run(extended(**changes), path)
    assert files(path) == before


def test_what_is_no_store_is_refused_and_stays(tmp_path):
    folder = tmp_path / "mine"
    folder.mkdir()
    (folder / "thesis.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="folder of other files"):
        run(GRID, folder)
    with pytest.raises(InvalidInput, match="has none"):
        _ = Store(folder).grid
    assert [p.name for p in folder.iterdir()] == ["thesis.txt"]
    xr.Dataset({"mine": ("x", [1.0])}).to_zarr(tmp_path / "other", consolidated=False)
    with pytest.raises(InvalidInput, match="folder of other files"):
        run(GRID, tmp_path / "other")
    with pytest.raises(InvalidInput, match="has none"):
        _ = Store(tmp_path / "other").grid
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InvalidInput, match="a folder, a URL or"):
        Store(tmp_path / "file")


@pytest.mark.parametrize(
    ("place", "words"),
    [
        ("", "a folder, a URL or a .zarr.zip file; got ''"),
        ("none://x", "a URL of fsspec; got 'none://x'. Protocol not known: none"),
    ],
)
def test_places_that_are_refused(place, words):
    with pytest.raises(InvalidInput, match=re.escape(words)):
        Store(place)


def test_a_store_of_another_format_is_refused(path, monkeypatch):
    monkeypatch.setattr("sparsetoken.sweep.store.FORMAT", 2)
    with pytest.raises(InvalidInput, match=r"of format 2; got .* of format 1"):
        run(GRID, path)


def chunks(path):
    return sorted(p for q in GRID.quantities for p in (path / q / "c").rglob("*") if p.is_file())


def damage(path, how):
    """Damage a chunk; return how many results it has."""
    grid = extended(trials=3 + 2 * ALONG[0]) if how == "swapped" else GRID
    if how == "swapped":
        run(grid, path)
    victims = chunks(path)
    if how == "flipped":
        rng = random.Random(0)
        content = bytearray(victims[0].read_bytes())
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
        victims[0].write_bytes(content)
    elif how == "truncated":
        victims[0].write_bytes(victims[0].read_bytes()[:-5])
    elif how == "emptied":
        victims[0].write_bytes(b"")
    elif how == "swapped":  # of one array and one shape, but of other trials
        layout = Layout(grid, "simulation")
        places = [place for place in layout.places() if place[2] < 2]
        one, other = (path / "simulation" / "c" / "/".join(map(str, p)) for p in places[:2])
        one.write_bytes(other.read_bytes())
    elif how == "of another quantity":
        victims[0].write_bytes(victims[-1].read_bytes())
    elif how == "removed":
        victims[0].unlink()
    return grid


@pytest.mark.parametrize(
    "how", ["flipped", "truncated", "emptied", "swapped", "of another quantity", "removed"]
)
def test_what_is_damaged_is_never_read_and_computed_again(path, how):
    grid = damage(path, how)
    counts = count(Store(path))
    assert counts.left >= counts.damaged > 0
    assert counts.total == sum(grid.rows.values())
    with pytest.raises(StoreError, match="are damaged"):
        to_xarray(path)
    said = []
    assert run(grid, path, on_damaged=said.append).done == counts.total
    assert said == [f"{counts.damaged} results are"]
    fresh = path.with_name("fresh.zarr")
    run(GRID, fresh)
    if grid != GRID:
        run(grid, fresh)
    assert files(path) == files(fresh)


def test_every_bit_of_the_metadata_that_matters_is_noticed(path):
    """A flipped bit in the root is told, or changes nothing that is read."""
    root = path / "zarr.json"
    content = root.read_bytes()
    expected = to_frame(path)
    rng, told = random.Random(0), 0
    for place in rng.sample(range(len(content)), 60):
        changed = bytearray(content)
        changed[place] ^= 1 << rng.randrange(8)
        root.write_bytes(changed)
        try:
            assert to_frame(path).equals(expected)
        except (StoreError, InvalidInput):
            told += 1
    assert told > 40
    root.write_bytes((path / "result" / "zarr.json").read_bytes())  # of the same digest
    with pytest.raises(StoreError, match="damaged or unfinished"):
        to_frame(path)
    root.write_bytes(changed[: len(changed) // 2])
    said = []
    assert run(GRID, path, on_damaged=said.append).done == TOTAL
    assert said == ["its metadata are"]
    assert root.read_bytes() == content


SHORT = Grid(  # of which some trials fall short and say why
    "learning",
    [linear("strength", 1, 3, 2), linear("alpha1", 0.2, 0.3, 2)],
    {"dimension": 12, "model": "pooled"},
    quantities=("simulation",),
    trials=3,
)


def messages(path):
    return to_xarray(path)["simulation_message"].values.tolist()


@pytest.mark.parametrize("how", ["flipped", "removed", "swapped"])
def test_a_lost_message_is_told_and_found_again(tmp_path, how):
    path = tmp_path / "s.zarr"
    run(SHORT, path)
    larger = dataclasses.replace(SHORT, trials=ALONG[0] + 2)
    run(larger, path)
    expected = messages(path)
    one, other = sorted(p for p in (path / "simulation_computed_with/c").rglob("*") if p.is_file())
    content = bytearray(one.read_bytes())
    if how == "flipped":
        content[len(content) // 2] ^= 4
        one.write_bytes(content)
    elif how == "removed":
        one.unlink()
    else:
        other.write_bytes(content)
    found = count(Store(path))
    assert 0 < found.left < larger.size * larger.trials
    # A kill between a piece and what it was computed with leaves the same as a removal.
    assert found.damaged == (0 if how == "removed" else found.left)
    assert run(larger, path).left == 0
    assert messages(path) == expected


def test_messages_stay_with_their_results_when_a_piece_grows(tmp_path):
    """Its last dimension grows while another has several steps."""
    path = tmp_path / "s.zarr"
    for ridges in (5, 7, 9):
        axes = (SHORT.axes[0], linear("ridge", 1, ridges, ridges))
        fixed = {"dimension": 12, "model": "pooled", "alpha1": 0.2}
        run(Grid("learning", axes, fixed, quantities=("simulation",), trials=2), path)
    assert Store(path).layout("simulation").chunks[:3] == (4, 8, 16)
    found = to_xarray(path)
    fallen = found["simulation_status"].values != "converged"
    assert fallen.any()
    assert not fallen.all()
    assert ((found["simulation_message"].values != "") == fallen).all()


def test_a_lost_root_keeps_the_pieces_of_an_extended_store(path, monkeypatch):
    larger = extended(trials=3 + ALONG[0])
    run(larger, path)
    before = files(path)
    monkeypatch.setattr("sparsetoken.sweep.compute._tried", lambda *_: pytest.fail("computed"))
    root = path / "zarr.json"
    spoils = {root.unlink: [], lambda: root.write_bytes(b"{}"): ["its metadata are"]}
    for spoil, expected in spoils.items():  # a root that is not there may be unfinished
        spoil()
        with pytest.raises(InvalidInput, match="seed must be that of the store"):
            run(dataclasses.replace(larger, seed=1), path)
        with pytest.raises(StoreError, match="Run the same sweep again"):
            to_xarray(path)
        said = []
        run(larger, path, on_damaged=said.append)
        assert said == expected
        assert files(path) == before


def test_a_creation_that_was_interrupted_goes_on(path):
    fresh = files(path)
    shutil.rmtree(path / "simulation")
    (path / "theory" / "zarr.json").unlink()
    run(GRID, path)
    assert files(path) == fresh
    shutil.rmtree(path)
    path.mkdir()  # nothing but the folder
    (path / "zarr.0123.partial").write_bytes(b"{")
    assert run(GRID, path).done == TOTAL


def test_pieces_fill_the_array_once_and_have_few_results():
    grid = Grid(
        "learning",
        [
            listed("model", ["attention", "pooled"]),
            linear("alpha1", 1, 9, 50),
            linear("strength", 1, 5, 5),
        ],
        {"dimension": 100},
        quantities=("theory", "simulation"),
        trials=100,
    )
    for quantity in grid.quantities:
        layout = Layout(grid, quantity)
        filled = np.zeros(layout.shape[:-1], dtype=int)
        for place in layout.places():
            region = layout.region(place)[:-1]
            assert len(layout.rows(place)) == filled[region].size <= 512
            filled[region] += 1
            assert region[0].stop - region[0].start == 1  # one model
        assert (filled == 1).all()
    assert Layout(grid, "theory").chunks[1] == 64  # one call predicts all loads
    larger = dataclasses.replace(grid, fixed={"dimension": 10_000})
    assert np.prod(Layout(larger, "simulation").chunks[:-1]) == 1


def test_a_zip_file_is_read_and_has_the_same_bytes_each_time(path, tmp_path):
    for name in ("a", "b"):
        Store(path).copy_to_zip(tmp_path / f"{name}.zarr.zip")
        (path / "theory" / "c" / "0" / "0.0123.partial").touch()  # of a run that was killed
    assert (tmp_path / "a.zarr.zip").read_bytes() == (tmp_path / "b.zarr.zip").read_bytes()
    assert to_frame(tmp_path / "a.zarr.zip").equals(to_frame(path))
    with pytest.raises(InvalidInput, match=r"no \.zarr\.zip"):
        run(GRID, tmp_path / "a.zarr.zip")


def test_a_url_of_a_file_is_its_path(path):
    assert Store(path.as_uri()).path == str(path)


def test_a_url_of_fsspec_is_a_store(path):
    fsspec = pytest.importorskip("fsspec")
    url = "memory://sweeps/s.zarr"
    assert run(GRID, url).done == TOTAL
    assert to_frame(url).equals(to_frame(path))
    name = f"/sweeps/s.zarr/{chunks(path)[0].relative_to(path)}"
    memory = fsspec.filesystem("memory")
    assert memory.cat_file(name) == chunks(path)[0].read_bytes()
    memory.pipe_file(name, b"x")
    assert count(Store(url)).damaged > 0
    memory.rm("/sweeps", recursive=True)


def test_a_store_that_vanishes_or_is_replaced_ends_the_run(path, tmp_path):
    larger = extended(trials=3 + 3 * ALONG[0])

    def vanish(counts):
        shutil.rmtree(path, ignore_errors=True)

    with pytest.raises(StoreError, match="is gone while the sweep ran"):
        run(larger, path, on_counts=vanish)

    other = tmp_path / "other.zarr"
    run(extended(seed=5), other)
    aim = tmp_path / "aim.zarr"

    def replace(counts):
        shutil.rmtree(aim, ignore_errors=True)
        shutil.copytree(other, aim)

    with pytest.raises(StoreError, match="was replaced"):
        run(GRID, aim, on_counts=replace)
    assert count(Store(aim)).done == TOTAL  # the other's, untouched
