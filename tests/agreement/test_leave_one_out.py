"""Leave-one-out estimates test error and AUC of the theory from training sets alone.

Equations: leave-one-out.
"""

import numpy as np
import pytest

from sparsetoken.losses import get_loss
from sparsetoken.model.models import Attention
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.numerics.leave_one_out import leave_one_out
from sparsetoken.simulation import draw_training_set
from sparsetoken.theory import predict

PROBLEM, MODEL, RIDGE = SparseTokenProblem(10, 1, 5.0), Attention(Query(0.9, 1.0)), 1e-2
DIMENSION, SETS = 100, 40


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge"])
@pytest.mark.parametrize("alpha1", [1.0, 4.0])
def test_estimates_are_those_of_the_theory(loss, alpha1):
    """Within 4 standard errors over training sets and a correction of 2/d times the number."""
    expected = predict(PROBLEM, MODEL, Readout(loss, RIDGE, alpha1))
    options = {"dimension": DIMENSION, "seed": 1}
    drawn = [draw_training_set(PROBLEM, MODEL, alpha1, trial=i, **options) for i in range(SETS)]
    found = [leave_one_out(F, y, get_loss(loss), RIDGE) for F, y in drawn]
    assert all(one.converged for one in found)

    def off(values, limit):
        """Return the difference of the mean from the limit, over what is allowed for it."""
        error = np.std(values, ddof=1) / np.sqrt(SETS)
        return abs(np.mean(values) - limit) / (4 * error + 2 / DIMENSION * limit)

    assert off([one.test_error for one in found], expected.test_error) < 1
    assert off([1 - one.auc for one in found], 1 - expected.auc) < 1
    # What a test lets pass for the training error would be too wide.
    fitted = [
        np.mean((one.fit.scores > 0) != (y > 0)) for one, (_, y) in zip(found, drawn, strict=True)
    ]
    assert off(fitted, expected.test_error) > 3
