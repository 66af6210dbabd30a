"""Mean and variance of columns in one pass, against exact sums."""

from fractions import Fraction

import numpy as np
import pytest

from sparsetoken.bags import as_bags
from sparsetoken.estimators.fitting import moments
from sparsetoken.estimators.fitting.standard_tokens import Standardization


@pytest.mark.parametrize("chunk", [2, 6, 1 << 18])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_pass_is_as_exact_as_sums_of_fractions(
    monkeypatch: pytest.MonkeyPatch, chunk: int, dtype: type
) -> None:
    monkeypatch.setattr(moments, "CHUNK", chunk)
    rng = np.random.default_rng(0)
    tokens = (rng.standard_normal((9, 2)) + np.array([0.0, 1e4])).astype(dtype)
    tokens[4:] *= -3  # chunks differ in mean
    weight = rng.integers(0, 4, 9).astype(float)
    weight[[0, 3]] = 0.0, 2.0
    mean, variance = moments.mean_and_variance(tokens, weight)
    for j in range(2):
        x, w = ([Fraction(float(v)) for v in values] for values in (tokens[:, j], weight))
        centre = sum(a * b for a, b in zip(w, x, strict=True)) / sum(w)
        square = sum(a * (b - centre) ** 2 for a, b in zip(w, x, strict=True)) / sum(w)
        # A few float64 roundings of numbers of the size of the deviation.
        assert mean[j] == pytest.approx(float(centre), rel=1e-14, abs=1e-15)
        assert variance[j] == pytest.approx(float(square), rel=1e-12)


def test_a_constant_column_is_exact(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moments, "CHUNK", 3)
    tokens = np.full((50, 1), 0.1, np.float32)
    mean, variance = moments.mean_and_variance(tokens, np.linspace(0.1, 0.9, 50))
    assert (mean[0], variance[0]) == (float(np.float32(0.1)), 0.0)
    scaling = Standardization.of(as_bags([tokens[:20], tokens[20:]]), np.array([0.3, 1.7]), True)
    assert scaling.scale.tolist() == [1.0]
