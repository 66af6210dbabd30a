"""The probit fit finds the threshold it was drawn from, with an honest error."""

import numpy as np
import pytest
from scipy.special import ndtr

from sparsetoken.experiments.core.capacities import fit_threshold

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


@pytest.mark.parametrize("counts", [[0] * 9, [50] * 9, [50] * 4 + [0] * 5])
def test_counts_without_a_fall_or_with_a_sudden_one_do_not_converge(counts):
    assert not fit_threshold(LOADS, counts, 50).converged
