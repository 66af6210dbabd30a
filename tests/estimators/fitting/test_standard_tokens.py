"""Standardised tokens: exact moments, products near to the origin and far from it."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from sparsetoken.bags import as_bags
from sparsetoken.estimators.fitting import standard_tokens
from sparsetoken.estimators.fitting.standard_tokens import (
    CentredTokens,
    StandardTokens,
    mean_and_variance,
)


@pytest.mark.parametrize("far", [0.5, 1000.0])
@pytest.mark.parametrize("standardize", [True, False])
def test_products_are_those_of_tokens_less_their_mean(far: float, standardize: bool) -> None:
    rng = np.random.default_rng(0)
    bags = as_bags(
        [rng.standard_normal((size, 3)).astype(np.float32) + np.float32(far) for size in (2, 5, 4)]
    )
    tokens = StandardTokens.of(bags, np.ones(3), standardize)
    exact = bags.tokens.astype(float)
    z = (exact - tokens.mean) / tokens.scale - tokens.centre
    Q, weights = rng.standard_normal((3, 2)), rng.standard_normal((2, 11))
    # Products of numbers of order 1 in float32; roundings of 1000 would show in the third digit.
    near = {"rtol": 1e-5, "atol": 1e-5}
    np.testing.assert_allclose(tokens.projected(Q), (z @ Q).T, **near)
    float32 = weights.astype(np.float32)
    np.testing.assert_allclose(tokens.summed(float32), float32.astype(float) @ z, **near)


@pytest.mark.parametrize("standardize", [True, False])
def test_centred_tokens_are_those_of_a_centred_copy(standardize: bool) -> None:
    rng = np.random.default_rng(0)
    given = [rng.standard_normal((size, 3)) + 10 * rng.standard_normal(3) for size in (2, 5, 4)]
    for one in given:
        one[:, 2] = 0.1  # a constant column
    weight, groups = np.array([1.0, 0.5, 2.0]), np.array([0, 1, 1])
    copied = StandardTokens.of(as_bags([x - x.mean(axis=0) for x in given]), weight, standardize)
    tokens = CentredTokens.of(as_bags(given), weight, standardize)
    Q, weights = rng.standard_normal((3, 2)), rng.standard_normal((2, 11))
    pairs = [
        (np.where(np.isfinite(tokens.scale), tokens.scale, 1.0), copied.scale),
        (tokens.means, copied.means),
        (tokens.largest, copied.largest),
        (tokens.deviations, copied.deviations),
        (tokens.variance, copied.variance),
        (tokens.variance_without(weight, groups), copied.variance_without(weight, groups)),
        (tokens.projected(Q), copied.projected(Q) + (copied.centre @ Q)[:, None]),
        (tokens.summed(weights), copied.summed(weights) + np.outer(weights.sum(1), copied.centre)),
    ]
    for found, exact in pairs:  # in float64, a few roundings of tokens of order 10
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("chunk", [2, 6, 1 << 18])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_pass_is_as_exact_as_sums_of_fractions(
    monkeypatch: pytest.MonkeyPatch, chunk: int, dtype: type
) -> None:
    monkeypatch.setattr(standard_tokens, "CHUNK", chunk)
    rng = np.random.default_rng(0)
    tokens = (rng.standard_normal((9, 2)) + np.array([0.0, 1e4])).astype(dtype)
    tokens[4:] *= -3  # chunks differ in mean
    weight = rng.integers(0, 4, 9).astype(float)
    weight[[0, 3]] = 0.0, 2.0
    mean, variance = mean_and_variance(tokens, weight)
    for j in range(2):
        x, w = ([Fraction(float(v)) for v in values] for values in (tokens[:, j], weight))
        centre = sum(a * b for a, b in zip(w, x, strict=True)) / sum(w)
        square = sum(a * (b - centre) ** 2 for a, b in zip(w, x, strict=True)) / sum(w)
        # A few float64 roundings of numbers of the size of the deviation.
        assert mean[j] == pytest.approx(float(centre), rel=1e-14, abs=1e-15)
        assert variance[j] == pytest.approx(float(square), rel=1e-12)


def test_a_constant_column_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(standard_tokens, "CHUNK", 3)
    tokens = np.full((50, 1), 0.1, np.float32)
    mean, variance = mean_and_variance(tokens, np.linspace(0.1, 0.9, 50))
    assert (mean[0], variance[0]) == (float(np.float32(0.1)), 0.0)
    bags = as_bags([tokens[:20], tokens[20:]])
    assert StandardTokens.of(bags, np.array([0.3, 1.7]), True).scale.tolist() == [1.0]
    tokens[7] += np.spacing(tokens[7])  # rounding makes no column vary
    bags = as_bags([tokens[:20], tokens[20:]])
    assert StandardTokens.of(bags, np.ones(2), True).scale.tolist() == [1.0]
