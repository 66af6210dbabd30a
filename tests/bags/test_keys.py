"""Ids and labels: values that differ in Python stay apart, or the list is refused."""

import enum
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sparsetoken.bags import from_long, to_frame
from sparsetoken.bags.keys import read_keys
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledLinearClassifier


class Eye(str, enum.Enum):  # noqa: UP042, StrEnum has another str()
    LEFT = "left eye"
    EAR = "left ear"


class Grade(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Plain(enum.Enum):
    A = "a"


NEAR = [0, 1, 2**53, 2**53 + 1, 2**63, 2**63 + 1, 2**64 - 1, 2**64, -1, -(2**63), 0.5, 1.0, 2.0**53]
NEAR += [True, False, "True", "1", "", "a", "a\0", "a\0b", b"a", b"a\0", b"", *Eye, *Grade]
NEAR += ["left eye", "Eye.LEFT", "LEFT", Plain.A, np.str_("a"), np.int8(1), np.float32(0.1), 0.1]
VALUES = st.one_of(
    st.sampled_from(NEAR), st.text(max_size=3), st.integers(), st.booleans(), st.floats(),
    st.binary(max_size=2),
)  # fmt: skip


@settings(max_examples=200, derandomize=True, deadline=None)
@given(
    st.one_of(
        st.lists(VALUES, min_size=1, max_size=6),
        st.lists(st.sampled_from([one for one in NEAR if isinstance(one, str)]), min_size=1),
        st.lists(st.integers(-(2**65), 2**65), min_size=1, max_size=6),
        st.lists(st.floats() | st.integers(2**53, 2**53 + 9), min_size=1, max_size=6),
    )
)
def test_values_that_differ_stay_apart(values: list[Any]) -> None:
    array = np.empty(len(values), object)
    array[:] = values
    for form in (values, tuple(values), array):
        try:
            keys = read_keys(form, "ids")
        except InvalidInput:
            continue
        assert keys.tolist() == values  # each equals what it was, so that none have merged
        kinds = {bool, str, bytes, int, float} & {type(one) for one in keys.tolist()}
        assert len(kinds) == 1
        found = from_long(np.zeros((len(values), 1)), form)
        assert found.ids.tolist() == list(dict.fromkeys(values))


MERGED = [
    [1, "1", 2],
    [b"a", "a", "b"],
    ["a", "a\0", "b"],
    [True, "True", "x"],
    [True, 1, 2],
    [2**64, 2**64 + 1, 5],
    [2**53, 2**53 + 1, 0.5],
    [Plain.A, Plain.A, "a"],
    [-1, 2**63, 0],
    [1j, 2, 3],
    [np.timedelta64(1), 1, 2],
]


@pytest.mark.parametrize("values", MERGED, ids=str)
def test_lists_that_numpy_would_merge_are_refused(values: list[Any]) -> None:
    X = np.random.default_rng(0).standard_normal((12, 2, 2))
    by_id = dict(enumerate(values))
    for act in (
        lambda: from_long(np.eye(3), values),
        lambda: from_long(np.eye(3), [0, 1, 2], labels=values),
        lambda: from_long(np.eye(3), [0, 1, 2], labels=by_id),
        lambda: to_frame(X[:3], values),
        lambda: PooledLinearClassifier().fit(X, values * 4),
    ):
        with pytest.raises(InvalidInput, match=r"must be of .*; got .*\. Give "):
            act()


@pytest.mark.parametrize(
    "values", [[*Eye, Eye.LEFT], [*Grade, 2], [2**63 + 1, 2**63 + 2, 5], [0, 2.0, 1]], ids=str
)
def test_ids_and_labels_are_as_they_were_given(values: list[Any]) -> None:
    X = np.random.default_rng(0).standard_normal((12, 2, 2))
    assert from_long(np.eye(3), values).ids.tolist() == list(dict.fromkeys(values))
    labels = dict(enumerate(values))
    assert from_long(np.eye(3), [0, 1, 2], labels=labels).y.tolist() == values
    fitted = PooledLinearClassifier().fit(X, values * 4)
    assert fitted.classes_.tolist() == sorted(set(values))
    right = [a == b for a, b in zip(fitted.predict(X).tolist(), values * 4, strict=True)]
    assert fitted.score(X, values * 4) == np.mean(right)


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
        "series": pandas.Series(texts),
        "arrow": pyarrow.array(texts),
        "arrow chunks": pyarrow.chunked_array([numbers[:1], numbers[1:]]),
    }


@pytest.mark.parametrize("form", _arrays())
def test_arrays_of_every_library_are_read(form: str) -> None:
    values = _arrays()[form]
    no, yes, _ = np.asarray(values, object).tolist()
    X = np.random.default_rng(0).standard_normal((3, 2, 2))
    fitted = PooledLinearClassifier().fit(X, values)
    assert fitted.classes_.tolist() == [no, yes]
    assert fitted.score(X, values) in (0, 1 / 3, 2 / 3, 1)
    assert from_long(np.eye(3), values).ids.tolist() == [no, yes]
    assert from_long(np.eye(3), [0, 1, 2], labels=values).y.tolist() == [no, yes, no]


@pytest.mark.parametrize(
    "values", [[1.0, np.nan], ["a", None], np.array([1.0, np.inf]), [0.5, -np.inf], [[1], [1, 2]]]
)
def test_missing_and_infinite_values_are_refused(values: Any) -> None:
    with pytest.raises(InvalidInput, match="ids must be"):
        read_keys(values, "ids")
