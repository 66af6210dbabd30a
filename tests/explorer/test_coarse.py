"""The quick solver of the page against the solver of the theory."""

from __future__ import annotations

import numpy as np
import pytest

from sparsetoken.explorer.coarse import LOADS, MODELS, CoarseCurves
from sparsetoken.explorer.quick_newton import QuickCurve
from sparsetoken.explorer.settings import Settings
from sparsetoken.numerics.x64 import with_x64
from sparsetoken.stages import LOSSES
from sparsetoken.theory.laws import feature_law
from sparsetoken.theory.learned_error import solve_readout
from sparsetoken.theory.potential import Potential
from sparsetoken.theory.query import working_query
from sparsetoken.theory.score_law import ScoreLaw

ALPHA = np.array([0.4, 3.0])


@with_x64
def _solutions(settings, name):
    problem, model = settings.problem(), settings.model(name)
    law = feature_law(model, problem, working_query(problem, model), 16)
    loss, ridge = settings.readout(1.0).loss, settings["ridge"]
    saddles = [solve_readout(Potential(law, loss, alpha), ridge) for alpha in ALPHA]
    smoothing = np.array([saddle.smoothing for saddle in saddles])
    curve = QuickCurve(law, loss, ALPHA, ridge, smoothing)
    near = curve.near(np.array([1.05 * saddle.x for saddle in saddles]))
    errors = [ScoreLaw.of(law, saddle.overlaps).test_error() for saddle in saddles]
    return near, np.array([saddle.x for saddle in saddles]), errors


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", MODELS)
def test_the_quick_solver_finds_the_saddle_points_of_the_theory(name, loss):
    """From 5% away; the last step is below 1%, and few nodes carry the logistic means."""
    settings = Settings({"loss": loss, "positive_rate": 0.3, "strength": 4.0, "ridge": 0.05})
    near, exact, errors = _solutions(settings, name)
    assert near.converged.all()
    np.testing.assert_allclose(near.x, exact, rtol=5e-3, atol=5e-3 * np.abs(exact).max())
    np.testing.assert_allclose(near.test_error, errors, atol=5e-4)


def test_a_far_move_ends_where_a_new_start_does():
    moved = CoarseCurves()
    moved.curves(Settings({"strength": 1.0, "ridge": 1e-4}))
    far = Settings({"strength": 9.0, "ridge": 3.0, "positive_rate": 0.1})
    found, fresh = moved.curves(far), CoarseCurves().curves(far)
    for name in MODELS:
        assert found[name]["alpha"] == list(LOADS)
        # Each is within the square of a last step of 1%.
        np.testing.assert_allclose(found[name]["test_error"], fresh[name]["test_error"], atol=1e-3)
