"""The best training and the best descent: never worse than one number, and met by simulation.

Equations: best-training, best-descent.
"""

import dataclasses
import math

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.results import StatusCode
from sparsetoken.theory.tuning import descents
from sparsetoken.validation import InvalidInput

PROBLEM = st.SparseTokenProblem(6, 1, 3.5, 0.5)
MODEL = st.Attention(st.TwoSteps(1.0, eta_q=15.0))
READOUT = st.Readout(ridge=0.05, alpha=5.0)
TOTAL, TOLERANCE = 6.0, 1e-3


@pytest.fixture(scope="module")
def best():
    return st.tuning.best_training(PROBLEM, MODEL, READOUT, TOTAL, tolerance=TOLERANCE)


def _error(steps, readout):
    return st.predict(PROBLEM, st.Attention(steps), readout, tolerance=TOLERANCE).test_error


def test_it_spends_the_load_and_says_what_it_is_worth(best):
    assert best.status.converged
    assert best.steps.alpha + best.readout.alpha == pytest.approx(TOTAL)
    assert best.share == pytest.approx(best.steps.alpha / TOTAL)
    assert best.prediction.test_error == _error(best.steps, best.readout)


def test_it_is_no_worse_than_one_number_alone(best):
    split = st.tuning.best_split(PROBLEM, MODEL, READOUT, TOTAL, tolerance=TOLERANCE)
    beta = st.tuning.best_beta(PROBLEM, MODEL, READOUT, tolerance=TOLERANCE)
    # The start of the simplex is one of the two; rounding is all that may differ.
    assert best.prediction.test_error <= split.prediction.test_error + 1e-9
    assert best.prediction.test_error <= beta.prediction.test_error + 1e-9
    assert best.prediction.test_error < min(split.prediction.test_error, beta.prediction.test_error)


def _beside(best):
    """Return stages a factor of three beside the best, each in one choice."""
    steps, readout = best.steps, best.readout
    moved = math.log(best.share / (1 - best.share)) + 1.5
    alpha = TOTAL / (1 + math.exp(-moved))
    return [
        (dataclasses.replace(steps, eta_q=3 * steps.eta_q), readout),
        (dataclasses.replace(steps, eta_q=steps.eta_q / 3), readout),
        (
            dataclasses.replace(steps, alpha=alpha),
            dataclasses.replace(readout, alpha=TOTAL - alpha),
        ),
        (steps, dataclasses.replace(readout, ridge=readout.ridge / 30)),
    ]


def test_nothing_beside_it_is_better(best):
    least = best.prediction.test_error
    # The search ends within 0.02 of each logarithm, where the error is flat to second order.
    assert min(_error(*stages) for stages in _beside(best)) >= least - 1e-5


def test_simulation_agrees_at_the_optimum_and_beside_it(best):
    for steps, readout in [(best.steps, best.readout), *_beside(best)[:2]]:
        expected = _error(steps, readout)
        found = st.simulate(PROBLEM, st.Attention(steps), readout, dimension=500, trials=8)
        # Four standard errors, and 10/d of the value, the allowance of the experiments.
        allowed = 4 * found.standard_error.test_error + 0.02 * expected
        assert found.mean.test_error == pytest.approx(expected, abs=allowed)


def test_an_end_of_a_range_is_said():
    # One evaluation leaves the simplex at the largest ridge, where it starts.
    readout = dataclasses.replace(READOUT, ridge=1.0)
    found = st.tuning.best_training(PROBLEM, MODEL, readout, TOTAL, evaluations=1, tolerance=1e-2)
    assert found.readout.ridge == pytest.approx(1.0)
    assert found.status.code is StatusCode.NO_LIMIT
    assert "ridge" in found.status.remedy


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"total": 0.0}, "total"),
        ({"evaluations": 0}, "evaluations"),
        ({"readout": st.Readout(ridge=0.0)}, "ridge"),
        ({"readout": st.Readout(alpha=math.inf)}, "alpha1"),
        ({"model": st.Pooled()}, "model"),
        ({"model": st.Attention(st.TwoSteps(eta_q=0.0))}, "eta_q"),
        ({"model": st.Attention(st.TwoSteps(eta_w=0.0))}, "eta_w"),
        ({"model": st.Attention(st.TwoSteps(alpha=[1.0, 2.0]))}, "single number"),
    ],
)
def test_bad_input_of_the_training(change, words):
    given = {"problem": PROBLEM, "model": MODEL, "readout": READOUT, "total": TOTAL} | change
    with pytest.raises(InvalidInput, match=words):
        st.tuning.best_training(**given)


DESCENT = st.Attention(st.JointDescent(alpha=2.0, steps=8))


@pytest.fixture(scope="module")
def searched():
    return st.tuning.best_descent(PROBLEM, DESCENT, evaluations=10, replicas=4)


def test_the_search_of_descents_improves_on_its_start(searched):
    start = descents._descent(DESCENT.query, tuple(np.log(descents._start(PROBLEM, DESCENT.query))))
    course = st.theory.descend(PROBLEM, st.Attention(start), replicas=2)
    error, step = descents._lasting(course.test_error)
    assert searched.course.test_error[-1] <= math.exp(error) + 4 * searched.course.numerical_error
    assert searched.descent.steps <= 8
    assert 1 <= step <= 8
    assert searched.evaluations <= 10


def test_the_descent_that_is_found_is_worth_as_much_with_real_tokens(searched):
    found = st.simulate(PROBLEM, st.Attention(searched.descent), dimension=300, trials=6)
    expected = searched.course.test_error[-1]
    error = np.hypot(found.standard_error.test_error[-1], searched.course.errors.test_error[-1])
    # Four errors of both, and 10/d of the value, the allowance of the experiments.
    assert found.mean.test_error[-1] == pytest.approx(expected, abs=4 * error + 10 / 300 * expected)


def test_a_minimum_of_a_single_step_is_passed_over():
    ringing = np.array([0.5, 0.4, 0.1, 0.4, 0.2, 0.21, 0.19, 0.3])
    assert descents._lasting(ringing) == (math.log(0.21), 6)
    assert descents._lasting(ringing[:2]) == (math.inf, 1)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": MODEL}, "JointDescent"),
        ({"model": st.Attention(st.JointDescent(steps=2))}, "steps"),
        ({"evaluations": 0}, "evaluations"),
        ({"problem": st.SparseTokenProblem(1, 1, 3.5)}, "length of the query"),
    ],
)
def test_bad_input_of_the_search_of_descents(change, words):
    with pytest.raises(InvalidInput, match=words):
        st.tuning.best_descent(**({"problem": PROBLEM, "model": DESCENT} | change))
