"""The coarse curves of the page against the predictions of the theory."""

from __future__ import annotations

import numpy as np
import pytest

from sparsetoken.explorer.coarse import COARSE as MODELS
from sparsetoken.explorer.coarse import COARSE_LOADS as LOADS
from sparsetoken.explorer.coarse import CoarseCurves
from sparsetoken.explorer.settings import Settings
from sparsetoken.model.stages import LOSSES
from sparsetoken.theory import predict


@pytest.mark.parametrize("loss", LOSSES)
def test_coarse_curves_are_near_the_predictions(loss):
    settings = Settings({"loss": loss, "positive_rate": 0.3, "strength": 4.0, "ridge": 0.05})
    found = CoarseCurves().curves(settings)
    for name in MODELS:
        exact = predict(settings.problem(), settings.model(name), settings.readout(LOADS))
        assert found[name]["alpha"] == list(LOADS)
        # 128 nodes of each class know probabilities of a tenth to a few thousandths.
        np.testing.assert_allclose(found[name]["test_error"], exact.test_error, atol=6e-3)


@pytest.mark.slow
def test_a_far_move_ends_where_a_new_start_does():
    moved = CoarseCurves()
    moved.curves(Settings({"strength": 1.0, "ridge": 1e-4}))
    far = Settings({"strength": 9.0, "ridge": 3.0, "positive_rate": 0.1})
    found, fresh = moved.curves(far), CoarseCurves().curves(far)
    for name in MODELS:
        assert found[name]["alpha"] == list(LOADS)
        # Each is within the square of a last step of 1%.
        np.testing.assert_allclose(found[name]["test_error"], fresh[name]["test_error"], atol=1e-3)
