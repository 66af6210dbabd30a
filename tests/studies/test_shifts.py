"""Shifts of finite dimension, as benchmarks/agreement.py measures them, are found again."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

from sparsetoken.studies.compare import DIFFERENCE, SHIFTS, Number

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
LIMIT, C, ERROR = 0.2, 7.0, 0.001


@pytest.fixture(scope="module")
def benchmark():
    """The benchmark as a module."""
    if not BENCHMARKS.is_dir():
        pytest.skip("installed without the benchmarks")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(BENCHMARKS))
        spec = importlib.util.spec_from_file_location("agreement", BENCHMARKS / "agreement.py")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield module
    sys.modules.pop("agreement_settings", None)


def _means(rng):
    return [
        Number(LIMIT + C * LIMIT / d + ERROR * rng.standard_normal(), ERROR, "reduced", d, 100)
        for d in (100, 200, 400)
    ]


def test_a_shift_and_its_error_are_found_over_many_draws(benchmark):
    rng = np.random.default_rng(1)
    fits = [benchmark.fitted_shift("test_error", _means(rng)) for _ in range(400)]
    z = [(c - C) / error for c, error in fits]
    assert abs(np.mean(z)) < 4 / 20  # 1 / sqrt(400)
    assert np.std(z) == pytest.approx(1, abs=4 / np.sqrt(800))


def test_the_shift_of_an_auc_is_relative_to_what_it_lacks(benchmark):
    exact = [Number(0.9 - 0.3 / d, 1e-6, "reduced", d, 100) for d in (100, 200)]
    assert benchmark.fitted_shift("auc", exact)[0] == pytest.approx(-3)


def test_the_mean_and_the_spread_over_settings_are_found(benchmark):
    rng = np.random.default_rng(4)
    errors = rng.uniform(0.5, 3, 2000)
    c = 2 + 1.5 * rng.standard_normal(2000) + errors * rng.standard_normal(2000)
    shift = benchmark.pooled_shift(list(zip(c, errors, strict=True)))
    assert abs(shift.mean - 2) < 4 * shift.error
    assert shift.spread == pytest.approx(1.5, rel=0.1)
    assert shift.settings == 2000


def test_a_few_settings_far_off_move_little(benchmark):
    rng = np.random.default_rng(5)
    c = [*(2 + 1.5 * rng.standard_normal(57)), 50, -200, 90]
    shift = benchmark.pooled_shift([(value, 0.1) for value in c])
    assert shift.mean == pytest.approx(2, abs=1)
    # The spread of 57 numbers by medians is known to about 15 %; 3 of 60 widen it a little.
    assert shift.spread == pytest.approx(1.5, rel=0.5)


def test_a_spread_within_the_noise_is_0(benchmark):
    assert benchmark.pooled_shift([(1.0, 2.0), (1.1, 2.0), (0.9, 2.0)]).spread == 0


def test_the_shifts_in_use_were_measured_in_many_settings():
    quantities = {"test_error", "training_loss", "training_error", "auc"}
    assert quantities | {"cosine", "readout_cosine", "misalignment"} == set(SHIFTS)
    assert all(shift.settings >= 10 and shift.deviation > 0 for shift in SHIFTS.values())
    assert DIFFERENCE.spread == SHIFTS["test_error"].spread
