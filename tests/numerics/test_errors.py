"""Stated errors of means over few values."""

import numpy as np
import pytest

from sparsetoken.numerics.errors import stated_error


@pytest.mark.parametrize("count", [2, 4, 8, 16])
def test_twice_the_error_covers_95_percent(count):
    values = np.random.default_rng(count).standard_normal((count, 20_000))
    covered = np.mean(np.abs(values.mean(axis=0)) < 2 * stated_error(values))
    # The share has a standard error of 0.0015; without Student's t it is 0.914 for 8 values.
    assert covered == pytest.approx(0.95, abs=0.006)


def test_a_single_value_has_the_error_0():
    assert stated_error(np.ones((1, 3))).tolist() == [0, 0, 0]
