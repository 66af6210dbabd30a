"""One task after another: recorded tensors, simulations, limits, refusals.

Equations: previous-task.
"""

import dataclasses

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.results import Status

PROBLEM = st.SparseTokenProblem(5, 1, 4.0)
RATES = {"rates": {"q": 4.0, "w": 1.0}, "rate_c": 0.5}
FAST = {"replicas": 4, "tolerance": 0.02}


@pytest.fixture(scope="module")
def first():
    descent = st.Descent(alpha=3.0, steps=8, start={"q": 0.5, "w": 0.3}, **RATES)
    return st.descend(PROBLEM, descent, replicas=8, tolerance=0.01)


@pytest.fixture(scope="module")
def second(first):
    descent = st.Descent(alpha=1.0, steps=8, start=first, signal_cosines=0.8, **RATES)
    return st.descend(PROBLEM, descent, replicas=8, tolerance=0.01)


def test_tensors_recorded(first, second):
    """Means over 10 trials of tensors by another program at d = 400, with their errors."""
    assert abs(first.test_error[-1] - 0.1897) < 3 * 0.0008
    recorded = [0.2399, 0.2310, 0.2056, 0.2040, 0.2030, 0.2032, 0.2042, 0.2045, 0.2058]
    errors = np.array([30, 31, 12, 11, 10, 8, 8, 9, 9]) * 1e-4
    z = (second.test_error - recorded) / np.hypot(errors, second.errors.test_error)
    assert np.abs(z).max() < 3
    # The error on the first task before and after: .1897(8) and .2294(15).
    assert abs(second.previous_task_error[0] - first.test_error[-1]) < 0.001
    assert abs(second.previous_task_error[-1] - 0.2294) < 3 * 0.0015
    assert (second.errors.previous_task_error > 0).all()
    assert first.previous_task_error is None


def test_the_start_is_the_end(first, second):
    np.testing.assert_allclose(second.weights.gram[0], first.weights.gram[-1], atol=1e-6)
    np.testing.assert_allclose(second.weights.c[0], first.weights.c[-1], atol=1e-6)
    overlaps = second.weights.overlaps[0]
    np.testing.assert_allclose(overlaps, 0.8 * first.weights.overlaps[-1], atol=1e-6)


def test_an_earlier_step_is_a_start(first):
    early = st.Descent(steps=1, start=first.isel(step=3), signal_cosines=1.0, **RATES)
    found = st.descend(PROBLEM, early, **FAST)
    np.testing.assert_allclose(found.weights.gram[0], first.weights.gram[3], atol=1e-6)


def test_what_follows_an_approximate_start_is_approximate(first):
    for before, after in (("approximate", "approximate"), ("no_limit", "converged")):
        start = dataclasses.replace(first, status=Status(before))
        then = st.Descent(steps=1, start=start, signal_cosines=1.0, **RATES)
        found = st.descend(PROBLEM, then, replicas=4, tolerance=0.2)
        assert found.status == after
        assert ("The start is 'approximate'." in found.status.remedy) == (before == after)


def test_the_same_task_goes_on():
    """On the population loss 2 + 2 steps are 4; one pass of time 1 + 1 is one of 2."""
    start = {"start_overlaps": 0.2}
    for first, then, whole in (
        (
            st.Descent(alpha=np.inf, steps=2, **start, **RATES),
            lambda at: st.Descent(alpha=np.inf, steps=2, start=at, signal_cosines=1.0, **RATES),
            st.Descent(alpha=np.inf, steps=4, **start, **RATES),
        ),
        (
            st.OnePass(times=[0, 1], **start),
            lambda at: st.OnePass(times=[0, 1], start=at, signal_cosines=1.0),
            st.OnePass(times=[0, 2], **start),
        ),
    ):
        once = st.descend(PROBLEM, whole, **FAST)
        twice = st.descend(PROBLEM, then(st.descend(PROBLEM, first, **FAST)), **FAST)
        np.testing.assert_allclose(twice.weights.gram[-1], once.weights.gram[-1], atol=0.02)
        np.testing.assert_allclose(twice.previous_task_error, twice.test_error, atol=1e-6)


