"""Bags packed from a file for each bag, and read as a memory map."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from command_line import limited
from sparsetoken.bags import SkippedWarning, as_bags, pack, read
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
        file["features"] = array
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
    where = pack(slides(tmp_path), tmp_path / "slides.bags", labels=None)
    assert read(where, labels=None).y.size == 0
    assert read(where, labels=LABELS).y.tolist() == ["no", "yes", "yes"]
    np.save(where / "grade.npy", [1, 2, 3])
    assert read(where, labels="grade").y.tolist() == [1, 2, 3]
    with pytest.raises(InvalidInput, match="with the array y"):
        read(where)
    with pytest.raises(InvalidInput, match="none for tumour_1"):
        read(where, labels={"normal_1": 0})
    with pytest.raises(InvalidInput, match="columns must be left out for a packed folder"):
        read(where, labels=None, columns=[0])
    with pytest.raises(InvalidInput, match="bag must be left out for a packed folder"):
        read(where, labels=None, bag=0)


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
    bags = read(pack(path, tmp_path / "bags", labels=None), labels=None).bags
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
            r"tumour_1.npy must be with tokens of d = 5 and float32, as normal_1.npy; got 'd = 4",
        ),
        (lambda a: a.astype(float), "got 'd = 5 and float64"),
        (lambda a: a[0], r"shape \(L, d\) or \(1, L, d\); got 'float32 of shape \(5,\)"),
        (lambda a: a[:0], "got '1 of 3 bags without a token, .*: tumour_1'. skip_invalid=True"),
        (lambda a: a * 1j, "real numbers of shape .*; got 'complex64"),
        (lambda a: np.array([["x"]]), "got '<U1"),
        (lambda a: np.array([[object()]]), "of bags and labels that can be read"),
        (with_nan, r"of finite tokens; got 'NaN or infinity in tumour_1\.npy'. skip_invalid=True"),
    ],
)
def test_files_that_are_refused(
    tmp_path: Path, change: Callable[[np.ndarray], Any], told: str
) -> None:
    folder = slides(tmp_path)
    spoiled(folder, "tumour_1", change)
    with pytest.raises(InvalidInput, match=told):
        pack(folder, tmp_path / "slides.bags", labels=None)
    assert [one.name for one in tmp_path.iterdir()] == ["slides"]


def test_arguments_that_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, to = slides(tmp_path), tmp_path / "slides.bags"
    (tmp_path / "empty").mkdir()
    for source, told in (
        (tmp_path / "empty", "with files of one ending, of .npy.* got 'none'"),
        (tmp_path / "none", "FILE must be a file or a folder that is there"),
        (tmp_path / "none*.npy", "with files of one ending.* got 'none'"),
        ([], "with files of one ending.* got 'none'"),
        ([folder / "notes.txt"], r"got 'files \.txt'"),
        ([folder / "none.npy"], "none.npy, not there"),
        ([folder / "normal_1.npy"] * 2, "several files normal_1"),
    ):
        with pytest.raises(InvalidInput, match=told):
            pack(source, to, labels=None)
    (tmp_path / "empty").rmdir()
    with pytest.raises(InvalidInput, match="none for normal_1"):
        pack(folder, to, labels={"tumour_1": 1})
    with pytest.raises(InvalidInput, match="in a folder that is there"):
        pack(folder, tmp_path / "none" / "bags", labels=None)
    with pytest.raises(InvalidInput, match="a path that is not there yet"):
        pack(folder, folder)
    with pytest.raises(InvalidInput, match="in a sheet or a mapping from ids"):
        read(folder)
    monkeypatch.setattr("shutil.disk_usage", lambda path: type("", (), {"free": 179}))
    with pytest.raises(InvalidInput, match=r"a disk with 1\.8e-07 GB free"):  # 9 tokens of 20 bytes
        pack(folder, to, labels=None)
    assert [one.name for one in tmp_path.iterdir()] == ["slides"]


@pytest.mark.parametrize("size", [300, 400])  # bytes: the tokens take 308, then the places 416
def test_a_full_disk_leaves_nothing(tmp_path: Path, size: int) -> None:
    folder, to = slides(tmp_path), tmp_path / "slides.bags"
    for name, array in arrays().items():
        (folder / f"{name}.npy").unlink()
        np.savez(folder / f"{name}.npz", features=array, coords=np.ones((len(array), 4)))
    with limited(size), pytest.raises(InvalidInput, match="File too large: nothing was written"):
        pack(folder, to, labels=None)
    assert [one.name for one in tmp_path.iterdir()] == ["slides"]
    pack(folder, to, labels=None)


def test_an_array_is_named_in_groups_too(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py, of the extra data, is not installed")
    X = np.random.default_rng(0).standard_normal((3, 2))
    with h5py.File(tmp_path / "a.h5", "w") as file:
        file["model/tokens"], file["other/deep/tokens"] = X, X + 1
        file["other/linked"] = h5py.SoftLink("/model/tokens")
    for k, name in enumerate(("model/tokens", "/other/deep/tokens")):
        packed = pack(tmp_path / "a.h5", tmp_path / f"{k}", dataset=name, labels=None)
        np.testing.assert_array_equal(read(packed, labels=None).bags.tokens, X + k)
    told = r"with an array other/linked; got 'model/tokens \(3, 2\), other/deep"
    with pytest.raises(InvalidInput, match=told):
        pack(tmp_path / "a.h5", tmp_path / "three", dataset="other/linked", labels=None)
    (tmp_path / "b.h5").write_bytes(b"no")
    with pytest.raises(InvalidInput, match="of bags and labels that can be read"):
        pack(tmp_path / "b.h5", tmp_path / "more", labels=None)


def test_slides_without_tokens_or_with_nan_are_left_out_by_name(tmp_path: Path) -> None:
    folder = slides(tmp_path)
    spoiled(folder, "tumour_1", with_nan)
    np.save(folder / "empty.npy", np.empty((0, 5), np.float32))
    ids, sizes = np.repeat(list(SIZES), list(SIZES.values())), [*SIZES.values()]
    X = np.concatenate([np.load(folder / f"{name}.npy") for name in SIZES])
    np.savez(tmp_path / "bags.npz", X=X, bag=ids, y=np.repeat(["no", "yes", "yes"], sizes))
    given = {"labels": {**LABELS, "empty": "no"}}
    told = r"Left out 2 of 4 bags without a token, or with NaN or infinity: empty, tumour_1\."
    for read_it in (
        lambda: read(folder, skip_invalid=True, **given),
        lambda: read(pack(folder, tmp_path / "packed", skip_invalid=True, **given)),
    ):
        with pytest.warns(SkippedWarning, match=told):
            found = read_it()
        assert (found.ids.tolist(), found.y.tolist()) == (["normal_1", "tumour_2"], ["no", "yes"])
    with pytest.raises(InvalidInput, match=r"got '1 of 4 bags .*: empty'\. skip_invalid=True le"):
        read(folder, **given)
    np.save(folder / "tumour_1.npy", np.ones((3, 5), np.float32))
    found = read(folder, empty=True, **given)  # as `predict` takes them
    assert dict(zip(found.ids.tolist(), found.bags.sizes.tolist(), strict=True))["empty"] == 0
    with pytest.warns(SkippedWarning, match="Left out 1 of 3"):
        found = read(tmp_path / "bags.npz", skip_invalid=True)
    assert (found.ids.tolist(), found.skipped) == (["normal_1", "tumour_2"], ["tumour_1"])
    assert found.y.tolist() == ["no", "yes"]
    with pytest.raises(InvalidInput, match=r"got '1 of 3 bags .*: tumour_1'"):
        read(tmp_path / "bags.npz")
    np.savez(tmp_path / "none.npz", X=np.full((3, 2, 2), np.nan), y=[0, 1, 0])
    with pytest.raises(InvalidInput, match="3 of 3 bags"):  # of which none would be left
        read(tmp_path / "none.npz", skip_invalid=True)


def test_a_packed_folder_opens_without_a_look_at_its_tokens(tmp_path: Path) -> None:
    where = pack(slides(tmp_path), tmp_path / "slides.bags", labels=LABELS)
    spoiled(where, "tokens", with_nan)  # would be seen
    bags = read(where).bags
    with pytest.raises(InvalidInput, match="nan at bag 0, token 1, column 3"):
        as_bags(bags)


def test_a_damaged_part_is_of_the_file_not_of_the_folder(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py", reason="h5py, of the extra data, is not installed")
    path, X = tmp_path / "a.h5", np.random.default_rng(0).standard_normal((50, 4))
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=X, chunks=(50, 4), fletcher32=True)
    content = path.read_bytes()
    at = content.index(X.tobytes())
    path.write_bytes(content[:at] + b"\x00\x01\x02" + content[at + 3 :])
    with pytest.raises(InvalidInput, match=r"FILE must be of bags and labels that .*a\.h5"):
        pack([path], tmp_path / "packed", labels=None)
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
    np.save(packed / "y.npy", np.zeros(3))
    with pytest.raises(InvalidInput, match=r"array y must be one for each of 1 bags or 2 tokens"):
        read(packed)


def test_groups_are_packed_and_read(tmp_path: Path) -> None:
    patients = {"normal_1": "P1", "tumour_1": "P1", "tumour_2": "P2"}
    packed_bags = pack(slides(tmp_path), tmp_path / "slides.bags", labels=LABELS, groups=patients)
    found = read(packed_bags)
    assert found.groups is not None
    assert dict(zip(found.ids.tolist(), found.groups.tolist(), strict=True)) == patients
    with pytest.raises(InvalidInput, match="none for tumour_2"):
        pack(
            tmp_path / "slides",
            tmp_path / "again",
            labels=None,
            groups={"normal_1": 0, "tumour_1": 1},
        )


def test_columns_that_were_packed_are_found_by_their_names(tmp_path: Path) -> None:
    sheet = tmp_path / "sheet.csv"
    rows = [f"{name},{label},P{k}" for k, (name, label) in enumerate(LABELS.items())]
    sheet.write_text("\n".join(["slide,diagnosis,case_id", *rows]))
    asked = {"labels": "diagnosis", "groups": "case_id"}
    where = pack(slides(tmp_path), tmp_path / "slides.bags", sheet=sheet, **asked)
    for given in (asked, {}, {"labels": "y", "groups": "groups"}):
        found = read(where, **given)
        assert found.y.tolist() == ["no", "yes", "yes"]
        assert found.groups.tolist() == ["P1", "P2", "P0"]
    with pytest.raises(InvalidInput, match=r"with the array case; got .* groups= names another"):
        read(where, groups="case")
    with pytest.raises(InvalidInput, match="with the array grade; "):
        read(where, labels="grade")


def test_a_folder_that_is_not_there_is_said_to_be_none(tmp_path: Path) -> None:
    for name in ("slides", "slides.csv", "slides.docx"):
        with pytest.raises(InvalidInput, match="FILE must be a file or a folder that is there"):
            read(tmp_path / name)
