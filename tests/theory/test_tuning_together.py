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
from sparsetoken.theory.tuning.families import FAMILIES, family_of
from sparsetoken.validation import InvalidInput

PROBLEM = st.SparseTokenProblem(6, 1, 3.5, 0.5)
MODEL = st.Attention(st.TwoSteps(1.0, eta_q=15.0))
READOUT = st.Readout(ridge=0.05, alpha1=5.0)
TOTAL, TOLERANCE = 6.0, 1e-3


@pytest.fixture(scope="module")
def best():
    # Rounding, which moves the path of the search, makes it end after 95 to 171 evaluations.
    limits = {"evaluations": 400, "tolerance": TOLERANCE}
    return st.tuning.best_training(PROBLEM, MODEL, READOUT, TOTAL, **limits)


def _error(steps, readout):
    return st.predict(PROBLEM, st.Attention(steps), readout, tolerance=TOLERANCE).test_error


def test_it_spends_the_load_and_says_what_it_is_worth(best):
    assert best.prediction.status.converged
    assert best.status.converged
    assert best.steps.alpha0 + best.readout.alpha1 == pytest.approx(TOTAL)
    assert best.share == pytest.approx(best.steps.alpha0 / TOTAL)
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
    split = st.tuning.best_split(PROBLEM, MODEL, readout, TOTAL, tolerance=1e-2)
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


DESCENT = st.Attention(st.JointDescent(alpha=2.0, steps=8))


@pytest.fixture(scope="module")
def searched():
    return st.tuning.best_descent(PROBLEM, DESCENT, evaluations=10, replicas=4)


def _worth(problem, descent):
    course = st.theory.descend(problem, st.Attention(descent), replicas=2)
    return descents._lasting(course.test_error)


def test_the_search_of_descents_improves_on_its_start(searched):
    start = family_of("constant", PROBLEM, DESCENT.query)
    error, step, _ = _worth(PROBLEM, start.descent(tuple(start.start.values()), 8))
    assert searched.course.test_error[-1] <= error + 4 * searched.course.numerical_error
    assert searched.descent.steps <= 8
    assert 1 <= step <= 8
    assert searched.evaluations == 10
    assert searched.status.code is StatusCode.MAX_ITERATIONS
    assert "allow more" in searched.status.remedy


@pytest.mark.parametrize("name", sorted(FAMILIES))
def test_each_family_has_a_start_that_learns_and_may_be_cut_short(name):
    family = family_of(name, PROBLEM, DESCENT.query)
    start = tuple(family.start.values())
    whole, cut = family.descent(start, 8), family.descent(start, 5)
    assert (whole.steps, cut.steps) == (8, 5)
    assert whole.alpha == DESCENT.query.alpha
    for field in ("eta_w", "eta_b", "eta_q", "momentum"):
        np.testing.assert_array_equal(cut.per_step(field), whole.per_step(field)[:5])
    course = st.theory.descend(PROBLEM, st.Attention(cut), replicas=2)
    assert course.cosine[-1] > 0.2
    assert course.test_error[-1] < 0.45


def test_schedules_of_the_families():
    def sizes(name, numbers):
        descent = family_of(name, PROBLEM, st.JointDescent(2.0, 4)).descent(numbers, 4)
        return descent.per_step("eta_w").tolist(), descent.per_step("eta_q").tolist()

    assert sizes("two_steps", (1.0, 2.0, 3.0, 4.0, 0.1)) == ([1, 0, 3, 3], [0, 2, 4, 4])
    start = family_of("two_steps", PROBLEM, st.JointDescent(2.0, 4))
    moved = start.descent((1.0, 2.0, 3.0, 4.0, 0.1), 4).per_step("momentum") > 0
    assert moved.tolist() == [False, False, False, True]  # from the second step of the readout on
    assert sizes("constant", (1.0, 2.0, 0.1, 1.0)) == ([1] * 4, [2] * 4)
    assert sizes("alternating", (1.0, 2.0, 0.1)) == ([1, 0, 1, 0], [0, 2, 0, 2])
    assert sizes("warm_up", (1.0, 2.0, 0.1, 1.0, 2.0)) == ([1] * 4, [0, 1, 2, 2])
    readout, query = sizes("fading", (1.0, 2.0, 0.1, 1.0, 1 / math.log(2)))
    assert readout == [1] * 4
    assert query == pytest.approx([2, 1, 0.5, 0.25])