def regression(strength):
    return st.tasks.single_location_regression(4, strength=strength)


CHAINS = {
    "two signals, one pass after a descent": lambda: (
        st.descend(
            regression(3.0),
            st.Descent(
                alpha=2.0,
                steps=4,
                rates={"q": 1.0, "w": 0.2},
                loss="square",
                start_overlaps={"q": {"place": 0.4}, "w": {"value": 0.2}},
            ),
            **FAST,
        ),
        regression(4.0),
        lambda first: st.OnePass(
            times=[0, 2],
            rates={"q": 1.0, "w": 0.2},
            loss="square",
            start=first,
            signal_cosines=[[0.8, 0.3], [0.0, -0.7]],
        ),
    ),
    "a further head after one pass": lambda: (
        st.descend(PROBLEM, st.OnePass(times=[0, 3], start_overlaps=0.2), **FAST),
        st.SparseTokenProblem(4, 2, 3.0),
        lambda first: st.Descent(
            st.networks.Softmax(heads=2),
            alpha=2.0,
            steps=3,
            rates=1.0,
            start=first,
            signal_cosines=0.6,
            start_overlaps={"q1": 0.0, "q2": 0.3, "w1": 0.0, "w2": 0.1},
        ),
    ),
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.slow] * ("head" in n)) for n in CHAINS]
)
def test_simulations(name):
    """At d = 150 with 12 trials; terms of order 1/d are below two of their standard errors."""
    first, task, descent = CHAINS[name]()
    theory = st.descend(task, descent(first), **FAST)
    found = st.simulation.descend(task, descent(first), dimension=150, trials=12)
    paths = theory, theory.errors, found.mean, found.standard_error
    known, errors, mean, spread = (
        np.concatenate(
            [
                x.test_error,
                x.previous_task_error,
                x.weights.overlaps.ravel(),
                x.weights.gram.ravel(),
            ]
        )
        for x in paths
    )
    z = (mean - known) / np.maximum(np.hypot(errors, spread), 1e-3)
    assert np.abs(z).max() < 5
    assert np.sqrt(np.mean(z**2)) < 2


def test_a_minimum_is_a_start():
    minimum = st.Minimum(st.networks.Pooled(), alpha=2.0, ridge=0.1)
    start = st.minimize(PROBLEM, minimum, tolerance=0.05)
    descent = st.Descent(st.networks.Pooled(), steps=1, start=start, signal_cosines=0.5)
    found = st.descend(PROBLEM, descent, **FAST)
    np.testing.assert_allclose(found.previous_task_error[0], start.test_error, atol=2e-3)
    np.testing.assert_allclose(found.weights.overlaps[0], 0.5 * start.weights.overlaps, atol=1e-6)
    sampled = st.simulation.descend(PROBLEM, descent, dimension=100, trials=8)
    z = sampled.mean.weights.overlaps[0, 0, 0] - found.weights.overlaps[0, 0, 0]
    assert abs(z) < 4 * sampled.standard_error.weights.overlaps[0, 0, 0]


def test_tensors_go_on_from_the_end_of_the_same_trials(first):
    """Along the same signal they have the overlaps and errors that the first task has left."""
    descent = st.Descent(steps=1, start=first.isel(step=2), signal_cosines=1.0, **RATES)
    on = st.simulation.descend(PROBLEM, descent, dimension=40, trials=3, seed=5).trials
    _, before = first.origin
    ended = st.simulation.descend(PROBLEM, before, dimension=40, trials=3, seed=5).trials
    np.testing.assert_allclose(on.weights.overlaps[:, 0], ended.weights.overlaps[:, 2], atol=1e-10)
    np.testing.assert_allclose(on.weights.gram[:, 0], ended.weights.gram[:, 2], atol=1e-10)
    np.testing.assert_allclose(on.weights.c[:, 0], ended.weights.c[:, 2], atol=1e-10)
    np.testing.assert_allclose(on.previous_task_error[:, 0], ended.test_error[:, 2], atol=0.02)


