"""What a tolerance allows."""

import math

import pytest

from sparsetoken.results import StatusCode
from sparsetoken.theory.accuracy import (
    Accuracy,
    allowed_error,
    allowed_of_loss,
    allowed_of_weights,
)


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        (0.3, 1e-4),
        (0.01, 1e-4),
        (1e-3, 1e-5),
        (1e-7, 1e-9),
        (5.0, 5e-4),
        (-1e-3, 1e-5),
        (3e-17, 1e-12),
        (0, 1e-12),
    ],
)
def test_absolute_and_relative_errors(value, allowed):
    assert allowed_error(value, 1e-4) == pytest.approx(allowed, abs=0)
    assert allowed_error(value, math.inf) == math.inf


@pytest.mark.parametrize(
    ("loss", "allowed"), [(0.3, 1e-4), (5.0, 5e-4), (5e-3, 5e-5), (1e-9, 1e-6), (0, 1e-6)]
)
def test_small_losses_are_known_to_one_percent_of_the_tolerance(loss, allowed):
    assert allowed_of_loss(loss, 1e-4) == pytest.approx(allowed)
    assert allowed_of_loss(loss, math.inf) == math.inf


def test_the_worst_number_decides():
    allowed = {"auc": allowed_of_weights(1.0, 1e-4), "bias": allowed_of_weights(0.1, 1e-4)}
    assert allowed == pytest.approx({"auc": 1e-3, "bias": 1e-4})
    worst = Accuracy.of(allowed, {"auc": 3e-4, "bias": 6e-5, "another": 1.0})
    assert (worst.name, worst.enough) == ("bias", False)
    assert Accuracy.of(allowed, {"auc": 3e-4, "bias": 4e-5}).enough
    assert not Accuracy.of(allowed, {"auc": 3e-4, "bias": math.nan}).enough
    assert Accuracy.of({"overlap": 0.0}, {"overlap": 0.0}).enough
    assert not Accuracy.of({"overlap": 0.0}, {"overlap": 1e-9}).enough


def test_the_remedy_is_enough():
    def status(tolerance):
        allowed = {"test_error": allowed_error(1e-3, tolerance)}
        return Accuracy.of(allowed, {"test_error": 3e-5}).status(tolerance, " with 64 nodes")

    found = status(1e-4)
    assert found.code is StatusCode.TOLERANCE_NOT_REACHED
    assert "test error" in found.remedy
    assert "above 1.00e-05: the tolerance, on a scale of 0.1;" in found.remedy
    asked = float(found.remedy.rsplit(" ", 1)[1].rstrip("."))
    assert status(asked).converged
