"""Token files that are broken: one message, and no wait for a pipe."""

import os
from pathlib import Path

import numpy as np
import pytest

from broken_files import PLAIN, cut, npy, writers_of
from sparsetoken.bags import pack, read
from sparsetoken.base.validation import InvalidInput

h5py = pytest.importorskip("h5py", reason="h5py, of the extra data, is not installed")

X = np.random.default_rng(0).standard_normal((50, 4)).astype(np.float32)


def refused(path: Path, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        pack([path], path.parent / "packed", labels=None)
    assert not (path.parent / "packed").exists()


@pytest.mark.parametrize("name", ["a.npy", "a.h5"])
def test_cut_files(tmp_path: Path, name: str) -> None:
    if name.endswith("npy"):
        np.save(tmp_path / name, X)
    else:
        with h5py.File(tmp_path / name, "w") as file:
            file["x"] = X
    for path in cut(tmp_path / name):
        refused(path, "FILE must be of bags and labels that can be read")


@pytest.mark.parametrize("content", [npy("((((\n"), npy(PLAIN % f"({2**62}, 4)")])
def test_broken_headers_of_npy(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "a.npy").write_bytes(content)
    refused(tmp_path / "a.npy", "FILE.* must be")


def test_links_are_not_followed(tmp_path: Path) -> None:
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = X
    with h5py.File(tmp_path / "linked.h5", "w") as file:
        file["x"] = h5py.ExternalLink(tmp_path / "other.h5", "/x")
    refused(tmp_path / "linked.h5", "got 'no array'")
    with pytest.raises(InvalidInput, match="with an array x; got 'no array"):
        pack([tmp_path / "linked.h5"], tmp_path / "packed", dataset="x", labels=None)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
@pytest.mark.parametrize("name", ["bags.npz", "bags.parquet"])
def test_a_pipe_in_place_of_bags_is_not_opened(tmp_path: Path, name: str) -> None:
    os.mkfifo(tmp_path / name)
    with writers_of(tmp_path / name) as opened, pytest.raises(InvalidInput, match="FILE must be"):
        read(tmp_path / name)
    assert not opened


def test_a_folder_in_place_of_an_array(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", X)
    packed = pack([tmp_path / "a.npy"], tmp_path / "packed", labels=[0])
    (packed / "y.npy").unlink()
    (packed / "y.npy").mkdir()
    with pytest.raises(InvalidInput, match=r"FILE must be .*y\.npy.*IsADirectoryError"):
        read(packed)


@pytest.mark.parametrize("kind", ["external", "virtual"])
def test_values_in_other_files_are_not_read(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "a.h5"
    (tmp_path / "raw").write_bytes(X.tobytes())
    with h5py.File(tmp_path / "other.h5", "w") as file:
        file["x"] = X
    with h5py.File(path, "w") as file:
        if kind == "external":
            file.create_dataset("x", X.shape, X.dtype, external=[(tmp_path / "raw", 0, X.nbytes)])
        else:
            layout = h5py.VirtualLayout(X.shape, X.dtype)
            layout[...] = h5py.VirtualSource(tmp_path / "other.h5", "x", X.shape)
            file.create_virtual_dataset("x", layout)
    refused(path, "with values of its own; got 'an array whose values are elsewhere")
