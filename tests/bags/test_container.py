"""Bags as a container: views, picks, padding and pickling."""

import pickle

import numpy as np
import pytest

from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.validation import InvalidInput

SIZES = (3, 1, 4, 1, 5)


def _arrays(dtype: type = np.float64, sizes: tuple[int, ...] = SIZES) -> list[np.ndarray]:
    rng = np.random.default_rng(0)
    return [rng.standard_normal((size, 2)).astype(dtype) for size in sizes]


@pytest.fixture
def arrays() -> list[np.ndarray]:
    return _arrays()


@pytest.fixture
def bags(arrays: list[np.ndarray]) -> Bags:
    return as_bags(arrays)


def _same(bags: Bags, arrays: list[np.ndarray]) -> bool:
    return len(bags) == len(arrays) and all(map(np.array_equal, bags, arrays))


def test_it_says_what_it_holds(bags: Bags) -> None:
    assert repr(bags) == "Bags(5 bags of 1 to 5 tokens, d = 2, float64)"
    assert repr(bags[[0]]) == "Bags(1 bags of 3 tokens, d = 2, float64)"
    assert repr(bags[:0]) == "Bags(0 bags of 0 tokens, d = 2, float64)"
    assert (len(bags), bags.shape, bags.dimension, bags.dtype) == (5, (5,), 2, np.float64)
    assert bags.sizes.tolist() == list(SIZES)
    assert bags.common_size is None
    assert bags[[1, 3]].common_size == 1


def test_one_bag_and_a_slice_are_views_and_a_pick_is_a_copy(
    bags: Bags, arrays: list[np.ndarray]
) -> None:
    assert np.shares_memory(bags[1:3].tokens, bags.tokens)
    assert not np.shares_memory(bags[[1, 2]].tokens, bags.tokens)
    for i in (*range(5), -1, np.int32(2)):
        assert np.array_equal(bags[i], arrays[i])
        assert np.shares_memory(bags[i], bags.tokens)


@pytest.mark.parametrize(
    "key",
    [
        slice(None),
        slice(1, 4),
        slice(4, 1),
        slice(-2, None),
        slice(None, None, -2),
        [2, 2, 0],
        [],
        np.array([-1, 0]),
        np.array([True, False, False, True, True]),
        (np.array([4, 1]), ...),
        (slice(1, 3), ...),
    ],
    ids=str,
)
def test_picks_are_those_of_numpy(bags: Bags, arrays: list[np.ndarray], key: object) -> None:
    order = np.arange(5)[key]  # type: ignore[index]
    picked = bags[key]
    assert _same(picked, [arrays[i] for i in order])
    assert picked.offsets[0] == 0


@pytest.mark.parametrize("key", [5, [0, 7], 1.5, np.ones(4, bool), np.ones((2, 2), int), None])
def test_bad_picks_are_index_errors(bags: Bags, key: object) -> None:
    with pytest.raises(IndexError):
        bags[key]


def test_padding_and_lists(bags: Bags, arrays: list[np.ndarray]) -> None:
    assert _same(bags, list(bags))
    array, mask = bags.to_array()
    assert array.shape == (5, 5, 2)
    assert np.array_equal(mask.sum(axis=1), SIZES)
    assert not array[~mask].any()
    assert all(np.array_equal(array[i][mask[i]], arrays[i]) for i in range(5))


def test_bags_of_one_size_pad_without_a_copy() -> None:
    X = np.arange(24.0).reshape(2, 3, 4)
    array, mask = as_bags(X).to_array()
    assert mask.all()
    assert np.array_equal(array, X)
    assert np.shares_memory(array, X)


def test_equality_is_of_sizes_values_and_dtype(bags: Bags) -> None:
    assert bags.equals(as_bags(list(bags)))
    assert not bags.equals(bags[::-1])
    assert not bags.equals(bags.with_tokens(bags.tokens + 1))
    zeros = bags.with_tokens(0 * bags.tokens)
    assert not zeros.equals(zeros.with_tokens(zeros.tokens.astype(np.float32)))
    regrouped = Bags(bags.tokens, np.array([0, 4, 5, 8, 9, 14]))
    assert not bags.equals(regrouped)


def test_pickling_keeps_all_and_a_slice_takes_its_own_tokens_only(bags: Bags) -> None:
    assert pickle.loads(pickle.dumps(bags)).equals(bags)
    many = as_bags(np.ones((1000, 5, 2)))
    assert pickle.loads(pickle.dumps(many[3:5])).equals(many[3:5])
    assert len(pickle.dumps(many[3:5])) < 2000


@pytest.mark.parametrize(
    "tokens",
    [
        [[1.0]],
        np.ones((4, 2), int),
        np.ones((4, 2), np.float16),
        np.ones(4),
        np.ones((4, 2), order="F"),
    ],
)
def test_tokens_of_another_kind_are_refused(tokens: object) -> None:
    with pytest.raises(InvalidInput, match=r"tokens must be a C-contiguous .* as_bags"):
        Bags(tokens, np.array([0, 4]))  # type: ignore[arg-type]


@pytest.mark.parametrize("offsets", [[1, 4], [0, 3], [0, 3, 2, 4], [0.0, 4.0], [[0, 4]], []])
def test_offsets_that_do_not_fit_are_refused(offsets: list) -> None:
    with pytest.raises(InvalidInput, match="offsets must be integers from 0 to"):
        Bags(np.ones((4, 2)), np.array(offsets))
