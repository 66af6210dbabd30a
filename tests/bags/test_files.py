"""Bags and labels from files, as a user of the library reads them."""

import re
import zipfile
from pathlib import Path

import numpy as np
import pytest

from broken_files import MEMBERS, cut, flipped, write_npz
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
    assert (found.y.tolist(), found.ids.tolist()) == (["a", "b", "c"], ["2", "5", "9"])
    assert found.columns == ["2", "0"]
    assert found.left_out == ([] if kind == "arrays" else ["1", "note"])
    bare = read(path, labels=None)
    assert bare.bags.equals(as_bags(TOKENS.reshape(3, 2, 3)))
    assert len(bare.y) == 0


def test_messages_name_the_keywords(arrays: Path) -> None:
    with pytest.raises(
        InvalidInput, match=r"with the array z; got 'arrays X, bag, y'\. labels= na"
    ):
        read(arrays, labels="z")
    for table in ("z.csv", Path("z.csv")):
        with pytest.raises(InvalidInput, match=r"labels must be .*; got .*sheet= takes a table"):
            read(arrays, labels=table)
    with pytest.raises(InvalidInput, match="columns must be different ones of 0, 1, 2"):
        read(arrays, columns=[3])


def test_labels_may_lack_where_they_are_not_read(tmp_path: Path) -> None:
    path = tmp_path / "bags.npz"
    np.savez(path, X=TOKENS, bag=IDS[::-1], y=np.zeros(1))
    assert read(path, labels=None).ids.tolist() == ["9", "5", "2"]
    with pytest.raises(InvalidInput, match=r"array y must be one for each of 3 bags or 6 tokens"):
        read(path)
    np.savez(path, X=TOKENS, bag=IDS[::-1], y=Y)
    with pytest.raises(InvalidInput, match="array y must be a mapping from ids, where these do no"):
        read(path)


@pytest.mark.parametrize("shape", [(2, 3, 1, 1), (6,), ()])
def test_tokens_of_another_shape_are_refused_with_the_shapes_there_are(
    shape: tuple[int, ...], tmp_path: Path
) -> None:
    np.savez(tmp_path / "bags.npz", X=np.ones(shape), y=Y)
    with pytest.raises(InvalidInput, match="array X must be of shape"):
        read(tmp_path / "bags.npz")


@pytest.mark.slow
def test_a_zip_file_may_have_more_members_than_its_end_can_count(tmp_path: Path) -> None:
    path = write_npz(tmp_path / "bags.npz")
    with zipfile.ZipFile(path, "a") as packed:
        for number in range(2**16):
            packed.writestr(str(number), b"")
    assert len(read(path).bags) == 12


@pytest.mark.parametrize("name", MEMBERS)
def test_broken_members_are_refused(name: str, tmp_path: Path) -> None:
    members, word = MEMBERS[name]
    path = write_npz(tmp_path / "bags.npz", **members)
    with pytest.raises(InvalidInput, match=re.escape(word)):
        read(path)


def test_texts_of_either_order_of_bytes_are_read(tmp_path: Path) -> None:
    words = np.where(Y == "b", "\U0010ffff", "é")
    path = tmp_path / "bags.npz"
    np.savez(path, X=TOKENS, bag=IDS, y=words.astype(">U1"))
    assert read(path).y.tolist() == words.tolist()


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
    assert (found.ids.tolist(), found.y.tolist()) == (["2", "5", "9"], Y.tolist())


@pytest.mark.parametrize("kind", ["arrays", "rows"])
def test_a_cut_file_is_refused(kind: str, request: pytest.FixtureRequest) -> None:
    for path in cut(request.getfixturevalue(kind)):
        with pytest.raises(InvalidInput, match="FILE must be of bags and labels that can be read"):
            read(path)


def test_checksums_are_compared(arrays: Path, tmp_path: Path) -> None:
    """In Parquet without them a flipped bit may be another value, which nobody can see."""
    pandas, rows = pytest.importorskip("pandas"), tmp_path / "rows.parquet"
    pytest.importorskip("pyarrow")
    frame = pandas.DataFrame({"x": TOKENS[:, 0], "bag": IDS, "label": np.repeat(Y, 2)})
    options = {"compression": None, "use_dictionary": False, "write_page_checksum": True}
    frame.to_parquet(rows, **options)
    for path, values in ((arrays, TOKENS), (rows, TOKENS[:, 0])):
        assert len(read(path).bags) == 3
        with pytest.raises(InvalidInput, match="CRC"):
            read(flipped(path, values))
