"""Labels that come with rows: whose they are, and what gives them away."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sparsetoken.bags import from_frame, from_long, pack, read
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledLinearClassifier

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
    "series of rows": lambda frame: frame["sick"],
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
        PooledLinearClassifier().fit(*found)


def test_a_series_of_rows_is_not_taken_by_ids_that_are_numbers_of_rows() -> None:
    tokens = np.random.default_rng(0).standard_normal((8, 2))
    ids = np.repeat([3, 0, 2, 1], 2)  # all of them are row numbers too
    rows = pandas.Series(ids % 2)
    by_rows = from_long(tokens, ids, labels=rows)
    assert by_rows.y.tolist() == [1, 0, 0, 1]
    by_id = pandas.Series([0, 1, 0, 1])  # its index, 0 to 3, holds the ids
    assert from_long(tokens, ids, labels=by_id).y.tolist() == [1, 0, 0, 1]
    with pytest.raises(InvalidInput, match="two labels in bag 3"):
        from_long(tokens, ids, labels=pandas.Series(np.arange(8) % 2))
    with pytest.raises(InvalidInput, match=r"one possible order.*labels\.to_dict\(\)"):
        from_long(tokens[::2], ids[::2], labels=by_id)


@pytest.mark.parametrize(
    "index", [["c", "a2", "b"], ["C", "B", "A"], ["c", "b"], ["c", "c", "b"], [0.5, 1.5, 2.5]]
)
def test_a_series_of_ids_that_lacks_a_bag_is_not_taken_by_place(index: list[object]) -> None:
    labels = pandas.Series(np.arange(len(index)) % 2, index=index)
    with pytest.raises(InvalidInput, match="one for each bag; got 'none for bag a'"):
        from_long(np.eye(6), list("aabbcc"), labels=labels)


def test_a_table_of_labels_is_refused_with_a_remedy() -> None:
    table = pandas.DataFrame({"id": list("abc"), "sick": [1, 0, 1]})
    with pytest.raises(
        InvalidInput, match=r'got \'a table\'. Give table.set_index\("ID"\)\["LABEL'
    ):
        from_long(np.eye(6), list("aabbcc"), labels=table)
    by_id = table.set_index("id")["sick"]
    assert from_long(np.eye(6), list("aabbcc"), labels=by_id).y.tolist() == [1, 0, 1]


@pytest.mark.parametrize("index", [[0, 1, 2], [2, 0, 1], [2, 5, 7], [1, 2, 3]])
def test_a_series_without_the_ids_is_not_taken_by_place(index: list[int], tmp_path: Path) -> None:
    labels = pandas.Series([1, 0, 1], index=index)
    for ids in (list("aabbcc"), list("112233")):  # numbers in names of files are texts
        with pytest.raises(
            InvalidInput, match=rf"none for bag .*given such as {index[0]}\..*set_ind"
        ):
            from_long(np.eye(6), ids, labels=labels)
    for name in "abc":
        np.save(tmp_path / f"{name}.npy", np.eye(2))
    with pytest.raises(InvalidInput, match="none for bag a"):
        pack(tmp_path, tmp_path / "packed", labels=labels)


def test_a_series_is_by_place_for_bags_without_ids_of_their_own(tmp_path: Path) -> None:
    np.savez(tmp_path / "bags.npz", X=np.random.default_rng(0).standard_normal((3, 4, 2)))
    path = tmp_path / "bags.npz"
    for labels in (pandas.Series([5, 6, 7]), pandas.Series([6, 7, 5], index=[1, 2, 0])):
        assert read(path, labels=labels).y.tolist() == [5, 6, 7]
    with pytest.raises(InvalidInput, match="none for bag 0"):
        read(path, labels=pandas.Series([5, 6, 7], index=[1, 2, 3]))


def test_a_series_with_two_labels_for_an_id_is_refused() -> None:
    labels = pandas.Series([0, 1, 1, 0], index=list("abca"))
    with pytest.raises(InvalidInput, match=r"one for each bag; got \"two for 'a'"):
        from_long(np.eye(6), list("aabbcc"), labels=labels)


def test_a_column_of_a_filtered_table_goes_by_its_rows() -> None:
    frame = _frame().sample(30, random_state=0)
    found = from_frame(frame, "slide", labels=frame["sick"], columns=list("abcd"))
    assert found.y.tolist() == [SICK[one] for one in found.ids]
    long = from_long(frame[list("abcd")], frame["slide"], labels=frame["sick"])
    assert long.y.tolist() == found.y.tolist()
    numbers = frame["slide"].str[1:].astype(int)  # all of them are row numbers too
    assert from_long(frame[["a"]], numbers, labels=frame["sick"]).y.tolist() == found.y.tolist()
    with pytest.raises(InvalidInput, match=r"another index.*labels\.to_numpy\(\) stands by rows"):
        from_long(frame[["a"]], numbers.to_numpy(), labels=frame["sick"])


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
    assert repr(found.only(["0", "1"]).against_rest("1")) == holds.format("labels False, True")
    with pytest.raises(InvalidInput, match=r"appear as 4, 1, 7.*dict\(zip\(ids, labels\)\)"):
        from_long(tokens, [4, 4, 1, 1, 7, 7], labels=y)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        ("sic", "frame must be with the column sic; got 'columns slide, a, b, c, d, sick'"),
        ("slide", "labels must be another column than that of the bag ids; got 'slide'"),
        ({"s9": 1}, "labels must be one for each bag; got 'none for bag s3'"),
        ([0, 1], r"one for each of 12 bags or 36 tokens, or a mapping"),
        (np.arange(36) % 2, "got 'two labels in bag s9, the second in row 1'"),
        ({**SICK, "s5": None}, "without missing labels; got 'None for bag s5'"),
        (
            np.where(np.arange(36) // 3 == 1, np.nan, 1.0),
            "without missing labels; got .nan for bag s3",
        ),
        (
            np.where(np.arange(36) == 5, np.nan, 1.0),
            "without missing labels; got .nan for bag s3",
        ),
        (dict.fromkeys(SLIDES, "no") | {"s5": np.nan}, "got .nan for bag s5"),
        (np.array(["no"] * 36, dtype="S2"), "of texts or finite numbers"),
        (np.full(36, 1j), "of texts or finite numbers"),
        (np.full(36, np.inf), "got 'infinity'"),
    ],
)
def test_labels_that_do_not_fit(labels: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_frame(_frame(), "slide", labels=labels, columns=list("abcd"))


def test_a_column_of_labels_left_among_tokens_is_noticed() -> None:
    with pytest.raises(InvalidInput, match='labels="y" takes it as labels'):
        from_frame(_frame().rename(columns={"sick": "y"}), "slide")


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
    with pytest.raises(InvalidInput, match="two groups in bag b"):
        from_long(X, ids, groups=["P1", "P2"] * 3)


def test_a_path_is_no_label_of_arrays() -> None:
    with pytest.raises(InvalidInput, match=r"got 'labels\.csv'\. read and pack take the path"):
        from_long(np.eye(2), ["a", "b"], labels="labels.csv")
