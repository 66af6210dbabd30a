"""What a tolerance allows."""

import math
import re
from types import SimpleNamespace

import pytest

from sparsetoken.results import StatusCode
from sparsetoken.theory.accuracy import (
    Accuracy,
    allowed_error,
    allowed_of_loss,
    allowed_of_weights,
    relative_to,
    sizes_of,
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


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (1e-3, 8.5e-5, "Twice the relative error of the test error is 17%, 1% was asked; "),
        (2e-4, 1.5e-3, "Twice the relative error of the test error is 1500%, 1% was asked; "),
        (30.0, 3e-2, "Twice the relative error of the test error is 0.2%, 0.01% was asked; "),
        (0.3, 8.5e-5, "Twice the error of the test error is 1.7e-04, 1.0e-04 was asked; "),
        (0.0, 1e-9, "Twice the error of the test error is 2.0e-09, 1.0e-12 was asked; "),
    ],
)
def test_the_message_is_in_the_terms_of_the_check(value, error, words):
    allowed, sizes = allowed_error(value, 1e-4), relative_to(value)
    found = Accuracy("test_error", error, allowed, sizes).status(1e-4).remedy
    assert found.startswith(words)
    if "relative" in words:  # what was asked is what is checked
        percent = float(re.search(r"([\d.]+)% was asked", found)[1])
        assert percent / 100 * value == pytest.approx(allowed)


def test_a_small_training_loss_has_an_absolute_error():
    sizes = [sizes_of(SimpleNamespace(test_error=0.3, training_loss=x)) for x in (1e-3, 1e-5)]
    assert sizes == [
        {"test_error": 0, "training_loss": 1e-3},
        {"test_error": 0, "training_loss": 0},
    ]


def test_the_remedy_is_enough():
    def status(tolerance):
        allowed = {"test_error": allowed_error(1e-3, tolerance)}
        found = Accuracy.of(allowed, {"test_error": 3e-5}, {"test_error": 1e-3})
        return found.status(tolerance, " with 64 nodes")

    found = status(1e-4)
    assert found.code is StatusCode.TOLERANCE_NOT_REACHED
    assert "test error" in found.remedy
    assert "relative error of the test error is 6% with 64 nodes, 1% was asked;" in found.remedy
    asked = float(found.remedy.rsplit(" ", 1)[1].rstrip("."))
    assert status(asked).converged
