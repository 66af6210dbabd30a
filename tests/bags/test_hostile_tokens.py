"""Token files that nobody should have: one message, little memory, and no wait for a pipe."""

import json
import os
import zlib
from pathlib import Path

import numcodecs
import numpy as np
import pytest

from hostile_files import PLAIN, TEXT, little_memory, npy, writers_of
from sparsetoken.bags import pack, read
from sparsetoken.base.validation import InvalidInput

h5py = pytest.importorskip("h5py", reason="h5py, of the extra data, is not installed")
zarr = pytest.importorskip("zarr", reason="zarr, of the extra data, is not installed")

X = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)
V2 = {
    **{"zarr_format": 2, "shape": [50, 4], "chunks": [50, 4], "dtype": "<f4", "order": "C"},
    **{"fill_value": 0.0, "compressor": None, "filters": None},
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run what takes a compressor with all of them, of both versions of Zarr."""
    if "codec" in metafunc.fixturenames:
        names = [(2, name) for name in ("blosc", "gzip", "lz4", "zlib", "zstd", "")]
        names += [(3, name) for name in ("blosc", "gzip", "zstd", "zstd crc32c", "")]
        metafunc.parametrize("codec", names, ids=lambda one: f"v{one[0]} {one[1]}")


def refused(path: Path, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        pack([path], path.parent / "packed")
    assert not (path.parent / "packed").exists()


def stored(folder: Path, codec: tuple[int, str], values: np.ndarray = X) -> Path:
    """Write an array as one chunk, and return the folder."""
    version, names = codec
    if version == 2:
        options = {"compressors": numcodecs.get_codec({"id": names}) if names else None}
    else:
        kinds = {"blosc": "BloscCodec", "gzip": "GzipCodec", "zstd": "ZstdCodec"}
        kinds["crc32c"] = "Crc32cCodec"
        options = {"compressors": [getattr(zarr.codecs, kinds[name])() for name in names.split()]}
    options["config"] = {"write_empty_chunks": True}
    zarr.create_array(folder, data=values, chunks=values.shape, zarr_format=version, **options)
    return folder


def test_known_codecs_are_read(tmp_path: Path, codec: tuple[int, str]) -> None:
    path = pack([stored(tmp_path / "a.zarr", codec)], tmp_path / "packed")
    np.testing.assert_array_equal(read(path, labels=None).bags.tokens, X)


def test_a_chunk_is_not_unpacked_beyond_what_it_declares(
    tmp_path: Path, codec: tuple[int, str]
) -> None:
    path, chunk = stored(tmp_path / "a.zarr", codec), "0.0" if codec[0] == 2 else "c/0/0"
    large = stored(tmp_path / "large", codec, np.zeros((60_000_000, 1), np.int8))
    (large / chunk).replace(path / chunk)
    with little_memory():
        refused(path, "of an array that can be read")


READ, CODECS, SIZE = "that can be read", "codecs must be one of", "unpacks to at most 0.0 GB"
BROKEN = {
    "chunks of nothing": ({**V2, "chunks": [0, 0]}, READ),
    "a list": ([3], READ),
    "pickles": ({**V2, "compressor": {"id": "pickle"}}, READ),
    "another compressor": ({**V2, "compressor": {"id": "bz2", "level": 1}}, CODECS),
    "types of 100 MB": (
        {**V2, "filters": [{"id": "delta", "dtype": "V100000000", "astype": "<f4"}]},
        CODECS,
    ),
    "more than the memory": ({**V2, "shape": [100, 40000]}, SIZE),
    "more than the memory in a chunk": ({**V2, "chunks": [50, 1 << 50]}, SIZE),
}


@pytest.mark.parametrize(("metadata", "told"), BROKEN.values(), ids=BROKEN)
def test_broken_or_foreign_metadata_of_zarr(
    tmp_path: Path, metadata: object, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sparsetoken.base.untrusted.machine_memory", lambda: 50e6)
    folder = tmp_path / "a.zarr"
    folder.mkdir()
    name = ".zarray" if isinstance(metadata, dict) else "zarr.json"
    (folder / name).write_text(json.dumps(metadata))
    with little_memory():
        refused(folder, told)


@pytest.mark.parametrize(
    "content",
    [
        npy("{'descr': '''<f8\n"),
        npy("((((\n"),
        npy("-" * 9000 + "1\n"),
        npy(PLAIN % f"({2**62}, 4)"),
    ],
    ids=["open string", "open bracket", "deep", "large"],
)
def test_broken_headers_of_npy(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    refused(tmp_path / "a.npy", "FILE.* must be")


def test_values_in_other_files_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(X.tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = X
    with h5py.File(tmp_path / "stored.h5", "w") as file:
        place = [(str(tmp_path / "secret"), 0, X.nbytes)]
        file.create_dataset("x", X.shape, X.dtype, external=place)
    with h5py.File(tmp_path / "virtual.h5", "w") as file:
        layout = h5py.VirtualLayout(X.shape, X.dtype)
        layout[...] = h5py.VirtualSource(tmp_path / "other.h5", "x", X.shape)
        file.create_virtual_dataset("x", layout)
    with h5py.File(tmp_path / "linked.h5", "w") as file:
        file["x"] = h5py.ExternalLink(tmp_path / "other.h5", "/x")
    for name in ("stored", "virtual"):
        refused(tmp_path / f"{name}.h5", "own values; got '/x, whose values are in other files")
    refused(tmp_path / "linked.h5", "of one array")
    with pytest.raises(InvalidInput, match="with the array x; got 'no array"):
        pack([tmp_path / "linked.h5"], tmp_path / "packed", dataset="x")


@pytest.mark.parametrize("checksum", [False, True])
def test_a_deflated_chunk_of_hdf5(tmp_path: Path, checksum: bool) -> None:
    """Chunks of numbers that hardly deflate are read, one of zeros that fill 160 MB is not."""
    path, tokens = tmp_path / "a.h5", np.random.default_rng(0).standard_normal((15000, 4))
    options = {"compression": "gzip", "compression_opts": 1, "shuffle": True}
    with h5py.File(path, "w") as file:
        array = file.create_dataset(
            "x", data=tokens, chunks=tokens.shape, fletcher32=checksum, **options
        )
        assert array.id.get_chunk_info(0).size > 1 << 17
    bags = read(pack([path], tmp_path / "bags"), labels=None).bags
    np.testing.assert_array_equal(bags.tokens, tokens)
    with h5py.File(path, "r+") as file:
        content = zlib.compress(bytes(160_000_000), 1) + b"sums" * checksum
        file["x"].id.write_direct_chunk((0, 0), content)
    refused(path, "unpacks to more than the 480000 bytes of its array")


def test_an_array_that_claims_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sparsetoken.base.untrusted.machine_memory", lambda: 50e6)
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file.create_dataset("x", (10**9, 4), "f4", chunks=(50, 4))
    refused(tmp_path / "a.h5", r"unpacks to at most 0\.0 GB.*got '32\.0 GB")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["a.npy", "a.h5", "a.zarr/zarr.json", "a.zarr/c/0/0"])
def test_a_pipe_in_place_of_tokens_is_not_opened(tmp_path: Path, name: str) -> None:
    stored(tmp_path / "a.zarr", (3, "zstd"))
    (tmp_path / name).unlink(missing_ok=True)
    os.mkfifo(tmp_path / name)
    with writers_of(tmp_path / name) as opened:
        refused(tmp_path / name.partition("/")[0], "a regular file; got .*, a pipe")
    assert not opened


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["offsets.npy", "y.npy", "bags.npz", "bags.parquet"])
def test_a_pipe_in_place_of_bags_is_not_opened(tmp_path: Path, name: str) -> None:
    packed = pack([stored(tmp_path / "a.zarr", (3, "zstd"))], tmp_path / "packed", labels=[0])
    (packed / name).unlink(missing_ok=True)
    os.mkfifo(packed / name)
    with writers_of(packed / name) as opened, pytest.raises(InvalidInput, match="FILE must be"):
        read(packed if name.endswith("npy") else packed / name)
    assert not opened


def test_folders_in_place_of_arrays(tmp_path: Path) -> None:
    packed = pack([stored(tmp_path / "a.zarr", (3, "zstd"))], tmp_path / "packed", labels=[0])
    (packed / "y.npy").unlink()
    (packed / "y.npy").mkdir()
    with pytest.raises(InvalidInput, match=r"a regular file; got .*y\.npy, a folder"):
        read(packed)
    (tmp_path / "a.zarr" / "c/0/0").unlink()
    (tmp_path / "a.zarr" / "c/0/0").mkdir()
    with pytest.raises(InvalidInput, match=r"a regular file; got .*c/0/0, a folder"):
        pack([tmp_path / "a.zarr"], tmp_path / "again")


@pytest.mark.parametrize("name", ["y", "ids"])
def test_texts_of_a_packed_folder_are_unicode(tmp_path: Path, name: str) -> None:
    packed = pack([stored(tmp_path / "a.zarr", (3, "zstd"))], tmp_path / "packed", labels=["a"])
    header = TEXT.replace("12", "1")
    (packed / f"{name}.npy").write_bytes(npy(header, (0x110000).to_bytes(4, "little")))
    with pytest.raises(InvalidInput, match=f"array {name} must be of Unicode .*0x110000"):
        read(packed)
