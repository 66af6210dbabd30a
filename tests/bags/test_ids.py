"""Ids are texts, and labels values of one kind: what NumPy would make one is refused."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetoken.bags import from_long, to_frame
from sparsetoken.bags.labels import id_texts, read_labels
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledClassifier

NEAR = [0, 1, 2**53, 2**53 + 1, 2**63, 2**64, -1, 0.5, 1.0, 2.0**53, True, False, "True", "1", ""]
NEAR += ["1.0", "a", "a\0", " a", "é", "e\u0301", b"a", np.str_("a"), np.int8(1)]
VALUES = st.sampled_from(NEAR) | st.text(max_size=3) | st.integers() | st.booleans() | st.floats()


@settings(max_examples=300, derandomize=True, deadline=None)
@given(st.lists(VALUES, min_size=1, max_size=6))
def test_values_that_differ_stay_apart(values: list[Any]) -> None:
    for read in (id_texts, read_labels):
        try:
            found = read(values, "values").tolist()
        except InvalidInput:
            continue
        for one, of in zip(values, found, strict=True):
            for other, also in zip(values, found, strict=True):
                if of == also:
                    assert one == other
                if one == other and type(one) is type(other):
                    assert of == also
        if read is id_texts:
            assert from_long(np.zeros((len(values), 1)), values).ids.tolist() == [
                *dict.fromkeys(found)
            ]


@pytest.mark.parametrize(
    ("values", "texts"),
    [
        ([12, 7, 12], ["12", "7", "12"]),
        ([7.0, 12.5], ["7", "12.5"]),
        (np.array(["2020-01-02"], "datetime64[D]"), ["2020-01-02"]),
        (np.array(["2020-01-02"], "datetime64[ns]"), ["2020-01-02T00:00:00.000000000"]),
        (["007", " 7 "], ["007", "7"]),
        (["e\u0301"], ["é"]),
        ([7, "8"], ["7", "8"]),
    ],
)
def test_ids_are_texts(values: Any, texts: list[str]) -> None:
    assert id_texts(values).tolist() == texts
    found = from_long(np.zeros((len(values), 1)), values, labels=dict.fromkeys(values, "x"))
    assert found.ids.tolist() == list(dict.fromkeys(texts))


@pytest.mark.parametrize(
    "values",
    [
        [1, "1"], ["7", 7.0], [True, "True"], ["a", " a"], ["a", "a\0"],
        ["é", "e\u0301"],
    ],
    ids=ascii,
)  # fmt: skip
def test_two_ids_that_are_one_text_are_refused(values: list[Any]) -> None:
    for act in (
        lambda: id_texts(values),
        lambda: from_long(np.eye(2), values),
        lambda: to_frame(np.ones((2, 1, 2)), values),
    ):
        with pytest.raises(InvalidInput, match="must be different as texts, or the same"):
            act()
    with pytest.raises(InvalidInput, match="the ids of labels must be different as texts"):
        from_long(np.eye(1), ["b"], labels=dict.fromkeys(values, 0))


MERGED = [
    [1, "1", 2],
    [b"a", "a", "b"],
    ["a", "a\0", "b"],
    [True, 1, 2],
    [2**64, 2**64 + 1, 5],
    [2**53, 2**53 + 1, 0.5],
    [1j, 2, 3],
    [np.timedelta64(1), 1, 2],
]


@pytest.mark.parametrize("values", MERGED, ids=str)
def test_labels_that_numpy_would_merge_are_refused(values: list[Any]) -> None:
    X = np.random.default_rng(0).standard_normal((12, 2, 2))
    for act in (
        lambda: from_long(np.eye(3), [0, 1, 2], labels=values),
        lambda: from_long(np.eye(3), [0, 1, 2], labels=dict(enumerate(values))),
        lambda: from_long(np.eye(3), [0, 1, 2], groups=values),
        lambda: PooledClassifier().fit(X, values * 4),
    ):
        with pytest.raises(InvalidInput, match=r"must be of .*; got .*\. Give "):
            act()


@pytest.mark.parametrize("values", [[2**62 + 1, 2**62 + 2, 5], [0, 2.0, 1], ["b", "a", "b"]])
def test_labels_are_as_they_were_given(values: list[Any]) -> None:
    labels = dict(enumerate(values))
    assert from_long(np.eye(3), [0, 1, 2], labels=labels).y.tolist() == values


def _arrays() -> dict[str, Any]:
    pandas, pyarrow = pytest.importorskip("pandas"), pytest.importorskip("pyarrow")
    texts, numbers = ["no", "yes", "no"], [0, 1, 0]
    return {
        "StringDType": np.array(texts, np.dtypes.StringDType()),
        "objects": np.array(texts, object),
        "objects of ints": np.array(numbers, object),
        "pandas texts": pandas.array(texts, dtype="string"),
        "pandas ints": pandas.array(numbers, dtype="Int64"),
        "pandas arrow": pandas.array(numbers, dtype="int64[pyarrow]"),
        "pandas bools": pandas.array([False, True, False], dtype="boolean"),
        "categories": pandas.Categorical(texts),
        "arrow": pyarrow.array(texts),
        "arrow chunks": pyarrow.chunked_array([numbers[:1], numbers[1:]]),
    }


@pytest.mark.parametrize("form", _arrays())
def test_arrays_of_every_library_are_read(form: str) -> None:
    values = _arrays()[form]
    no, yes, _ = np.asarray(values, object).tolist()
    X = np.random.default_rng(0).standard_normal((3, 2, 2))
    fitted = PooledClassifier().fit(X, values)
    assert fitted.classes_.tolist() == [no, yes]
    assert fitted.score(X, values) in (0, 1 / 3, 2 / 3, 1)
    assert from_long(np.eye(3), values).ids.tolist() == [str(no), str(yes)]
    assert from_long(np.eye(3), [0, 1, 2], labels=values).y.tolist() == [no, yes, no]


@pytest.mark.parametrize(
    "values", [[1.0, np.nan], ["a", None], np.array([1.0, np.inf]), [0.5, -np.inf], [[1], [1, 2]]]
)
def test_missing_and_infinite_values_are_refused(values: Any) -> None:
    with pytest.raises(InvalidInput, match="y must be"):
        read_labels(values)
