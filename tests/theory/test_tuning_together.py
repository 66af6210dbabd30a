"""The best training and the best descent: never worse than one number, and met by simulation.

Equations: best-training, best-descent.
"""

import dataclasses
import math

import numpy as np
import pytest

import sparsetoken as st
from attention_descent import alternating, attention_descent
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.descent import training_of
from sparsetoken.results import StatusCode
from sparsetoken.theory.tuning import descents

PROBLEM = st.SparseTokenProblem(6, 1, 3.5, 0.5)
MODEL = st.Attention(st.TwoSteps(1.0, eta_q=15.0))
READOUT = st.Readout(ridge=0.05, alpha1=5.0)
TOTAL, TOLERANCE = 6.0, 1e-3


@pytest.fixture(scope="module")
def best():
    # Rounding, which moves the path of the search, makes it end after 95 to 171 evaluations.
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
    # The search starts from one of the two; rounding is all that may differ.
    assert best.prediction.test_error <= split.prediction.test_error + 1e-9
    assert best.prediction.test_error <= sharpness.prediction.test_error + 1e-9
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
    # One evaluation leaves the search where it starts, within its resolution of the largest ridge.
    readout = dataclasses.replace(READOUT, ridge=0.9999)
    found = st.tuning.best_training(PROBLEM, MODEL, readout, TOTAL, evaluations=1, tolerance=1e-2)
    assert found.readout.ridge == pytest.approx(0.9999)
    split = _alone("share", readout, tolerance=1e-2)
    assert found.share in (pytest.approx(split.share), pytest.approx(1 / 6))  # of MODEL and READOUT
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


DESCENT = attention_descent(2.0, 8, 0.8, 0.1, 0.8, decay_w=0.7, momentum=0.4)


def test_the_search_of_descents_improves_on_its_start():
    found = st.tuning.best_descent(PROBLEM, DESCENT, evaluations=10, replicas=4)
    start = descents._lasting(st.descend(PROBLEM, DESCENT, replicas=2).test_error)
    assert found.course.test_error[-1] < start.test_error - 4 * found.course.numerical_error
    assert found.descent.steps <= 8
    assert found.evaluations == 10
    assert found.status.code is StatusCode.MAX_ITERATIONS
    assert "allow more" in found.status.remedy


def test_rates_decay_and_odds_of_the_momentum_are_multiplied_by_a_number_each():
    given = attention_descent(
        2.0, 4, [1, 0, 1, 0], [0, 8, 0, 8], [0.5, 0, 0.5, 0], decay_w=0.1,
        momentum=[0.0, 0.5, 0.5, 0.5], start_q=0.3,
    )  # fmt: skip
    space = descents._space_of(PROBLEM, given)
    assert space.names == ("rates of q", "rates of w", "rate_c", "decay of w", "momentum")
    same, own = training_of(PROBLEM, space.descent(np.ones(5), 4)), training_of(PROBLEM, given)
    for name in ("rates", "rates_c", "momentum", "decay", "start"):
        np.testing.assert_array_equal(getattr(same, name), getattr(own, name))
    moved = space.descent([2.0, 3.0, 4.0, 5.0, 3.0], 3)
    found = training_of(PROBLEM, moved)
    np.testing.assert_array_equal(found.rates, [[0, 3], [16, 0], [0, 3]])
    np.testing.assert_array_equal(found.rates_c, [2, 0, 2])
    np.testing.assert_allclose(found.decay, [0, 0.5])
    np.testing.assert_allclose(found.momentum, [0, 0.75, 0.75])
    assert (moved.steps, moved.start) == (3, given.start)


def test_a_minimum_of_a_single_step_is_passed_over():
    def lasting(*test_error):
        return descents._lasting(np.array(test_error))[:2]

    assert lasting(0.5, 0.4, 0.1, 0.4, 0.2, 0.21, 0.19, 0.3) == (0.21, 6)
    nan = math.nan
    assert lasting(0.5, 0.4, 0.3, 0.4, nan, nan, nan) == (0.4, 3)
    assert lasting(0.5, 0.4, nan, nan) == (math.inf, 2)


def test_a_descent_that_diverges_is_no_candidate():
    given = alternating(2.0, 4, 1e5, 1e5, 0.5)
    found = st.tuning.best_descent(PROBLEM, given, evaluations=1, replicas=2)
    assert found.status.code is StatusCode.NO_LIMIT
    assert "diverges" in found.status.remedy


def test_the_search_of_rates_of_any_network():
    given = st.Descent(st.networks.Gated(2), alpha=2.0, steps=4, rates=0.5, rate_c=[0.2, 0.4] * 2)
    found = st.tuning.best_descent(PROBLEM, given, evaluations=6, replicas=2)
    descent = found.descent
    before = st.theory.descend(PROBLEM, given, replicas=2)
    assert found.evaluations == 6
    assert found.course.test_error[-1] < before.test_error.min() - 2 * before.numerical_error
    rates = np.array(descent.rates)
    assert rates.shape == (descent.steps, 5)
    assert (rates[:, :2] == rates[0, 0]).all()  # v1 and v2 are of one kind
    assert len({rates[0, 0], rates[0, 2], rates[0, 4]}) > 1
    ratios = np.array(descent.rate_c) / np.array(given.rate_c)[: descent.steps]
    assert ratios == pytest.approx(np.full(descent.steps, ratios[0]))
    assert descent.network == given.network


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"descent": st.Descent(steps=2)}, "steps"),
        ({"descent": st.Descent(steps=8, alpha=[1.0, 2.0])}, "alpha"),
        ({"descent": st.Descent(steps=8, rates=0.0, rate_c=0.0)}, "rates of the search"),
        ({"evaluations": 0}, "evaluations"),
    ],
)
def test_bad_input_of_the_search_of_descents(change, words):
    with pytest.raises(InvalidInput, match=words):
        st.tuning.best_descent(**({"problem": PROBLEM, "descent": DESCENT} | change))
