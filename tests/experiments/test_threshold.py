"""The probit fit finds the threshold it was drawn from, with an honest error."""

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.experiments.core.capacities import fit_threshold
from sparsetoken.experiments.core.finite_dimension import fit_power, limit_of

LOADS = np.linspace(2.0, 4.0, 9)


@pytest.mark.parametrize(("middle", "width"), [(3.1, 0.3), (2.6, 0.15), (3.4, 0.6)])
def test_exact_shares_give_back_the_curve(middle, width):
    counts = 1000 * ndtr((middle - LOADS) / width)
    fit = fit_threshold(LOADS, counts, 1000)
    assert fit.converged
    assert fit.middle == pytest.approx(middle, abs=1e-3)
    assert fit.width == pytest.approx(width, rel=1e-2)


@pytest.mark.parametrize(
    ("quantity", "error", "width", "sets", "slack"),
    [("middle", "standard_error", 0.3, 50, 0.25), ("width", "width_error", 0.4, 200, 0.35)],
)
def test_errors_are_the_spread_of_the_fits(quantity, error, width, sets, slack):
    rng, true = np.random.default_rng(3), {"middle": 3.1, "width": width}[quantity]
    shares = ndtr((3.1 - LOADS) / width)
    fits = [fit_threshold(LOADS, rng.binomial(sets, shares), sets) for _ in range(200)]
    errors = np.array([(getattr(fit, quantity) - true) / getattr(fit, error) for fit in fits])
    # 200 fits: the standard error of a standard deviation is 5 %, of a mean 7 %; the small bias
    # of a fitted width is below its error.
    assert np.std(errors) == pytest.approx(1, abs=0.2)
    assert np.mean(errors) == pytest.approx(0, abs=slack)


@pytest.mark.parametrize("count", [0, 50])
def test_counts_without_a_fall_do_not_converge(count):
    assert not fit_threshold(LOADS, [count] * len(LOADS), 50).converged


def test_a_fall_between_two_loads_does_not_converge():
    assert not fit_threshold(LOADS, [50] * 4 + [0] * 5, 50).converged


def test_lines_give_back_limit_and_power():
    sizes, errors = (10, 20, 80), (0.1, 0.2, 0.1)
    limit = limit_of(sizes, [3.0 - 4.0 / m for m in sizes], errors)
    assert limit.value == pytest.approx(3.0, abs=1e-12)
    power = fit_power(sizes, [2.0 * m**-0.5 for m in sizes], errors)
    assert power.value == pytest.approx(-0.5, abs=1e-12)


def test_the_error_of_a_limit_is_the_spread_of_the_fits():
    rng = np.random.default_rng(5)
    sizes, errors = (10, 20, 80), np.array([0.1, 0.2, 0.1])
    fits = [limit_of(sizes, 3.0 + errors * rng.standard_normal(3), errors) for _ in range(400)]
    # 400 draws: a standard deviation is known to 3.5 %.
    assert np.std([f.value for f in fits]) == pytest.approx(fits[0].error, rel=0.12)
