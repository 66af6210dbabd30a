"""Sums over bags against a loop over bags, and what must not change them."""

import numpy as np
import pytest
from scipy.special import softmax

from sparsetoken.bags import Bags, as_bags
from sparsetoken.bags.segments import (
    segment_max,
    segment_mean,
    segment_min,
    segment_softmax,
    segment_sum,
    weighted_sum,
)

DTYPES = (np.float32, np.float64)
SIZES = {"ragged": [1, 7, 2, 1044, 1, 30], "alike": [4] * 6, "single": [1] * 5, "one": [9]}


def _bags(kind: str, dtype: type) -> Bags:
    rng = np.random.default_rng(1)
    return as_bags([(3 + rng.standard_normal((L, 5))).astype(dtype) for L in SIZES[kind]])


def _tolerance(dtype: type, terms: int = 1044) -> float:
    # A sum of m terms is exact to m eps of the sum of their sizes; sizes are below 10 here.
    return 10 * terms * float(np.finfo(dtype).eps)


@pytest.mark.parametrize("kind", SIZES)
@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_are_those_of_a_loop(kind: str, dtype: type) -> None:
    bags = _bags(kind, dtype)
    tokens, offsets = bags.tokens, bags.offsets
    scores = tokens[:, 0] * 4
    slow = {
        segment_sum: [bag.sum(axis=0) for bag in bags],
        segment_mean: [bag.mean(axis=0) for bag in bags],
        segment_max: [bag.max(axis=0) for bag in bags],
        segment_min: [bag.min(axis=0) for bag in bags],
    }
    for fast, expected in slow.items():
        found = fast(tokens, offsets)
        assert found.dtype == dtype
        # The sum has 1044 terms of size 3: a share of it, not of a term.
        np.testing.assert_allclose(found, expected, rtol=_tolerance(dtype), atol=_tolerance(dtype))
    weights = segment_softmax(scores, offsets)
    assert weights.dtype == dtype
    parts = np.split(weights, offsets[1:-1])
    for bag, part in zip(bags, parts, strict=True):
        np.testing.assert_allclose(part, softmax(bag[:, 0] * 4), rtol=_tolerance(dtype))
    found = weighted_sum(tokens, weights, offsets)
    assert found.dtype == dtype
    expected = [part @ bag for bag, part in zip(bags, parts, strict=True)]
    np.testing.assert_allclose(found, expected, rtol=_tolerance(dtype), atol=_tolerance(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_no_score_is_too_large(dtype: type) -> None:
    offsets = np.array([0, 2, 5])
    scores = np.array([1e38, -1e38, -1e38, -1e38, -1e38], dtype)
    found = segment_softmax(scores, offsets)
    # exact but for 1/3, which is rounded once
    np.testing.assert_allclose(found, [1, 0, 1 / 3, 1 / 3, 1 / 3], rtol=2 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", DTYPES)
def test_a_score_far_below_another_bag_is_not_lost(dtype: type) -> None:
    found = segment_softmax(np.array([900, 900, -900, -900], dtype), np.array([0, 2, 4]))
    assert found.tolist() == [0.5] * 4


def test_means_of_large_values_do_not_overflow() -> None:
    largest = np.finfo(np.float32).max
    found = segment_mean(np.full((64, 2), largest, np.float32), np.array([0, 64]))
    np.testing.assert_allclose(found, largest, rtol=1e-5)  # 64 float32 additions


def test_weights_take_the_dtype_of_the_tokens() -> None:
    tokens = np.ones((3, 2), np.float32)
    assert weighted_sum(tokens, np.ones(3), np.array([0, 1, 3])).dtype == np.float32
