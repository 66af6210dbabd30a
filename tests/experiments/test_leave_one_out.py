"""Rows, comparisons, words and figure of a small run; a wrong surrogate fails."""

import numpy as np
import pytest

from sparsetoken.experiments.core.rows import Row
from sparsetoken.experiments.leave_one_out import LOSSES, RIDGE, draw_set, power_of, without
from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout


def test_the_training_error_is_no_estimate(rows):
    """The claim would fail for the share of wrong signs in the fit itself."""
    for row in rows.where("theory", "training_error", alpha1=1.0):
        test_error = rows.one("theory", "test_error", alpha1=1.0, loss=row["loss"])
        assert row.value < 0.5 * test_error.value


@pytest.mark.parametrize("loss", LOSSES)
def test_a_warm_refit_is_the_fit_to_the_others(loss):
    F, y = draw_set(2.0, 30, 0, 0)
    law, others = get_loss(loss), np.arange(len(y)) != 7
    cold = fit_readout(F[others], y[others], law, RIDGE * len(y) / (len(y) - 1))
    score, converged = without(7, F, y, law, fit_readout(F, y, law, RIDGE))
    assert converged
    # both are within 1e-8 (1 + |w|) of the minimum, and |f| is about 3
    assert score == pytest.approx(F[7] @ cold.w + cold.b, abs=1e-6)


@pytest.mark.parametrize("power", [-1.0, -0.75, 0.5])
def test_the_power_is_the_one_that_made_the_rows(power):
    errors = [
        Row("refits", "surrogate_error", 3 * d**power, 0.1 * d**power, dimension=d, trials=9)
        for d in (50, 100, 400)
    ]
    fit = power_of(errors)
    assert fit.value == pytest.approx(power)
    x = np.log([50, 100, 400])
    assert fit.error == pytest.approx((0.1 / 3) / np.sqrt(np.sum((x - x.mean()) ** 2)))
