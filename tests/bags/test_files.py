"""Bags and labels from files, as a user of the library reads them."""

import contextlib
import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from hostile_files import MEMBERS, METADATA, damaged, little_memory, write_npz, write_parquet
from sparsetoken import bags
from sparsetoken.bags import as_bags, read
from sparsetoken.base.validation import InvalidInput

TOKENS = np.random.default_rng(0).standard_normal((6, 3))
IDS, Y = np.repeat([2, 5, 9], 2), np.array(["a", "b", "c"])


@pytest.fixture
def arrays(tmp_path: Path) -> Path:
    path = tmp_path / "bags.npz"
    np.savez(path, X=TOKENS, bag=IDS, y=Y)
    return path


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "bags.parquet"
    frame = pandas.DataFrame(TOKENS, columns=["0", "1", "2"])
    frame.assign(bag=IDS, label=np.repeat(Y, 2), note="-").to_parquet(path)
    return path


@pytest.mark.parametrize("kind", ["arrays", "rows"])
def test_both_kinds_of_files(kind: str, request: pytest.FixtureRequest) -> None:
    path = request.getfixturevalue(kind)
    found = read(str(path), columns=[2, 0])
    assert found.bags.equals(as_bags(TOKENS[:, [2, 0]].reshape(3, 2, 2)))
    assert (found.y.tolist(), found.ids.tolist()) == (["a", "b", "c"], [2, 5, 9])
    assert found.columns == ["2", "0"]
    assert found.left_out == ([] if kind == "arrays" else ["1", "note"])
    bare = read(path, labels=None)
    assert bare.bags.equals(as_bags(TOKENS.reshape(3, 2, 3)))
    assert len(bare.y) == 0


def test_one_label_against_the_rest(arrays: Path) -> None:
    found = read(arrays)
    with pytest.raises(InvalidInput, match="positive=LABEL compares one of them"):
        found.check_two_classes()
    two = found.against_rest("b")
    assert two.y.tolist() == [False, True, False]
    two.check_two_classes()
    with pytest.raises(InvalidInput, match="positive must be one of the labels a, b, c"):
        found.against_rest("d")


def test_messages_name_the_keywords(arrays: Path) -> None:
    with pytest.raises(InvalidInput, match="labels= and bag= name the arrays"):
        read(arrays, labels="z")
    with pytest.raises(InvalidInput, match="columns must be different ones of 0, 1, 2"):
        read(arrays, columns=[3])


def test_labels_may_lack_where_they_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "bags.npz"
    np.savez(path, X=TOKENS, bag=IDS[::-1], y=np.zeros(1), label=np.zeros(1))
    assert read(path, labels=None).ids.tolist() == [9, 5, 2]
    with pytest.raises(InvalidInput, match="one of label and y"):
        read(path)


