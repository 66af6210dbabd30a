"""Names of columns: bags keep them, and estimators find columns by them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pandas as pd
import pytest

import small_fits
from sparsetoken import BagClassifier
from sparsetoken.bags import Bags, as_bags, from_frame, from_long, to_frame
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledClassifier, TokenNormalScores

NAMES = list("abcd")


@pytest.fixture(autouse=True, scope="module")
def few_trees() -> Iterator[None]:
    with small_fits.few_trees():
        yield


@pytest.fixture(scope="module")
def drawn() -> tuple[np.ndarray, np.ndarray]:
    rng, y = np.random.default_rng(0), np.arange(80) % 2
    X = rng.standard_normal((80, 4, 4))
    X[y == 1, :, 0] += 1.5
    return X, y


def frames(X: np.ndarray, order: str = "abcd") -> list[pd.DataFrame]:
    return [pd.DataFrame(bag, columns=NAMES)[list(order)] for bag in X]


def test_bags_keep_names(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = drawn
    bags = as_bags(frames(X))
    assert tuple(bags.feature_names) == tuple(NAMES)
    for some in (bags[2:5], bags[[3, 1]], bags.nonempty, as_bags(bags)):
        assert tuple(some.feature_names) == tuple(NAMES)
    assert list(to_frame(bags).columns) == ["bag", *NAMES]
    assert np.array_equal(bags.only(["d", "a"]).tokens, bags.tokens[:, [3, 0]])
    assert as_bags(X).feature_names is None
    long = pd.concat(frames(X, "dcba"), keys=range(80)).reset_index(0, names="bag")
    for found in (from_frame(long), from_long(long[list("dcba")], long["bag"].to_numpy())):
        assert tuple(found.bags.feature_names) == tuple("dcba")
    for names in (["a"], ["a", "a", "b", "c"], "abcd", [1, 2, 3, 4], 5):
        with pytest.raises(InvalidInput, match="feature_names must be 4 different texts"):
            Bags(bags.tokens, bags.offsets, names)
    with pytest.raises(InvalidInput, match="with the column z; got 'columns a, b, c, d'"):
        bags.only(["z"])


def test_frames_of_one_list_have_the_same_columns(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = drawn
    plain = frames(X)
    arrays = as_bags([*plain[:40], *X[40:]])  # which have no names
    assert arrays.equals(as_bags(plain))
    assert arrays.feature_names is None
    empty = as_bags([plain[0], [], *plain[1:]], empty=True)
    assert tuple(empty.feature_names) == tuple(NAMES)
    for others in (frames(X, "cadb")[1:], [plain[1].rename(columns={"d": "e"})]):
        with pytest.raises(InvalidInput, match="bag 1 must be of the columns a, b, c, d, in this"):
            as_bags([plain[0], *others])
    # Numbers from 0 are places: arrays are the same without a warning.
    model = PooledClassifier().fit([pd.DataFrame(bag) for bag in X], y)
    np.testing.assert_array_equal(model.decision_function(X), model.decision_function(as_bags(X)))


@pytest.mark.parametrize("library", ["polars", "pyarrow"])
def test_frames_of_other_libraries_have_names(
    library: str, drawn: tuple[np.ndarray, np.ndarray]
) -> None:
    X, _ = drawn
    module = pytest.importorskip(library, reason=f"{library} is not installed")
    make = module.Table.from_pandas if library == "pyarrow" else module.from_pandas
    bags = as_bags(list(map(make, frames(X))))
    assert bags.equals(as_bags(X))
    assert tuple(bags.feature_names) == tuple(NAMES)


@pytest.mark.parametrize("kind", [PooledClassifier, BagClassifier])
def test_columns_are_found_by_name(kind: type, drawn: tuple[np.ndarray, np.ndarray]) -> None:
    X, y = drawn
    model = kind().fit(frames(X), y)
    assert model.feature_names_in_.tolist() == NAMES
    expected = model.decision_function(frames(X))
    long = pd.concat(frames(X, "dcba"), keys=range(80)).reset_index(0, names="bag")
    for other in (frames(X, "dcba"), from_frame(long).bags):
        np.testing.assert_array_equal(model.decision_function(other), expected)
    with pytest.raises(InvalidInput, match="fitted to; got 'not in both: a, z'"):
        model.predict([one.rename(columns={"a": "z"}) for one in frames(X)])
    # As scikit-learn says of tables.
    with pytest.warns(UserWarning, match="does not have valid feature names") as told:
        np.testing.assert_array_equal(model.decision_function(X), expected)
    assert len(told) == 1
    column = as_bags(frames(X, "dcba")).to_column()
    np.testing.assert_array_equal(model.decision_function(column), expected)
    for member in getattr(model, "members_", {}).values():
        assert list(getattr(member, "feature_names_in_", NAMES)) == NAMES
    assert not hasattr(model.fit(X, y), "feature_names_in_")
    with pytest.warns(UserWarning, match="has feature names, but"):
        np.testing.assert_array_equal(model.decision_function(frames(X)), expected)


def test_transformers_name_what_they_return(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    X, _ = drawn
    scores = TokenNormalScores(least_kurtosis=-3).fit(frames(X))
    assert tuple(scores.transform(frames(X, "dcba")).feature_names) == tuple(NAMES)
    assert scores.transform(as_bags(frames(X))).equals(TokenNormalScores(-3).fit_transform(X))
