"""How comparisons scatter: known spreads and shifts are found again."""

import math

import numpy as np
import pytest

from sparsetoken.experiments.core.calibration import by_quantity, scatter_of
from sparsetoken.experiments.core.finite_dimension import NO_SHIFT, SHIFTS, Shift
from sparsetoken.experiments.core.rows import Row
from sparsetoken.experiments.core.rules import against_simulation, against_value
from sparsetoken.experiments.core.words import deviation

C, BETWEEN, PLACES = 4.0, 6.0, 400


def _theory(value, quantity="test_error"):
    return Row("theory", quantity, value)


def _measured(value, error, trials, quantity="test_error"):
    return Row("simulated", quantity, value, error, {}, "reduced", 1000, trials)


def _made_up(shift=None):
    """Return comparisons whose c varies between places with a known mean and spread."""
    rng, comparisons = np.random.default_rng(7), []
    for _ in range(PLACES):
        c = C + BETWEEN * rng.standard_normal()
        measured = _measured(0.3 * (1 + c / 1000) + 0.002 * rng.standard_normal(), 0.002, 10_000)
        comparisons.append(against_simulation("claim", _theory(0.3), measured, shift=shift))
    return comparisons


def test_quantities_have_their_number_and_the_error_that_they_would_detect():
    comparisons = _made_up()
    (quantity,) = by_quantity(comparisons).values()
    assert quantity.shift == SHIFTS["test_error"]
    assert quantity.comparisons == PLACES
    assert quantity.largest == max(abs(c.z) for c in comparisons)
    # Four standard errors, of the trials and of the shift, over the theory.
    expected = 4 * math.hypot(0.002, SHIFTS["test_error"].deviation * 0.3 / 1000) / 0.3
    assert quantity.detectable == pytest.approx(expected)


def test_with_the_right_shift_z_is_standard_normal():
    scatter = scatter_of(_made_up(Shift(C, 0.0, BETWEEN)))
    assert deviation(scatter.z) == pytest.approx(1, abs=0.15)  # 4 / sqrt(2 * 400)
    assert abs(np.mean(scatter.z)) < 4 / math.sqrt(PLACES)
    # Without it the scale is the standard error alone: sqrt(1 + (6 * 0.3 / 1000 / 0.002)^2).
    assert deviation(scatter.raw) == pytest.approx(math.hypot(1, 0.9), rel=0.15)


def test_comparisons_with_a_bound_or_on_one_side_are_counted_apart():
    measured, theory = _measured(0.31, 0.02, 100), _theory(0.3)
    free = against_simulation("claim", theory, measured, shift=NO_SHIFT)
    bounded = against_simulation("claim", theory, measured, shift=NO_SHIFT, bound=0.1)
    no_worse = _measured(0.0, 0.02, 100, "gain")
    one_sided = against_simulation("claim", _theory(0.0), no_worse, shift=NO_SHIFT)
    slope = against_value("claim", "slope", expected=1, value=1, allowance=0.1)
    scatter = scatter_of([free, bounded, one_sided, slope])
    assert scatter.z == [free.z]
    assert scatter.bounded == 2
    # Two-sided chances of 6.3e-5 in three comparisons.
    assert scatter.false_alarm == pytest.approx(3 * 6.3e-5, rel=0.01)
    nothing = scatter_of([])
    assert (nothing.false_alarm, by_quantity([])) == (0, {})
    assert math.isnan(deviation(nothing.z))


def test_the_largest_z_has_the_chance_of_the_largest_of_so_many_normal_numbers():
    scatter = scatter_of(_made_up(Shift(C, 0.0, BETWEEN)))
    rng = np.random.default_rng(3)
    draws = np.abs(rng.standard_normal((2000, PLACES))).max(axis=1)
    # 2000 draws of a share near one half have standard error 0.011.
    assert scatter.chance == pytest.approx(np.mean(draws > scatter.largest), abs=0.05)
    number, expected = scatter.beyond(2.0)
    assert expected == pytest.approx(0.0455 * PLACES, rel=1e-3)
    assert abs(number - expected) < 4 * expected**0.5
