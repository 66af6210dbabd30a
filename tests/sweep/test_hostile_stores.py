"""Stores that nobody should have: none runs code, fills the memory or waits for ever."""

import json
import os
import shutil
import zipfile

import numpy as np
import pytest
import zarr.codecs

from command_line import invoke
from hostile_files import little_memory, writers_of
from sparsetoken.base.validation import InvalidInput
from sparsetoken.sweep import Grid, Store, linear, run, to_xarray
from sparsetoken.sweep.metadata import digest
from sparsetoken.sweep.runs import count

GRID = Grid("alignment", [linear("strength", 1, 2, 2)], {"length": 4})
CHUNK = "theory/c/0/0"
V2 = {
    **{"zarr_format": 2, "node_type": "array", "shape": [2, 8], "chunks": [512, 8]},
    **{"dtype": "|O", "order": "C", "fill_value": "", "attributes": {}},
    **{"filters": [{"id": "vlen-utf8"}], "compressor": {"id": "pickle"}},
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    path = tmp_path_factory.mktemp("whole") / "s.zarr"
    run(GRID, path)
    return path


@pytest.fixture
def path(whole, tmp_path):
    return shutil.copytree(whole, tmp_path / "s.zarr")


def declare(path, **arrays):
    """Change what the root says of arrays, and seal it."""
    root = json.loads((path / "zarr.json").read_text())
    known = root["consolidated_metadata"]["metadata"]
    for name, changes in arrays.items():
        known[name] = changes if "dtype" in changes else {**known[name], **changes}
    root["attributes"]["digest"] = digest(root)
    (path / "zarr.json").write_text(json.dumps(root))


@pytest.mark.parametrize(
    "changes",
    [
        V2,
        {"data_type": "int8"},
        {"codecs": [{"name": "bytes"}, {"name": "numcodecs.pickle", "configuration": {}}]},
        {"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [1 << 40, 8]}}},
        {"shape": [1 << 40, 8]},
    ],
    ids=["pickles", "type", "codec", "chunks", "shape"],
)
@pytest.mark.parametrize("name", ["theory", "theory_computed_with"])
def test_metadata_of_another_kind_are_refused_and_written_anew(path, name, changes):
    before = to_xarray(path)
    declare(path, **{name: changes})
    for command in (["results"], ["results", "--export", path.parent / "a.csv"]):
        done = invoke(command[0], path, *command[1:])
        assert (done.exit_code, done.stdout) == (2, "")
        assert "store must be of arrays as this version writes them" in done.stderr
    assert run(GRID, path).damaged == 0
    assert to_xarray(path).equals(before)


def test_a_specification_that_is_none_is_refused(path):
    root = json.loads((path / "zarr.json").read_text())
    for text in ("{}", "[", "3", json.dumps({**json.loads(GRID.text()), "axes": [3]})):
        root["attributes"]["specification"] = text
        root["attributes"]["digest"] = digest(root)
        (path / "zarr.json").write_text(json.dumps(root))
        with pytest.raises(InvalidInput, match="store must be a sweep that can be read"):
            _ = Store(path).grid


def hidden(folder, values):
    """Return the content of a chunk that unpacks to these numbers, as those of a store."""
    codecs = [zarr.codecs.ZstdCodec(level=1), zarr.codecs.Crc32cCodec()]
    options = {"compressors": codecs, "config": {"write_empty_chunks": True}}
    zarr.create_array(folder, data=values, chunks=values.shape, **options)
    return (folder / "c" / "0").read_bytes()


def test_the_size_of_a_chunk_is_known_before_it_is_unpacked(path, tmp_path):
    """Of some KB that unpack to 160 MB, nothing is unpacked; the results are damaged."""
    (path / CHUNK).write_bytes(hidden(tmp_path / "large", np.zeros(160_000_000, np.int8)))
    with little_memory(100e6):  # the buffer of 67 MB that the chunk does not fit into
        assert count(Store(path)).damaged == 2
    assert run(GRID, path).damaged == 0


def test_a_zip_file_whose_members_are_compressed_is_refused(tmp_path):
    packed = tmp_path / "s.zarr.zip"
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("zarr.json", bytes(80_000_000))
    with little_memory(), pytest.raises(InvalidInput, match="of which nothing is compressed twice"):
        _ = Store(packed).grid


def test_a_chunk_of_many_texts_is_not_unpacked(path, tmp_path):
    """What says why a result fell short is lost; the results are not."""
    store = Store(path)
    place = next(iter(store.layout("theory").places()))
    assert store.facts("theory", place)
    texts = np.array([30_000_000, 0, 0, 0], "<u4").view(np.int8)  # an array of 240 MB
    (path / "theory_computed_with/c/0").write_bytes(hidden(tmp_path / "texts", texts))
    with little_memory(100e6):
        assert store.facts("theory", place) == {}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["zarr.json", CHUNK])
def test_a_pipe_in_place_of_a_file_is_not_opened(path, name):
    (path / name).unlink()
    os.mkfifo(path / name)
    with writers_of(path / name) as opened, pytest.raises(InvalidInput, match="a pipe"):
        run(GRID, path)
    assert not opened


@pytest.mark.parametrize("name", ["zarr.json", "result/zarr.json", CHUNK])
def test_a_folder_in_place_of_a_file_is_named(path, name):
    (path / name).unlink()
    (path / name).mkdir()
    with pytest.raises(InvalidInput, match=f"regular file; got .*{name}, a folder.*Remove it"):
        run(GRID, path)
    (path / name).rmdir()
    assert run(GRID, path).done == 2
