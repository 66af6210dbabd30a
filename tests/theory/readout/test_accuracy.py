"""What a tolerance allows."""

import math

import pytest

from sparsetoken.results import StatusCode
from sparsetoken.theory.readout.accuracy import allowed_error, status_of


@pytest.mark.parametrize(
    ("value", "allowed"),
    [(0.3, 1e-4), (0.01, 1e-4), (1e-3, 1e-5), (1e-7, 1e-9), (5.0, 5e-4), (-1e-3, 1e-5), (0, 0)],
)
def test_absolute_and_relative_errors(value, allowed):
    assert allowed_error(value, 1e-4) == pytest.approx(allowed)
    assert allowed_error(value, math.inf) == math.inf


def test_the_remedy_is_enough():
    error = 3e-5
    found = status_of(1e-3, error, 1e-4, "64 nodes")
    assert found.code is StatusCode.TOLERANCE_NOT_REACHED
    asked = float(found.remedy.rsplit(" ", 1)[1].rstrip("."))
    assert status_of(1e-3, error, asked, "64 nodes").converged
