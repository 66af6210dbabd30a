"""Labels that come with rows: whose they are, and what gives them away."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsetoken.bags import from_frame, from_long, pack, read
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledClassifier

pandas = pytest.importorskip("pandas", reason="the extra `data` is not installed")
pytest.importorskip("pyarrow", reason="the extra `data` is not installed")

SLIDES = [f"s{i}" for i in (9, 3, 5, 1, 8, 0, 2, 7, 4, 6, 12, 10)]  # not in sorted order
SICK = {slide: int(slide in SLIDES[::2]) for slide in SLIDES}


def _frame() -> Any:
    rng = np.random.default_rng(0)
    slides = np.repeat(SLIDES, 3)
    tokens = rng.standard_normal((len(slides), 4))
    frame = pandas.DataFrame(tokens, columns=list("abcd"))
    frame.insert(0, "slide", slides)
    return frame.assign(sick=[SICK[one] for one in slides])


WAYS: dict[str, Callable[[Any], Any]] = {
    "column": lambda frame: "sick",
    "rows": lambda frame: frame["sick"].to_numpy(),
    "mapping": lambda frame: SICK,
    "sorted series": lambda frame: frame.groupby("slide")["sick"].first(),
    "more bags than there are": lambda frame: {**SICK, "s99": 1},
}


@pytest.mark.parametrize("way", WAYS)
def test_each_bag_has_its_own_label(way: str, tmp_path: Path) -> None:
    frame = _frame()
    labels = WAYS[way](frame)
    bags, y, ids = from_frame(frame, "slide", labels=labels, columns=list("abcd"))
    assert ids.tolist() == SLIDES
    assert y.tolist() == [SICK[one] for one in SLIDES]
    assert bags.dimension == 4
    frame.to_parquet(tmp_path / "rows.parquet")
    again = read(tmp_path / "rows.parquet", labels=labels, bag="slide", columns=list("abcd"))
    assert again.y.tolist() == y.tolist()
    assert again.bags.equals(bags)
    if way != "column":
        long = from_long(frame[list("abcd")], frame["slide"], labels=labels)
        assert long.y.tolist() == y.tolist()


def test_ids_are_no_weights() -> None:
    found = from_frame(_frame(), "slide", labels="sick", columns=list("abcd"))
    with pytest.raises(TypeError, match="positional"):
        PooledClassifier().fit(*found)


def test_a_series_is_by_id_alone() -> None:
    frame = _frame()
    with pytest.raises(InvalidInput, match=r"a Series with one for each token.*labels\.to_numpy"):
        from_frame(frame, "slide", labels=frame["sick"])
    ids = np.repeat([3, 0, 2, 1], 2)  # all of them are row numbers too
    with pytest.raises(InvalidInput, match="a Series with one for each token"):
        from_long(np.eye(8), ids, labels=pandas.Series(ids % 2))
    by_id = pandas.Series([0, 1, 0, 1], index=[0, 1, 2, 3.0])  # 3.0 is 3
    assert from_long(np.eye(8), ids, labels=by_id).y.tolist() == [1, 0, 0, 1]
    assert from_long(np.eye(8), ids, labels=ids % 2).y.tolist() == [1, 0, 0, 1]
    with pytest.raises(InvalidInput, match="same in all tokens of a bag; got 'two in bag 3: 0 and"):
        from_long(np.eye(8), ids, labels=np.arange(8) % 2)


@pytest.mark.parametrize(
    "index", [["c", "a2", "b"], ["C", "B", "A"], ["c", "b"], ["c", "c", "b"], [0.5, 1.5, 2.5]]
)
def test_a_series_of_ids_that_lacks_a_bag_is_not_taken_by_place(index: list[object]) -> None:
    labels = pandas.Series(np.arange(len(index)) % 2, index=index)
    with pytest.raises(InvalidInput, match=r"one for each bag; got '(none for a|two for c)"):
        from_long(np.eye(6), list("aabbcc"), labels=labels)


@pytest.mark.parametrize("index", [[0, 1, 2], [2, 0, 1], [2, 5, 7], [1, 2, 3]])
def test_a_series_without_the_ids_is_not_taken_by_place(index: list[int], tmp_path: Path) -> None:
    labels = pandas.Series([1, 0, 1], index=index)
    for ids in (list("aabbcc"), list("445566")):
        with pytest.raises(InvalidInput, match=rf"none for .*given are for {index[0]}, "):
            from_long(np.eye(6), ids, labels=labels)
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", np.eye(2))
    with pytest.raises(InvalidInput, match="none for a"):
        pack(tmp_path, tmp_path / "packed", labels=labels)


def test_a_series_is_by_place_for_bags_without_ids_of_their_own(tmp_path: Path) -> None:
    np.savez(tmp_path / "bags.npz", X=np.random.default_rng(0).standard_normal((3, 4, 2)))
    path = tmp_path / "bags.npz"
    for labels in (pandas.Series([5, 6, 7]), pandas.Series([6, 7, 5], index=[1, 2, 0])):
        assert read(path, labels=labels).y.tolist() == [5, 6, 7]
    with pytest.raises(InvalidInput, match="none for 0"):
        read(path, labels=pandas.Series([5, 6, 7], index=[1, 2, 3]))


def test_a_series_with_two_labels_for_an_id_is_refused() -> None:
    labels = pandas.Series([0, 1, 1, 0], index=list("abca"))
    with pytest.raises(InvalidInput, match="one for each bag; got 'two for a'"):
        from_long(np.eye(6), list("aabbcc"), labels=labels)


def test_the_column_of_labels_is_no_token() -> None:
    found = from_frame(_frame(), "slide", labels="sick")
    assert found.columns == ["a", "b", "c", "d"]
    texts = _frame().assign(sick=np.repeat(["yes", "no"] * 6, 3))
    assert from_frame(texts, "slide", labels="sick").y.tolist() == ["yes", "no"] * 6


def test_an_array_by_bag_needs_one_possible_order() -> None:
    tokens, y = np.random.default_rng(0).standard_normal((6, 2)), [1, 0, 1]
    found = from_long(tokens, [1, 1, 4, 4, 7, 7], labels=y)
    assert found.y.tolist() == y
    holds = "LabelledBags(Bags(3 bags of 2 tokens, d = 2, float64), {})"
    assert repr(found) == holds.format("labels 0, 1")
    assert from_long(tokens, [9, 9, 10, 10, 11, 11], labels=y).y.tolist() == y  # as numbers rise
    with pytest.raises(InvalidInput, match=r"appear as 4, 1, 7.*dict\(zip\(ids, labels\)\)"):
        from_long(tokens, [4, 4, 1, 1, 7, 7], labels=y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            "sic",
            "frame must be one with the column sic; got 'columns slide, a.*Did you mean sick",
        ),
        ("slide", "with a column each for ids, labels and groups"),
        ({"s9": 1}, "labels must be one for each bag; got 'none for s3, s5, "),
        ([0, 1], r"one for each of 12 bags or 36 tokens, or a mapping"),
        (np.arange(36) % 2, "got 'two in bag s9: 0 and 1'"),
        ({**SICK, "s5": None}, "without missing values; got 'None for bag s5'"),
        ({**dict.fromkeys(SICK, "no"), "s5": ""}, "without missing values; got .'' for bag s5"),
        (
            np.where(np.arange(36) // 3 == 1, np.nan, 1.0),
            "without missing values; got .nan for bag s3",
        ),
        (
            np.where(np.arange(36) == 5, np.nan, 1.0),
            "without missing values; got .nan for bag s3",
        ),
        (dict.fromkeys(SLIDES, "no") | {"s5": np.nan}, "got .nan for bag s5"),
        (np.array(["no"] * 36, dtype="S2"), "of texts, of truth values or of finite numbers"),
        (np.full(36, 1j), "of texts, of truth values or of finite numbers"),
        (np.full(36, np.inf), "got 'infinity'"),
    ],
)
def test_labels_that_do_not_fit(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_frame(_frame(), "slide", labels=labels, columns=list("abcd"))


def test_a_column_of_labels_is_never_one_of_the_tokens() -> None:
    found = from_frame(_frame().rename(columns={"sick": "y"}), "slide")
    assert (found.columns, found.left_out, len(found.y)) == (list("abcd"), ["y"], 0)


def test_every_reader_takes_groups(tmp_path: Path) -> None:
    pd = pytest.importorskip("pandas")
    ids, patient = np.repeat(["b", "a", "c"], 2), {"a": "P1", "b": "P2", "c": "P1"}
    column = [patient[one] for one in ids.tolist()]
    X, expected = np.arange(12.0).reshape(6, 2) ** 2, ["P2", "P1", "P1"]
    frame = pd.DataFrame(X, columns=["u", "v"]).assign(bag=ids, patient=column)
    np.savez(tmp_path / "bags.npz", X=X, bag=ids, y=[1, 0, 1] * 2, patient=column)
    np.savez(tmp_path / "named.npz", X=X, bag=ids, groups=column)
    found = [
        from_long(X, ids, groups=patient),
        from_long(X, ids, groups=column),
        from_frame(frame.drop(columns="patient"), groups=pd.Series(patient)),
        from_frame(frame, groups="patient"),
        read(tmp_path / "bags.npz", labels=None, groups="patient"),
        read(tmp_path / "named.npz", labels=None),
    ]
    for one in found:
        assert one.groups is not None
        assert one.groups.tolist() == expected
        assert one.columns in (["u", "v"], ["0", "1"])
    assert from_long(X, ids).groups is None
    assert read(tmp_path / "named.npz", labels=None, groups=None).groups is None
    with pytest.raises(
        InvalidInput, match="groups must be the same in all tokens of a bag; got 'two in bag b"
    ):
        from_long(X, ids, groups=["P1", "P2"] * 3)
