"""The best trainings, by theory and with real tokens, beside the Bayes-optimal error.

Equations: bayes-learner, best-training.
"""

import numpy as np
import pytest

import sparsetoken as st

pytestmark = pytest.mark.slow

PROBLEM, ALPHA = st.SparseTokenProblem(10, 1, 5.0), 0.5
STAGES, READOUT = st.Attention(st.TwoSteps(ALPHA / 2, eta_q=40.0)), st.Readout(ridge=1e-2)
SEARCH = {"tolerance": 1e-3, "evaluations": 16}


def off(measured, name, limit, d):
    """Return the distance from a limit, over 4 standard errors and a correction of 2/d of it."""
    value, error = getattr(measured.mean, name), getattr(measured.standard_error, name)
    return abs(value - limit) / (4 * error + 2 / d * limit)


@pytest.fixture(scope="module")
def bayes():
    return st.oracle.learning_error(PROBLEM, ALPHA)


@pytest.fixture(scope="module")
def best():
    """The four stages at their best, all choices together."""
    return st.tuning.best_training(PROBLEM, STAGES, READOUT, ALPHA, **SEARCH)


def test_most_excess_of_the_four_stages_is_due_to_their_training(bayes):
    """The Bayes-optimal learner has less than half of it, in theory and by message passing."""
    d = 400
    best = st.tuning.best_training(PROBLEM, STAGES, READOUT, ALPHA, free=["share"], tolerance=1e-3)
    half = (best.prediction.test_error + bayes.oracle_error) / 2
    passed = st.simulation.pass_messages(PROBLEM, ALPHA, dimension=d, trials=8, seed=1)
    assert passed.status.converged
    assert off(passed, "test_error", bayes.test_error, d) < 1
    assert off(passed, "test_error", half, d) > 2
    assert bayes.test_error < half


def test_the_best_stages_attain_their_predicted_error_with_real_tokens():
    alpha, d = 2.0, 300
    best = st.tuning.best_training(PROBLEM, STAGES, READOUT, alpha, **SEARCH)
    options = {"dimension": d, "trials": 12, "engine": "tensors", "seed": 1}
    found = st.simulate(PROBLEM, st.Attention(best.steps), best.readout, **options)
    assert off(found, "test_error", best.prediction.test_error, d) < 1
    assert off(found, "test_error", st.oracle.learning_error(PROBLEM, alpha).test_error, d) > 2


def _descent(q, w, c, momentum, decay):
    t = np.arange(len(q))
    rates = np.stack([q, w], axis=1)
    momentum = np.where(t > 2, momentum, 0.0) if np.ptp(q) else momentum
    return st.Descent(
        alpha=ALPHA,
        steps=len(q),
        rates=rates,
        rate_c=c,
        start=0.0,
        momentum=momentum,
        decay={"q": 0.0, "w": decay},
    )


def test_one_descent_on_all_samples_comes_closer_to_the_bayes_optimal_error(best, bayes):
    """Constant steps beat a query that is trained in one step, and both beat the four stages.

    COBYQA found both descents, by 16 values of the theory each for factors of the rates, the
    momentum and the decay; errors of three steps in turn count.
    """
    one, t = np.ones(16), np.arange(15)
    constant = _descent(0.351 * one, 0.681 * one, 0.744 * one, 0.364, 1.87)
    w, q = np.where(t == 0, 0.444, 1.333 * (t > 1)), np.where(t == 1, 41.6, 9.3e-4 * (t > 1))
    resting = _descent(q, w, 1.29 * w, 0.608, 0.108)
    steady, rests = (st.descend(PROBLEM, each, replicas=4) for each in (constant, resting))
    last, then = steady.test_error[-3:].max(), rests.test_error[-3:].min()
    errors = steady.numerical_error, rests.numerical_error
    assert bayes.test_error < last + 3 * errors[0] < then - 3 * errors[1]
    assert then + 3 * errors[1] < best.prediction.test_error