@pytest.mark.parametrize("shape", [(2, 3, 1, 1), (6,), ()])
def test_tokens_of_another_shape_are_refused_with_the_shapes_there_are(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    np.savez(tmp_path / "bags.npz", X=np.ones(shape), y=Y)
    with pytest.raises(InvalidInput, match="array X must be of shape"):
        read(tmp_path / "bags.npz")


def test_a_zip_file_may_have_more_members_than_its_end_can_count(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "bags.npz")
    with zipfile.ZipFile(path, "a") as packed:
        for number in range(2**16):
            packed.writestr(str(number), b"")
    assert len(read(path).bags) == 12


@pytest.mark.parametrize("name", MEMBERS)
def test_hostile_members_are_refused(name: str, tmp_path: Path) -> None:
    members, word = MEMBERS[name]
    path = write_npz(tmp_path / "bags.npz", **members)
    with little_memory(), pytest.raises(InvalidInput, match=re.escape(word)):
        read(path)


def test_texts_of_either_order_of_bytes_are_read(tmp_path: Path) -> None:
    """The check of code points reads them in the order in which they stand."""
    words = np.where(Y == "b", "\U0010ffff", "é")
    path = tmp_path / "bags.npz"
    np.savez(path, X=TOKENS, bag=IDS, y=words.astype(">U1"))
    assert read(path).y.tolist() == words.tolist()


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_methods_of_packing_are_refused(arrays: Path, method: int, tmp_path: Path) -> None:
    """Python unpacks them a block at once, whatever size they declare."""
    path = tmp_path / "packed.npz"
    with zipfile.ZipFile(arrays) as old, zipfile.ZipFile(path, "w", method) as new:
        for name in old.namelist():
            new.writestr(name, old.read(name))
    with pytest.raises(InvalidInput, match="stored or deflated"):
        read(path)


def test_a_mask_whose_name_is_damaged_is_not_overlooked(tmp_path: Path) -> None:
    path = tmp_path / "bags.npz"
    mask = np.array([[True, True], [True, False], [True, True]])
    np.savez(path, X=TOKENS.reshape(3, 2, 3), y=Y, mask=mask)
    assert read(path).bags.sizes.tolist() == [2, 1, 2]
    before, _, after = path.read_bytes().rpartition(b"mask.npy")  # in the directory
    path.write_bytes(before + b"masj.npy" + after)
    with pytest.raises(InvalidInput, match="differ"):
        read(path)


def test_whole_numbers_are_counted_as_the_floats_they_become(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "bags.npz"
    np.savez(path, X=np.zeros((100, 10, 30), np.int8), y=np.arange(100) % 2)
    monkeypatch.setattr("sparsetoken.base.untrusted.machine_memory", lambda: 400_000)
    with pytest.raises(InvalidInput, match="unpacks to at most"):
        read(path)


@pytest.mark.parametrize("kind", [np.float16, np.float64, np.int64])
@pytest.mark.parametrize("share", [0.3, 0.45])
def test_what_is_read_fits_into_the_memory_with_its_copies(
    tmp_path: Path, kind: type, share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, memory = tmp_path / "bags.npz", 40_000_000
    X = np.zeros((int(share * memory) // np.dtype(kind).itemsize // 100, 100), kind)
    np.savez_compressed(path, X=X, bag=np.arange(len(X)) % 7, y=np.arange(len(X)) % 7 % 2)
    monkeypatch.setattr("sparsetoken.base.untrusted.machine_memory", lambda: memory)
    with little_memory(memory), contextlib.suppress(InvalidInput):
        read(path)


@pytest.mark.parametrize("name", METADATA)
def test_wrong_metadata_of_pandas_is_refused(name: str, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    path = write_parquet(tmp_path / "bags.parquet", METADATA[name])
    with little_memory(), pytest.raises(InvalidInput, match="FILE"):
        read(path)


def test_texts_of_a_table_that_are_no_utf_8_are_refused(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "bags.parquet"
    frame = pandas.DataFrame({"bag": ["one", "two"], "x": [1.0, 2.0], "label": ["a", "b"]})
    frame.to_parquet(path, compression=None)
    path.write_bytes(path.read_bytes().replace(b"two", b"t\xffo"))
    with pytest.raises(InvalidInput, match="Invalid UTF8"):
        read(path)


def test_columns_may_have_numbers_as_names(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    path = tmp_path / "bags.parquet"
    pandas.DataFrame({0: IDS, 1: np.repeat(Y, 2), 2: TOKENS[:, 0]}).to_parquet(path)
    found = read(path, bag="0", labels="1")
    assert (found.ids.tolist(), found.y.tolist()) == ([2, 5, 9], Y.tolist())


@pytest.mark.parametrize("kind", ["npz", "deflated", "parquet", "checksums"])
def test_a_damaged_file_is_refused_or_read_as_it_was(kind: str, tmp_path: Path) -> None:
    """In Parquet without checksums a flipped bit may be another value, which nobody can see."""
    path = tmp_path / ("bags.npz" if kind in ("npz", "deflated") else "bags.parquet")
    if path.suffix == ".npz":
        mask = np.arange(2) < [[2], [1], [2]]
        packed = np.savez_compressed if kind == "deflated" else np.savez
        packed(path, X=TOKENS.reshape(3, 2, 3), y=Y, mask=mask)
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        write_parquet(path)
    else:
        pytest.importorskip("pyarrow")
        frame = bags.to_frame(as_bags(TOKENS.reshape(3, 2, 3)), Y)
        frame.to_parquet(path, write_page_checksum=True)
    labels = None if kind == "checksums" else ""
    whole, refusals = read(path, labels=labels), 0
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        try:
            with little_memory():
                found = read(path, labels=labels)
        except InvalidInput:
            refusals += 1
            continue
        if kind != "parquet":
            assert found.bags.equals(whole.bags)
            assert (found.y.tolist(), found.ids.tolist()) == (whole.y.tolist(), whole.ids.tolist())
    assert refusals > 20  # a cut file, at the least, is never read
