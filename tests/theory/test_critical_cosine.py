"""When attention loses to pooling.

Equations: critical-cosine.
"""

import dataclasses
import math

import pytest

from sparsetoken.models import Attention, Pooled
from sparsetoken.problem import SparseTokenProblem
from sparsetoken.results import StatusCode
from sparsetoken.stages import Query, Readout, TwoSteps
from sparsetoken.theory import check_query, critical_cosine, predict
from sparsetoken.validation import InvalidInput

PROBLEM = SparseTokenProblem(10, 1, 5.0, 0.5)
STEPS = TwoSteps(loss="square")
READOUT = Readout("square", ridge=1e-5, alpha1=math.inf)


def gap(s, readout, k=1.0, problem=PROBLEM):
    attention = predict(problem, Attention(Query(s, k)), readout, tolerance=1e-4)
    return attention.test_error - predict(problem, Pooled(), readout).test_error


def at(alpha1):
    return dataclasses.replace(READOUT, alpha1=alpha1)


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


def test_a_good_query_gets_a_good_verdict():
    verdict = check_query(PROBLEM, dataclasses.replace(STEPS, eta_q=10.0), at(4.0))
    assert verdict.beats_pooling
    assert verdict.message == ""
    assert verdict.critical is None
    assert verdict.test_error < verdict.pooled_error


def test_a_poor_query_is_told_what_it_needs():
    steps = dataclasses.replace(STEPS, alpha0=0.08, eta_q=40.0)
    verdict = check_query(PROBLEM, steps, at(4.0))
    assert 0 < verdict.cosine < verdict.critical.cosine
    assert not verdict.beats_pooling
    assert f"above the cosine {verdict.critical.cosine:.3g}" in verdict.message
    assert "Raise alpha0" in verdict.message


def test_no_query_is_pooling():
    verdict = check_query(PROBLEM, dataclasses.replace(STEPS, eta_q=0.0), at(4.0))
    assert (verdict.beats_pooling, verdict.message) == (False, "")
    assert verdict.test_error == pytest.approx(verdict.pooled_error, abs=1e-9)
