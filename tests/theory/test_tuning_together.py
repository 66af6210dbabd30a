"""The best training: never worse than one number alone.

Equations: best-training.
"""

import dataclasses
import math

import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.results import StatusCode

pytestmark = pytest.mark.slow

PROBLEM = st.SparseTokenProblem(6, 1, 3.5, 0.5)
MODEL = st.Attention(st.TwoSteps(1.0, eta_q=15.0))
READOUT = st.Readout(ridge=0.05, alpha1=5.0)
TOTAL, TOLERANCE = 6.0, 1e-3


@pytest.fixture(scope="module")
def best():
    # Rounding moves the path of the search, which ends after 110 evaluations or so.
    limits = {"evaluations": 400, "tolerance": TOLERANCE}
    return st.tuning.best_training(PROBLEM, MODEL, READOUT, TOTAL, **limits)


def _alone(name, readout=READOUT, tolerance=TOLERANCE):
    options = {"free": [name], "tolerance": tolerance}
    return st.tuning.best_training(PROBLEM, MODEL, readout, TOTAL, **options)


def _error(steps, readout):
    return st.predict(PROBLEM, st.Attention(steps), readout, tolerance=TOLERANCE).test_error


def test_it_spends_the_load_and_says_what_it_is_worth(best):
    assert best.prediction.status.converged
    assert best.status.converged
    assert best.steps.alpha0 + best.readout.alpha1 == pytest.approx(TOTAL)
    assert best.share == pytest.approx(best.steps.alpha0 / TOTAL)
    assert best.prediction.test_error == _error(best.steps, best.readout)


def test_it_is_no_worse_than_one_number_alone(best):
    split = _alone("share")
    sharpness = _alone("sharpness")
    both = split.prediction.test_error, sharpness.prediction.test_error
    assert best.prediction.test_error < min(both)


def _beside(best):
    """Return stages a factor of three beside the best, each in one choice."""
    steps, readout = best.steps, best.readout
    moved = math.log(best.share / (1 - best.share)) + 1.5
    alpha = TOTAL / (1 + math.exp(-moved))
    return [
        (dataclasses.replace(steps, eta_q=3 * steps.eta_q), readout),
        (dataclasses.replace(steps, eta_q=steps.eta_q / 3), readout),
        (
            dataclasses.replace(steps, alpha0=alpha),
            dataclasses.replace(readout, alpha1=TOTAL - alpha),
        ),
        (steps, dataclasses.replace(readout, ridge=readout.ridge / 30)),
    ]


def test_nothing_beside_it_is_better(best):
    least = best.prediction.test_error
    # The search ends within 0.05 of each logarithm, where the error is flat to second order.
    assert min(_error(*stages) for stages in _beside(best)) >= least - 1e-5


def test_an_end_of_a_range_is_said():
    # One evaluation leaves the search where it starts, but for the step of COBYQA to a near bound.
    readout = dataclasses.replace(READOUT, ridge=0.9999)
    found = st.tuning.best_training(PROBLEM, MODEL, readout, TOTAL, evaluations=1, tolerance=1e-2)
    assert 0.9999 <= found.readout.ridge <= 1
    assert found.status.code is StatusCode.MAX_ITERATIONS
    assert "allow more" in found.status.remedy
    assert "range of ridge" in found.status.remedy
    assert found.prediction.status.converged


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total": 0.0}, "total"),
        ({"evaluations": 0}, "evaluations"),
        ({"readout": st.Readout(ridge=0.0)}, "ridge"),
        ({"readout": st.Readout(alpha1=math.inf)}, "alpha1"),
        ({"model": st.Pooled()}, "model"),
        ({"model": st.Attention(st.TwoSteps(eta_q=0.0))}, "eta_q"),
        ({"model": st.Attention(st.TwoSteps(eta_w=0.0))}, "eta_w"),
        ({"model": st.Attention(st.TwoSteps(alpha0=[1.0, 2.0]))}, "single number"),
    ],
)
def test_bad_input_of_the_training(change, words):
    given = {"problem": PROBLEM, "model": MODEL, "readout": READOUT, "total": TOTAL} | change
    with pytest.raises(InvalidInput, match=words):
        st.tuning.best_training(**given)
