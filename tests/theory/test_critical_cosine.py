"""When attention loses to pooling.

Equations: critical-cosine.
"""

import math

import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.models import Attention, Pooled
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.results import StatusCode
from sparsetoken.theory import critical_cosine, predict

PROBLEM = SparseTokenProblem(10, 1, 5.0, 0.5)
READOUT = Readout("square", ridge=1e-5, alpha1=math.inf)


def gap(s, readout, k=1.0, problem=PROBLEM):
    attention = predict(problem, Attention(Query(s, k)), readout, tolerance=1e-4)
    return attention.test_error - predict(problem, Pooled(), readout).test_error


@pytest.mark.parametrize("alpha1", [math.inf, 2.0])
@pytest.mark.parametrize("loss", ["square", "hinge"])
def test_attention_loses_below_and_wins_above(loss, alpha1):
    readout = Readout(loss, ridge=1e-2, alpha1=alpha1)
    found = critical_cosine(PROBLEM, readout, sharpness=1.0)
    assert found.status.converged
    assert found.wins_above
    # The tolerance in the cosine is 1e-3 and the slope near -0.6: 0.01 is far off.
    assert gap(found.cosine - 0.01, readout) > 2e-3
    assert gap(found.cosine + 0.01, readout) < -2e-3


def test_a_tighter_tolerance_is_met():
    loose, tight = (
        critical_cosine(PROBLEM, READOUT, sharpness=1.0, tolerance=t) for t in (1e-2, 1e-4)
    )
    assert tight.numerical_error <= 5e-5
    assert loose.cosine == pytest.approx(tight.cosine, abs=1e-2)


def test_a_case_built_backwards():
    """A flat query on a problem whose informative tokens are all: attention never wins."""
    full = SparseTokenProblem(4, 4, 1.0, 0.3)
    found = critical_cosine(full, READOUT, sharpness=1.0)
    assert found.status.code is StatusCode.NO_LIMIT
    assert "loses" in found.status.remedy
    assert math.isnan(found.cosine)
    assert gap(1.0, READOUT, problem=full) > 0


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"sharpness": 0.0}, "sharpness"),
        ({"tolerance": 0.0}, "tolerance"),
        ({"readout": Readout(alpha1=[1.0, 2.0])}, "alpha1"),
    ],
)
def test_bad_input(change, word):
    with pytest.raises(InvalidInput, match=word):
        critical_cosine(PROBLEM, **{"readout": READOUT, "sharpness": 1.0, **change})