def test_a_free_search_starts_at_the_descent_and_keeps_all_else():
    given = st.JointDescent.alternating(
        2.0, 4, 1.0, 8.0, 0.5, decay_w=0.1, momentum=[0, 0.1, 0.2, 0.3], start_q=0.3
    )
    free = family_of("free", PROBLEM, given)
    start = tuple(free.start.values())
    assert start == (1.0, 1.0, 8.0, 8.0)
    for name in ("eta_w", "eta_q", "eta_b", "momentum"):
        own, same = free.descent(start, 4).per_step(name), given.per_step(name)
        np.testing.assert_allclose(own, same)
    moved = free.descent((2.0, 1.0, 8.0, 4.0), 4)
    np.testing.assert_allclose(moved.per_step("eta_w"), [2, 0, 1, 0])
    np.testing.assert_allclose(moved.per_step("eta_b"), [1, 0, 0.5, 0])
    np.testing.assert_allclose(moved.per_step("eta_q"), [0, 8, 0, 4])
    assert (moved.decay_w, moved.start_q) == (0.1, 0.3)


def test_a_free_search_is_better_than_its_start():
    given = st.JointDescent.alternating(2.0, 5, 1.0, 20.0, 0.5)
    found = st.tuning.best_descent(
        PROBLEM, st.Attention(given), family="free", evaluations=14, replicas=4
    )
    assert _worth(PROBLEM, found.descent).test_error < _worth(PROBLEM, given).test_error
    assert found.evaluations <= 14


def test_a_minimum_of_a_single_step_is_passed_over():
    def lasting(*test_error):
        return descents._lasting(np.array(test_error))[:2]

    assert lasting(0.5, 0.4, 0.1, 0.4, 0.2, 0.21, 0.19, 0.3) == (0.21, 6)
    nan = math.nan
    assert lasting(0.5, 0.4, 0.3, 0.4, nan, nan, nan) == (0.4, 3)
    assert lasting(0.5, 0.4, nan, nan) == (math.inf, 2)


def test_a_descent_that_diverges_is_no_candidate():
    given = st.JointDescent(2.0, 4, 1e5, 1e5)
    found = st.tuning.best_descent(
        PROBLEM, st.Attention(given), family="free", evaluations=1, replicas=2
    )
    assert found.status.code is StatusCode.NO_LIMIT
    assert "diverges" in found.status.remedy


def test_the_search_of_rates_of_any_network():
    given = st.Descent(st.networks.Gated(2), alpha=2.0, steps=6, rates=0.5, rate_c=[0.2, 0.4] * 3)
    found = st.tuning.best_descent(PROBLEM, given, evaluations=8, replicas=4)
    descent = found.descent
    before = st.theory.descend(PROBLEM, given, replicas=4)
    assert found.evaluations == 8
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
        ({"model": st.Descent(steps=2)}, "steps"),
        ({"model": st.Descent(steps=8), "family": "warm_up"}, "family of a Descent"),
        ({"model": st.Descent(steps=8, alpha=[1.0, 2.0])}, "alpha"),
        ({"model": MODEL}, "JointDescent"),
        ({"model": st.Attention(st.JointDescent(steps=2))}, "steps"),
        ({"evaluations": 0}, "evaluations"),
        ({"family": "best"}, "family"),
        ({"problem": st.SparseTokenProblem(1, 1, 3.5)}, "length of the query"),
        ({"model": st.Attention(st.JointDescent(2.0, 4, 0, 0)), "family": "free"}, "size > 0"),
    ],
)
def test_bad_input_of_the_search_of_descents(change, words):
    with pytest.raises(InvalidInput, match=words):
        st.tuning.best_descent(**({"problem": PROBLEM, "model": DESCENT} | change))
