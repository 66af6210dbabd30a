"""Rows with bag ids: arrays, frames and Parquet files, there and back."""

import sys
from pathlib import Path

import numpy as np
import pytest

from sparsetoken.bags import (
    Bags,
    as_bags,
    from_frame,
    from_long,
    read,
    to_frame,
)
from sparsetoken.base.validation import InvalidInput

pandas = pytest.importorskip("pandas", reason="the extra `data` is not installed")
pytest.importorskip("pyarrow", reason="the extra `data` is not installed")


def _bags(dtype: type = np.float64) -> Bags:
    rng = np.random.default_rng(0)
    return as_bags([rng.standard_normal((L, 3)).astype(dtype) for L in (2, 1, 5, 3)])


IDS = {
    "numbers": np.array([7, -1, 40, 2]),
    "words": np.array(["b", "a", "zebra", "a 2"]),
    "dates": np.array(["2020-01-02", "2020-01-01", "2021-01-01", "2019-01-01"], "datetime64[D]"),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", IDS)
def test_every_form_comes_back(dtype: type, kind: str, tmp_path: Path) -> None:
    bags, ids = _bags(dtype), IDS[kind]
    frame = to_frame(bags, ids)
    frame.to_parquet(tmp_path / "bags.parquet")
    ways = {
        "arrays": from_long(bags.tokens, np.repeat(ids, bags.sizes)),
        "frame": from_frame(frame),
        "parquet": read(tmp_path / "bags.parquet", labels=None),
    }
    for way, found in ways.items():
        assert found.bags.equals(bags), way
        assert found.ids.tolist() == ids.astype(str).tolist(), way


def test_rows_are_not_copied() -> None:
    bags = _bags()
    ids = [0, 0, 1, 2, 2, 2, 2, 2, 3, 3, 3]
    assert np.shares_memory(from_long(bags.tokens, ids).bags.tokens, bags.tokens)
    assert to_frame(bags)["bag"].tolist() == ids


@pytest.mark.parametrize(
    ("tokens", "ids", "message"),
    [
        (np.ones((4, 2)), [1, 1, 2], "bag_ids must be one for each of 4 tokens"),
        (np.ones((2, 2)), [[1, 2]], "bag_ids must be one for each of 2 tokens"),
        (np.ones((3, 2)), [1.0, np.nan, np.nan], "without missing values; got 'nan in row 1'"),
        (np.ones((2, 2)), np.array(["a", None], object), "got 'None in row 1'"),
        (np.ones((2, 2)), np.array([pandas.NA, "a"], object), "got '<NA> in row 0'"),
        (np.ones(3), [1, 2, 3], r"tokens must be an array of shape \(N, d\)"),
        (np.ones((0, 3)), [], r"tokens must be an array of shape \(N, d\), not empty"),
        ([["a"]], [1], "tokens must be an array of real numbers"),
        ([[1.0], [2.0], [np.inf]], [5, 6, 6], "got 'inf at bag 1, token 1, column 0'"),
    ],
)
def test_bad_rows(tokens: object, ids: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        from_long(tokens, ids)


@pytest.mark.parametrize("ids", [[1, 2, 3], [1, 2, 3, 1], [[1, 2, 3, 4]]])
def test_ids_that_do_not_fit(ids: list) -> None:
    with pytest.raises(InvalidInput, match="ids must be 4 different values"):
        to_frame(_bags(), ids)


def test_frames_take_named_columns_only() -> None:
    bags = _bags(np.float32)
    frame = to_frame(bags, bag="slide", columns=["r", "g", "b"])
    assert frame.columns.tolist() == ["slide", "r", "g", "b"]
    assert set(frame.dtypes[1:]) == {np.dtype(np.float32)}
    frame["label"] = [f"class {i % 2}" for i in frame["slide"]]
    found = from_frame(frame, bag="slide", columns=["b", "r"])
    assert np.array_equal(found.bags.tokens, bags.tokens[:, [2, 0]])
    found = from_frame(frame.rename(columns={"label": "note"}), "slide")
    assert (found.columns, found.left_out) == (["r", "g", "b"], ["note"])
    with pytest.raises(InvalidInput, match="column note must be of real numbers"):
        from_frame(frame.rename(columns={"label": "note"}), "slide", columns=["r", "note"])


def test_an_embedding_may_be_one_column_of_lists(tmp_path: Path) -> None:
    bags = _bags(np.float32)
    frame = pandas.DataFrame({"bag": to_frame(bags)["bag"], "x": list(bags.tokens), "z": "w"})
    frame.to_parquet(tmp_path / "lists.parquet")
    assert from_frame(frame, columns="x").bags.equals(bags)
    assert read(tmp_path / "lists.parquet", labels=None, columns=["x"]).bags.equals(bags)
    frame.at[3, "x"] = np.ones(2, np.float32)
    with pytest.raises(InvalidInput, match="column x must be of vectors of one dimension"):
        from_frame(frame, columns="x")


def test_bad_frames() -> None:
    frame = to_frame(_bags())
    with pytest.raises(
        InvalidInput,
        match=r"frame must be one with the column slide; got .columns bag, x0.*bag= name",
    ):
        from_frame(frame, bag="slide")
    with pytest.raises(InvalidInput, match="different ones of x0, x1, x2; got 'x0, x9'"):
        from_frame(frame, columns=["x0", "x9"])
    with pytest.raises(InvalidInput, match="column when must be of real numbers"):
        from_frame(frame.assign(when=pandas.Timestamp("2020-01-01")), columns=["when"])
    with pytest.raises(InvalidInput, match="columns must be 3 different names other than x0"):
        to_frame(_bags(), bag="x0")
    frame.loc[4, "x1"] = None
    with pytest.raises(InvalidInput, match="got 'nan at bag 2, token 1, column 1'"):
        from_frame(frame)


@pytest.mark.parametrize("missing", ["pandas", "pyarrow"])
def test_without_the_extra_the_message_names_it(
    missing: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    monkeypatch.setitem(sys.modules, f"{missing}.parquet", None)
    message = rf"{missing} must be installed .*sparsetoken\[data\]"
    (tmp_path / "bags.parquet").touch()
    with pytest.raises(InvalidInput, match=message):
        read(tmp_path / "bags.parquet", labels=None)


@pytest.mark.parametrize("kind", [int, str])
def test_ids_in_any_order(kind: type) -> None:
    ids = [kind(x) for x in (7, 3, 7, 9, 3, 7)]  # texts, whatever they were
    tokens = np.arange(6.0)[:, None]
    found = from_long(tokens, ids)
    assert found.ids.tolist() == ["7", "3", "9"]
    assert [bag[:, 0].tolist() for bag in found.bags] == [[0, 2, 5], [1, 4], [3]]
    np.testing.assert_array_equal(found.bags.tokens, tokens[found.rows])


def test_frames_of_polars() -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"slide": ["a", "b", "a"], "x": [1.0, 2.0, 3.0], "z": [4, 5, 6]})
    found = from_frame(frame, bag="slide")
    assert found.ids.tolist() == ["a", "b"]
    assert found.bags[0].tolist() == [[1, 4], [3, 6]]
    assert from_frame(frame.to_arrow(), bag="slide").bags.equals(found.bags)


def test_a_missing_number_of_a_nullable_column_is_placed() -> None:
    frame = pandas.DataFrame({"bag": [0, 0, 1], "x": [1.0, 2.0, 3.0], "z": [4, None, 6]})
    with pytest.raises(InvalidInput, match="got 'nan at bag 0, token 1, column 1'"):
        from_frame(frame.convert_dtypes())


@pytest.mark.parametrize("twice", ["bag", "x", "label"])
def test_columns_of_one_name_are_refused(twice: str) -> None:
    columns = {"bag": [0, 0, 1], "x": [1.0, 2.0, 3.0], "label": [0, 0, 1], twice + "2": [1, 2, 3]}
    frame = pandas.DataFrame(columns).rename(columns={twice + "2": twice})
    with pytest.raises(InvalidInput, match=f"of different names; got 'several named {twice}"):
        from_frame(frame, labels="label")


def test_ids_that_are_masked_are_refused():
    ids = np.ma.array(["a", "b", "a"], mask=[False, True, False])
    with pytest.raises(InvalidInput, match=r"bag_ids must be without masked values"):
        from_long(np.eye(3), ids)
    with pytest.raises(InvalidInput, match="ids must be without masked values"):
        to_frame(np.ones((3, 1, 2)), ids)
