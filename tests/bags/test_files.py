"""Bags and labels from files, as a user of the library reads them."""

from pathlib import Path

import numpy as np
import pytest

from sparsetoken.bags import as_bags, read
from sparsetoken.validation import InvalidInput

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
