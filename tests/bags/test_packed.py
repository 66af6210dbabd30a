"""Bags packed from a file for each bag, and read as a memory map."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import limited
from sparsetoken.bags import pack, packed, read
from sparsetoken.bags.container import is_mapped
from sparsetoken.base.validation import InvalidInput

SIZES = {"normal_1": 3, "tumour_1": 2, "tumour_2": 4}
LABELS = {"tumour_2": "yes", "normal_1": "no", "tumour_1": "yes"}


def arrays(dtype: Any = np.float32) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    return {name: rng.standard_normal((size, 5)).astype(dtype) for name, size in SIZES.items()}


def write_npy(path: Path, array: np.ndarray) -> Path:
    np.save(path.with_suffix(".npy"), array)
    return path.with_suffix(".npy")


def write_h5(path: Path, array: np.ndarray) -> Path:
    h5py = pytest.importorskip("h5py", reason="h5py, of the extra data, is not installed")
    with h5py.File(path.with_suffix(".h5"), "w") as file:
        file["patches/features"] = array
        file["size"] = len(array)
    return path.with_suffix(".h5")


def slides(folder: Path, write: Callable[[Path, np.ndarray], Path] = write_npy) -> Path:
    (folder / "slides").mkdir()
    for name, array in arrays().items():
        write(folder / "slides" / name, array)
    (folder / "slides" / "notes.txt").touch()
    return folder / "slides"


@pytest.mark.parametrize("write", [write_npy, write_h5])
def test_a_folder_of_files_becomes_bags_over_a_map(
    tmp_path: Path, write: Callable[[Path, np.ndarray], Path]
) -> None:
    where = pack(slides(tmp_path, write), tmp_path / "slides.bags", labels=LABELS)
    bags, y, ids = read(where)
    assert (ids.tolist(), y.tolist()) == (list(SIZES), ["no", "yes", "yes"])
    assert bags.sizes.tolist() == list(SIZES.values())
    np.testing.assert_array_equal(bags.tokens, np.concatenate(list(arrays().values())))
    assert is_mapped(bags.tokens)
    assert is_mapped(bags[1:].tokens)
    assert not bags.tokens.flags.writeable
    assert sorted(one.name for one in tmp_path.iterdir()) == ["slides", "slides.bags"]


def test_labels_may_come_later(tmp_path: Path) -> None:
    where = pack(slides(tmp_path), tmp_path / "slides.bags")
    assert read(where, labels=None).y.size == 0
    assert read(where, labels=LABELS).y.tolist() == ["no", "yes", "yes"]
    np.save(where / "grade.npy", [1, 2, 3])
    assert read(where, labels="grade").y.tolist() == [1, 2, 3]
    with pytest.raises(InvalidInput, match="with the array y"):
        read(where)
    with pytest.raises(InvalidInput, match="none for bag tumour_1"):
        read(where, labels={"normal_1": 0})
    with pytest.raises(InvalidInput, match="columns must be None for a packed folder"):
        read(where, labels=None, columns=[0])


def test_files_are_taken_in_the_order_given(tmp_path: Path) -> None:
    folder = slides(tmp_path)
    paths = [folder / f"{name}.npy" for name in ("tumour_1", "normal_1")]
    bags, y, ids = read(pack(paths, tmp_path / "two.bags", labels=LABELS))
    assert (ids.tolist(), y.tolist(), len(bags)) == (["tumour_1", "normal_1"], ["yes", "no"], 2)


@pytest.mark.parametrize(
    ("given", "kept"), [(np.float16, np.float32), (np.int16, np.float64), (">f4", np.float32)]
)
def test_kinds_of_numbers(tmp_path: Path, given: Any, kept: Any) -> None:
    values = np.asfortranarray(10 * arrays()["normal_1"]).astype(given)
    path = write_npy(tmp_path / "a", values)
    bags = read(pack(path, tmp_path / "bags"), labels=None).bags
    assert bags.dtype == kept
    np.testing.assert_array_equal(bags.tokens, values)


def spoiled(folder: Path, name: str, change: Callable[[np.ndarray], Any]) -> None:
    path = folder / f"{name}.npy"
    np.save(path, change(np.load(path)))


def with_nan(array: np.ndarray) -> np.ndarray:
    array[1, 3] = np.nan
    return array


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            lambda a: a[:, :4],
            r"tumour_1.npy must be of d = 5 and float32, as normal_1.npy; got 'd = 4",
        ),
        (lambda a: a.astype(float), "got 'd = 5 and float64"),
        (lambda a: a[0], r"shape \(L, d\) or \(1, L, d\); got 'float32 of shape \(5,\)"),
        (lambda a: a[:0], r"of at least one token of d >= 1; got 'shape \(0, 5\)"),
        (lambda a: a * 1j, "real numbers of shape .*; got 'complex64"),
        (lambda a: np.array([["x"]]), "got '<U1"),
        (lambda a: np.array([[object()]]), "of an array that can be read"),
        (with_nan, "finite .*; got 'nan at token 1, column 3"),
    ],
)
def test_files_that_are_refused(
    tmp_path: Path, change: Callable[[np.ndarray], Any], told: str
) -> None:
    folder = slides(tmp_path)
    spoiled(folder, "tumour_1", change)
    with pytest.raises(InvalidInput, match=told):
        pack(folder, tmp_path / "slides.bags")
    assert [one.name for one in tmp_path.iterdir()] == ["slides"]


def test_arguments_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, to = slides(tmp_path), tmp_path / "slides.bags"
    for files, told in (
        (tmp_path, r"a folder with files that end in .npy.* with slides"),
        (tmp_path / "none", "a folder that is there, or paths"),
        ([], "at least one path"),
        ([folder / "notes.txt"], "paths that end in .npy"),
        ([folder / "none.npy"], "which is not there"),
        ([folder / "normal_1.npy"] * 2, "several files normal_1"),
    ):
        with pytest.raises(InvalidInput, match=told):
            pack(files, to)
    with pytest.raises(InvalidInput, match="none for bag normal_1"):
        pack(folder, to, labels={"tumour_1": 1})
    with pytest.raises(InvalidInput, match="in a folder that is there"):
        pack(folder, tmp_path / "none" / "bags")
    with pytest.raises(InvalidInput, match="a path that is not there yet"):
        pack(folder, folder)
    with pytest.raises(InvalidInput, match="a sheet or a mapping from ids"):
        read(folder)
    monkeypatch.setattr(packed.shutil, "disk_usage", lambda path: type("", (), {"free": 179}))
    with pytest.raises(InvalidInput, match=r"a disk with 1\.8e-07 GB free"):  # 9 tokens of 20 bytes
        pack(folder, to)
    assert [one.name for one in tmp_path.iterdir()] == ["slides"]


@pytest.mark.parametrize("size", [300, 400])  # bytes: the tokens take 308, then the places 416
def test_a_full_disk_leaves_nothing(tmp_path: Path, size: int) -> None:
    folder, to = slides(tmp_path), tmp_path / "slides.bags"
    for name, array in arrays().items():
        (folder / f"{name}.npy").unlink()
        np.savez(folder / f"{name}.npz", features=array, coords=np.ones((len(array), 4)))
    with limited(size), pytest.raises(InvalidInput, match="File too large: nothing was written"):
        pack(folder, to)
    assert [one.name for one in tmp_path.iterdir()] == ["slides"]
    pack(folder, to)


def test_of_several_arrays_one_is_named(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py, of the extra data, is not installed")
    path, tokens = tmp_path / "a.h5", arrays()["normal_1"]
    with h5py.File(path, "w") as file:
        file["uni"], file["plip"] = tokens, np.zeros((3, 2))
    with pytest.raises(InvalidInput, match=r"got 'plip \(3, 2\), uni \(3, 5\)'\. dataset= names"):
        pack(path, tmp_path / "bags")
    with pytest.raises(InvalidInput, match="with the array tokens; got 'plip, uni"):
        pack(path, tmp_path / "bags", dataset="tokens")
    found = read(pack(path, tmp_path / "bags", dataset="uni"), labels=None)
    np.testing.assert_array_equal(found.bags.tokens, tokens)
    (tmp_path / "b.h5").write_bytes(b"no")
    with pytest.raises(InvalidInput, match="of an array that can be read"):
        pack(tmp_path / "b.h5", tmp_path / "more")


def test_an_array_is_looked_for_in_two_levels(tmp_path: Path) -> None:
    """Of a thousand nested groups each would be opened by its whole path."""
    h5py = pytest.importorskip("h5py", reason="h5py, of the extra data, is not installed")
    X = np.random.default_rng(0).standard_normal((3, 2))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["model/tokens"], file["other/deep/tokens"] = X, X + 1
        file["other/linked"] = h5py.SoftLink("/model/tokens")
    found = read(pack(tmp_path / "a.h5", tmp_path / "one"), labels=None)
    np.testing.assert_array_equal(found.bags.tokens, X)
    deep = pack(tmp_path / "a.h5", tmp_path / "two", dataset="/other/deep/tokens")
    np.testing.assert_array_equal(read(deep, labels=None).bags.tokens, X + 1)
    with pytest.raises(InvalidInput, match="with the array other/linked; got 'model/tokens'"):
        pack(tmp_path / "a.h5", tmp_path / "three", dataset="other/linked")


def test_a_damaged_part_is_of_the_file_not_of_the_folder(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py, of the extra data, is not installed")
    path, X = tmp_path / "a.h5", np.random.default_rng(0).standard_normal((50, 4))
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=X, chunks=(50, 4), fletcher32=True)
    content = path.read_bytes()
    at = content.index(X.tobytes())
    path.write_bytes(content[:at] + b"\x00\x01\x02" + content[at + 3 :])
    with pytest.raises(InvalidInput, match=r"FILE must be of an array that can be read.*a\.h5"):
        pack([path], tmp_path / "packed")
    assert not (tmp_path / "packed").exists()


def test_a_cut_map_is_refused(tmp_path: Path) -> None:
    where = pack(slides(tmp_path), tmp_path / "slides.bags", labels=LABELS)
    with (where / "tokens.npy").open("rb+") as file:
        file.truncate(200)
    with pytest.raises(InvalidInput, match="of bags and labels that can be read"):
        read(where)


def test_labels_and_ids_of_different_numbers_are_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "a.npy", np.ones((2, 3)))
    packed = pack(tmp_path, tmp_path / "bags", labels={"a": 1})
    np.save(packed / "y.npy", np.zeros(2))
    with pytest.raises(InvalidInput, match="array y must be of the shape"):
        read(packed)


def test_groups_are_packed_and_read(tmp_path: Path) -> None:
    patients = {"normal_1": "P1", "tumour_1": "P1", "tumour_2": "P2"}
    packed_bags = pack(slides(tmp_path), tmp_path / "slides.bags", labels=LABELS, groups=patients)
    found = read(packed_bags)
    assert found.groups is not None
    assert dict(zip(found.ids.tolist(), found.groups.tolist(), strict=True)) == patients
    with pytest.raises(InvalidInput, match="none for bag tumour_2"):
        pack(tmp_path / "slides", tmp_path / "again", groups={"normal_1": 0, "tumour_1": 1})
