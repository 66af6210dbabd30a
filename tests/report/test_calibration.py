"""How comparisons scatter: known spreads and shifts are found again."""

import math

import numpy as np
import pytest

from sparsetoken.experiments.finite_dimension import NO_SHIFT, SHIFTS, Shift
from sparsetoken.experiments.rows import Measured, Predicted
from sparsetoken.experiments.rules import compare, judge
from sparsetoken.report.calibration import scatter_of, shifts

C, BETWEEN, PLACES = 4.0, 6.0, 400


def _made_up(shift=None):
    """Return comparisons whose c varies between places with a known mean and spread."""
    rng, found = np.random.default_rng(7), []
    for _ in range(PLACES):
        c = C + BETWEEN * rng.standard_normal()
        error, d, theory = 0.002, 1000, 0.3
        value = theory * (1 + c / d) + error * rng.standard_normal()
        measured = Measured(value, error, d, 10_000)
        found.append(judge("claim", "test_error", Predicted(theory), measured, shift=shift))
    return found


def test_the_mean_and_the_spread_of_c_are_found():
    used, found = shifts(_made_up())["test_error"]
    assert used == SHIFTS["test_error"]
    assert found.settings == PLACES
    assert abs(found.mean - C) < 4 * found.error
    # c has noise 0.002 * 1000 / 0.3 = 6.7 at each place, and a median sqrt(pi/2) times the error.
    assert found.error == pytest.approx(0.56, rel=0.2)
    assert found.spread == pytest.approx(BETWEEN, rel=0.3)


def test_with_the_right_shift_z_is_standard_normal():
    scatter = scatter_of(_made_up(Shift(C, 0.0, BETWEEN)))
    assert scatter.spreads["z"] == pytest.approx(1, abs=0.15)  # 4 / sqrt(2 * 400)
    assert abs(scatter.mean) < 4 / math.sqrt(PLACES)
    # Without it the scale is the standard error alone: sqrt(1 + (6 * 0.3 / 1000 / 0.002)^2).
    assert scatter.spreads["raw"] == pytest.approx(math.hypot(1, 0.9), rel=0.15)


def test_comparisons_with_a_bound_or_on_one_side_are_counted_apart():
    measured = Measured(0.31, 0.02, 1000, 100)
    free = judge("claim", "test_error", Predicted(0.3), measured, shift=NO_SHIFT)
    bounded = judge("claim", "test_error", Predicted(0.3), measured, shift=NO_SHIFT, bound=0.1)
    no_worse = Measured(0.0, 0.02, 1000, 100)
    one_sided = judge("claim", "gain", Predicted(0.0), no_worse, shift=NO_SHIFT)
    slope = compare("claim", "slope", expected=1, found=1, allowance=0.1)
    scatter = scatter_of([free, bounded, one_sided, slope])
    assert scatter.z == (free.z,)
    assert scatter.bounded == 2
    # Two-sided chances of 6.3e-5 in three comparisons.
    assert scatter.false_alarm == pytest.approx(3 * 6.3e-5, rel=0.01)


def test_nothing_to_compare():
    scatter = scatter_of([])
    assert scatter.false_alarm == 0
    assert all(math.isnan(value) for value in (*scatter.spreads.values(), scatter.mean))
    assert shifts([]) == {}
