"""Fits of one feature together are those of `fit_readout` and `leave_one_out` one by one."""

import numpy as np
import pytest

from sparsetoken.losses import get_loss
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.numerics.leave_one_out import leave_one_out
from sparsetoken.numerics.slopes import fit_slopes


@pytest.mark.parametrize("loss", ["logistic", "square", "squared_hinge"])
def test_each_is_the_fit_by_itself(loss):
    rng = np.random.default_rng(0)
    y = np.where(rng.random(40) < 0.4, 1.0, -1.0)
    # Noise, a feature far from 0, one of large values, and one that separates the classes.
    x = np.stack([rng.standard_normal(40) for _ in range(4)])
    x = np.stack([x[0], x[1] + 50, 1e3 * x[2] + 400 * y, 0.1 * x[3] + y])
    ridges = np.array([1e-3, 1e-1, 1e2, 1e-3])
    found = fit_slopes(x, y, get_loss(loss), ridges, 1e-10)
    for k, ridge in enumerate(ridges):
        F = x[k][:, None]
        fit = fit_readout(F, y, get_loss(loss), ridge, 1e-10)
        alone = leave_one_out(F, y, get_loss(loss), ridge, fit)
        assert found.w[k] == pytest.approx(fit.w[0], rel=1e-7)
        assert found.scores[k] == pytest.approx(fit.scores, abs=1e-7)
        assert x[k] * found.w[k] + found.b[k] == pytest.approx(fit.scores, abs=1e-7)
        assert found.left_out[k] == pytest.approx(alone.scores, abs=1e-6)


def test_a_feature_that_is_constant_has_no_slope():
    y = np.array([1.0, 1.0, 1.0, -1.0])
    found = fit_slopes(np.ones((1, 4)), y, get_loss("logistic"), np.ones(1), 1e-10)
    assert found.w[0] == pytest.approx(0.0, abs=1e-12)
    assert found.b[0] == pytest.approx(np.log(3), rel=1e-9)