def test_several_points_and_kept_results(first, tmp_path):
    descent = st.Descent(
        alpha=np.array([1.0, 2.0]), steps=1, start=first, signal_cosines=0.5, **RATES
    )
    found = st.descend(PROBLEM, descent, **FAST, keep=tmp_path)
    assert found.previous_task_error.shape == (2, 2)
    again = st.descend(PROBLEM, descent, **FAST, keep=tmp_path)
    assert again == found
    third = st.Descent(steps=1, start=again[1], signal_cosines=0.5, **RATES)
    assert st.descend(PROBLEM, third, **FAST).previous_task_error.shape == (2,)
    sampled = st.simulation.descend(PROBLEM, third, dimension=20, trials=2)
    assert np.isfinite(sampled.trials.previous_task_error).all()


THREE = st.model.ConceptProblem(3, [3.0, 3.0], [[1, 0], [0, 1], [0, 0]], [0.3, 0.3, 0.4], [0, 1, 2])
COVARIANCE = st.TokenCovariance(np.arange(1.0, 31.0), signal=np.eye(30)[0])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda at: (PROBLEM, {"start": at}), "signal_cosines must be a number"),
        (lambda at: (PROBLEM, {"start": at, "signal_cosines": 1.2}), r"in \[-1, 1\]"),
        (lambda at: (PROBLEM, {"start": at, "signal_cosines": [0.2]}), "a number, or a matrix"),
        (lambda at: (PROBLEM, {"start": at, "signal_cosines": [[0.2, 0.1]]}), "a number"),
        (lambda at: (PROBLEM, {"signal_cosines": 0.2}), "None unless"),
        (
            lambda at: (
                regression(3.0),
                {"start": at, "signal_cosines": [[0.9], [0.9]], "loss": "square"},
            ),
            "no singular value above 1",
        ),
        (
            lambda at: (
                PROBLEM,
                {"network": st.networks.Pooled(), "start": at, "signal_cosines": 1},
            ),
            "trained weights of a Pooled",
        ),
        (
            lambda at: (PROBLEM, {"start": at, "signal_cosines": 1, "start_overlaps": 0.1}),
            "0 for columns that the start has trained",
        ),
        (
            lambda at: (PROBLEM, {"start": at, "signal_cosines": 1, "start_c": [0.1]}),
            "start_c must be None",
        ),
        (
            lambda at: (
                st.SparseTokenProblem(3, tokens=COVARIANCE),
                {"start": at, "signal_cosines": 1},
            ),
            "isotropic",
        ),
        (
            lambda at: (THREE, {"start": at, "signal_cosines": [[0.5], [0.3]]}),
            "as many scores as this one, 3; got 1",
        ),
        (
            lambda at: (PROBLEM, {"start": at.weights}),
            "what st.descend or st.minimize has found; got 'Weights'",
        ),
    ],
)
def test_refusals(first, call, words):
    def descend(task, settings):
        st.descend(task, st.Descent(steps=1, **settings))

    task_and_settings = call(first)
    with pytest.raises(InvalidInput, match=words):
        descend(*task_and_settings)


def test_a_start_is_one_point_that_is_known():
    two = st.descend(PROBLEM, st.Descent(alpha=[1.0, 2.0], steps=1), **FAST)
    with pytest.raises(InvalidInput, match="of one point"):
        st.Descent(start=two, signal_cosines=1.0)
    problem = st.SparseTokenProblem(3, 1, 3.0)
    lost = st.descend(problem, st.OnePass(times=[0, 20], rates=12.0, loss="square"), replicas=2)
    with pytest.raises(InvalidInput, match="as it diverged"):
        st.Descent(start=lost, signal_cosines=1.0)
