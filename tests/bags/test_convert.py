"""Arrays, masks and lists become bags, exactly; what cannot is refused with its place."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from sparsetoken.bags import as_bags
from sparsetoken.base.validation import InvalidInput


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("seed", range(5))
def test_all_forms_hold_the_same(dtype: type, seed: int) -> None:
    rng = np.random.default_rng(seed)
    arrays = [
        rng.standard_normal((size, 3)).astype(dtype) for size in rng.integers(1, 30, 2 + 5 * seed)
    ]
    bags = as_bags(arrays)
    assert bags.dtype == dtype
    assert all(map(np.array_equal, bags, arrays))
    boxed = np.empty(len(arrays), object)
    boxed[:] = arrays
    assert as_bags(*bags.to_array()).equals(bags)
    assert as_bags(boxed).equals(bags)
    assert as_bags(tuple(arrays)).equals(bags)
    assert as_bags(list(bags)).equals(bags)


@pytest.mark.parametrize("integer_mask", [False, True])
def test_a_mask_may_have_holes(integer_mask: bool) -> None:
    X = np.arange(12.0).reshape(2, 3, 2)
    mask = np.array([[True, False, True], [False, True, False]])
    bags = as_bags(X, mask.astype(int) if integer_mask else mask)
    assert bags[0].tolist() == [[0, 1], [4, 5]]
    assert bags[1].tolist() == [[8, 9]]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_nothing_is_copied_where_nothing_changes(dtype: type) -> None:
    X = np.ones((4, 3, 2), dtype)
    bags = as_bags(X)
    assert np.shares_memory(bags.tokens, X)
    assert np.shares_memory(as_bags(X, np.ones((4, 3), bool)).tokens, X)
    assert np.shares_memory(as_bags(bags).tokens, X)


def test_tables_are_bags_of_one_token() -> None:
    X = np.arange(12.0).reshape(2, 6)
    assert as_bags(X).equals(as_bags(X[:, None]))
    assert as_bags(X.tolist()).equals(as_bags(X))


def test_layout_in_memory_does_not_matter() -> None:
    X = np.random.default_rng(0).standard_normal((4, 3, 2))
    for other in (np.asfortranarray(X), X.transpose(2, 1, 0).copy().transpose(2, 1, 0)):
        assert as_bags(other).equals(as_bags(X))
    assert as_bags([np.asfortranarray(x) for x in X]).equals(as_bags(X))


@pytest.mark.parametrize(
    ("given", "kept"),
    [("f2", "f4"), ("f4", "f4"), ("f8", "f8"), ("i4", "f8"), ("?", "f8"), ("O", "f8")],
)
def test_dtypes(given: str, kept: str) -> None:
    X = np.ones((2, 3, 2)).astype(given)
    assert as_bags(X).dtype == kept
    assert as_bags(list(X)).dtype == kept


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values_that_are_not_finite_are_placed(value: float, dtype: type) -> None:
    X = np.zeros((300, 7, 900), dtype)  # more than one chunk of the search
    X[299, 5, 611] = value
    place = f"got '{value} at bag 299, token 5, column 611'"
    mask = np.ones((300, 7), bool)
    mask[:, 1:3] = False
    for bags in ((X,), (list(X),), (X, mask)):
        with pytest.raises(InvalidInput, match=place):
            as_bags(*bags)
    mask[299, 5] = False  # padding is not read
    assert np.isfinite(as_bags(X, mask).tokens).all()


def test_bags_are_checked_again() -> None:
    bags = as_bags([np.ones((2, 2)), np.ones((3, 2))])
    bags.tokens[4, 1] = np.nan
    with pytest.raises(InvalidInput, match="at bag 1, token 2, column 1"):
        as_bags(bags)


def test_large_finite_values_pass() -> None:
    X = np.full((2, 3, 4), np.finfo(np.float32).max, np.float32)  # their sum is infinite
    assert as_bags(X).sizes.tolist() == [3, 3]


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([np.ones((2, 3)), np.ones((0, 3))], "bag 1 must be of at least one token"),
        ([np.ones((2, 3)), np.ones((2, 0))], r"bag 1 must be of d >= 1 columns; got 'shape \(2, 0"),
        ([np.ones((2, 3)), np.ones((2, 4))], r"bag 1 must be of d = 3, as bag 0; got 'd = 4'"),
        ([np.ones((2, 3)), np.ones(3)], r"bag 1 must be of shape \(tokens, d\)"),
        ([np.ones((2, 3)), [[1, 2, 3], [4, 5]]], "bag 1 must be an array of real numbers"),
        ([[1, 2], [3]], "X must be an array of real numbers"),
        ([csr_array(np.eye(2))], "bag 0 must be an array of real numbers; got .csr_array"),
        ([], r"X must be an array of shape .* got 'shape \(0,\)'"),
        (None, r"X must be an array of shape .* got 'shape \(\)'"),
        (np.ones(3), "X must be an array of shape"),
        (np.ones((2, 2, 2, 2)), "X must be an array of shape"),
        (np.ones((0, 2, 2)), "X must be at least one bag"),
        (np.ones((2, 0, 2)), "bag 0 must be of at least one token"),
        (np.ones((2, 2, 0)), "X must be at least one bag"),
        (np.ones((2, 2, 2), complex), "X must be an array of real numbers; got 'dtype complex"),
        (np.full((2, 2), "a"), "X must be an array of real numbers; got 'dtype <U1"),
    ],
)
def test_what_are_no_bags_is_refused(X: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        as_bags(X)


def test_what_are_no_numbers_is_a_type_error() -> None:
    with pytest.raises(TypeError, match="X is sparse"):
        as_bags(csr_array(np.eye(3)))
    with pytest.raises(TypeError, match="must be a string or a real number"):
        as_bags(np.array([[{"a": 1}]]))


ROW = np.ma.array([1.0, 2.0], mask=[False, True])
RAGGED = [np.ones((2, 3)), np.ones((4, 3))]
CUBE = np.ones((2, 3, 2))


@pytest.mark.parametrize(
    ("X", "mask", "message"),
    [
        (CUBE, np.ones((2, 4), bool), r"of shape \(2, 3\).* got 'shape \(2, 4\)'"),
        (CUBE, np.ones((2, 3, 1), bool), r"got 'shape \(2, 3, 1\)'"),
        (CUBE, np.array([[2, 1, 0], [0, 1, 1]]), "other values than 0 and 1"),
        (CUBE, np.ones((2, 3)), "mask must be .*dtype float64"),
        (CUBE, [[1, 0, 0], [0, 0, 0]], "bag 1 must be of at least one .* 'no token"),
        (
            CUBE,
            np.ma.array(np.ones((2, 3), bool), mask=[[1, 0, 0], [0, 0, 0]]),
            "mask must be without masked values",
        ),
        ([np.ma.stack([ROW, ROW])], None, "bag 0 must be without masked values"),
        (np.ma.stack([ROW, ROW]), None, "X must be without masked values"),
        (RAGGED, np.ones((2, 4), bool), "mask must be None for ragged bags"),
        (as_bags(RAGGED), np.ones((2, 4), bool), "mask must be None for ragged bags"),
    ],
)
def test_masks_that_do_not_fit(X: object, mask: object, message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        as_bags(X, mask)


def test_a_masked_array_that_hides_nothing_is_taken() -> None:
    X = np.ma.array(CUBE, mask=False)
    assert as_bags(X).equals(as_bags(X.data))
