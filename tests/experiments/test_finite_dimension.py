"""Shifts of finite dimension: made-up means are found again."""

import numpy as np
import pytest

from sparsetoken.experiments.core.finite_dimension import (
    DIFFERENCE,
    SHIFTS,
    carried_to_infinity,
    fit_power,
    fitted_shift,
    pooled_shift,
)
from sparsetoken.experiments.core.rows import Row

LIMIT, C, ERROR = 0.2, 7.0, 0.001


def _mean(value, error, dimension, trials, status="converged"):
    return Row("simulated", "test_error", value, error, {}, "reduced", dimension, trials, status)


def _means(rng, limit=LIMIT, c=C):
    return [
        _mean(limit + c * LIMIT / d + ERROR * rng.standard_normal(), ERROR, d, 100)
        for d in (100, 200, 400)
    ]


def test_limit_and_shift_and_their_errors_are_found_over_many_draws():
    rng = np.random.default_rng(1)
    draws = [_means(rng) for _ in range(400)]
    fits = [fitted_shift("test_error", means) for means in draws]
    limits = [carried_to_infinity(means) for means in draws]
    scores = [(c - C) / error for c, error in fits], [(m.value - LIMIT) / m.error for m in limits]
    for z in scores:
        assert abs(np.mean(z)) < 4 / 20  # 1 / sqrt(400)
        assert np.std(z) == pytest.approx(1, abs=4 / np.sqrt(800))
    assert (limits[0].dimension, limits[0].trials, limits[0].engine) == (400, 100, "reduced")
    fallen = _mean(0.2, ERROR, 800, 100, status="max_iterations")
    assert limits[0].converged
    assert not carried_to_infinity([*draws[0], fallen]).converged


def test_the_shift_of_an_auc_is_relative_to_what_it_lacks():
    exact = [_mean(0.9 - 0.3 / d, 1e-6, d, 100) for d in (100, 200)]
    assert fitted_shift("auc", exact)[0] == pytest.approx(-3)


def test_a_power_is_that_which_made_the_values():
    power = fit_power((10, 20, 80), [2.0 * m**-0.5 for m in (10, 20, 80)], (0.1, 0.2, 0.1))
    assert power.value == pytest.approx(-0.5, abs=1e-12)


def test_the_mean_and_the_spread_over_settings_are_found():
    rng = np.random.default_rng(4)
    errors = rng.uniform(0.5, 3, 2000)
    c = 2 + 1.5 * rng.standard_normal(2000) + errors * rng.standard_normal(2000)
    shift = pooled_shift(list(zip(c, errors, strict=True)))
    assert abs(shift.mean - 2) < 4 * shift.error
    assert shift.spread == pytest.approx(1.5, rel=0.1)
    assert shift.settings == 2000


def test_a_few_settings_far_off_move_little():
    rng = np.random.default_rng(5)
    c = [*(2 + 1.5 * rng.standard_normal(57)), 50, -200, 90]
    shift = pooled_shift([(value, 0.1) for value in c])
    assert shift.mean == pytest.approx(2, abs=1)
    # The spread of 57 numbers by medians is known to about 15 %; 3 of 60 widen it a little.
    assert shift.spread == pytest.approx(1.5, rel=0.5)


def test_a_spread_within_the_noise_is_0():
    assert pooled_shift([(1.0, 2.0), (1.1, 2.0), (0.9, 2.0)]).spread == 0


def test_the_shifts_in_use_were_measured_in_many_settings():
    quantities = {"test_error", "training_loss", "training_error", "auc"}
    assert quantities | {"cosine", "readout_cosine", "misalignment"} == set(SHIFTS)
    assert all(shift.settings >= 10 and shift.deviation > 0 for shift in SHIFTS.values())
    assert DIFFERENCE.spread == SHIFTS["test_error"].spread
