"""Normalised steps and batches; theory against tensors."""

import dataclasses
import itertools

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.training import training_of
from sparsetoken.simulation.descent import followed
from sparsetoken.simulation.setting import Setting
from sparsetoken.theory.dynamics.plan import plan_of
from sparsetoken.theory.dynamics.replica import trajectory

PROBLEM = st.SparseTokenProblem(5, 1, 4.0)
RATES = {"Q": 0.3, "K": 0.3, "V": 0.3, "O": 0.3, "q": 0.3, "w": 0.2}
SIGNAL = {"Q": 0.6, "K": 0.6, "V": 0.5, "O": 0.0, "q": 0.2, "w": 0.1}
START = {"q": 0.3, "w": 0.2}


def moved(descent):
    """Return the lengths of the steps of each column, in theory and with tensors."""
    plan = plan_of(PROBLEM, descent)
    states = trajectory(plan, 0, (0,))
    data = Setting(40, 0, "tensors").start(PROBLEM, 0, "descent").descent_data(plan.training)
    weights = [state.U for state in followed(data, plan.training)]
    lengths = [np.linalg.norm(b - a, axis=0) for a, b in itertools.pairwise(weights)]
    return states, np.array(lengths)


def test_a_normalised_step_has_the_length_of_its_rate():
    _, lengths = moved(st.Descent(steps=2, rates={"q": 0.7, "w": 0.3}, normalised=True))
    np.testing.assert_allclose(lengths, [[0.7, 0.3]] * 2, rtol=1e-12)
    # From a start of 0 the weights after a step are the step.
    start = {"start": 0.0, "start_overlaps": {"q": 0.0, "w": 1.0}}
    states, lengths = moved(st.Descent(steps=1, rates=0.4, normalised="q", **start))
    assert np.sqrt(states.gram[1, 0, 0]) == pytest.approx(0.4, rel=1e-5)
    assert lengths[0, 0] == pytest.approx(0.4, rel=1e-12)
    assert lengths[0, 1] != pytest.approx(0.4, rel=0.01)


def test_a_gradient_of_zero_has_no_direction():
    start = {"start": {"q": 0.0, "w": 0.0}, "normalised": True}
    states, lengths = moved(st.Descent(steps=1, **start))
    assert states.gram[1, 0, 0] == lengths[0, 0] == 0  # the query has no slope where w is 0


def test_batches_are_the_same_in_each_epoch():
    descent = st.Descent(steps=6, batches=3)
    data = Setting(40, 0, "tensors").start(PROBLEM, 0, "descent")
    data = data.descent_data(training_of(PROBLEM, descent))
    batches = np.array([data._batch(t) for t in range(6)])
    np.testing.assert_array_equal(batches[:3].sum(axis=0), 1)
    np.testing.assert_array_equal(batches[3:], batches[:3])


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"normalised": "z"}, "normalised must be names among q, w; got 'z'"),
        ({"normalised": 2}, "normalised must be True, False or names of columns"),
    ],
)
def test_rules_that_are_refused(given, message):
    with pytest.raises(InvalidInput, match=message):
        training_of(PROBLEM, st.Descent(**given))


DESCENTS = {
    "normalised softmax": (
        PROBLEM,
        st.Descent(steps=8, rates={"q": 0.5, "w": 0.3}, normalised=True, start_overlaps=START),
    ),
    "normalised query on the sphere, momentum, decay": (
        st.tasks.needle_with_value(5),
        st.Descent(
            alpha=4.0,
            steps=8,
            rates={"q": 0.4, "w": 0.5},
            normalised="q",
            sphere="q",
            momentum=0.3,
            decay={"q": 0.0, "w": 0.1},
            start_overlaps={"q": {"needle": 0.3}, "w": {"value": 0.2}},
        ),
    ),
    "normalised, two layers": (
        PROBLEM,
        st.Descent(
            st.networks.Transformer(2),
            steps=6,
            rates=RATES,
            normalised=True,
            start_overlaps=SIGNAL,
        ),
    ),
    "batches, gated": (
        PROBLEM,
        st.Descent(st.networks.Gated(hidden=1), steps=9, batches=3, rates=1.0, alpha=4.0),
    ),
    "normalised, batches": (
        st.SparseTokenProblem(6, 1, 3.5, 0.4),
        st.Descent(steps=10, batches=2, normalised=("q", "w"), rates=0.4, alpha=1.5),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", DESCENTS)
def test_theory_predicts_what_is_simulated(name):
    task, descent = DESCENTS[name]
    theory = st.descend(task, descent, replicas=8)
    found = st.simulation.descend(task, descent, dimension=400, trials=16)
    for of in (
        lambda one: one.training_loss[-1],
        lambda one: one.test_error,
        lambda one: one.weights.overlaps[-1],
        lambda one: one.weights.gram[-1],
    ):
        limit, error, mean, se = (
            np.asarray(of(one)) for one in (theory, theory.errors, found.mean, found.standard_error)
        )
        # 4.5 standard errors of 16 trials at each of up to 120 numbers, and the shift of order 1/d,
        # as for networks of several layers; what a rate or a sphere fixes is so to rounding.
        allowed = 4.5 * np.hypot(error, se) + 3 / 400 * np.maximum(np.abs(limit), 0.2)
        assert np.all(np.abs(mean - limit) < allowed), (limit, mean, error, se)


def test_a_normalised_step_along_a_gradient_of_zero_is_by_chance():
    """Without overlaps nothing reads the first layer but by chance: its gradients are noise."""
    network = st.networks.Transformer(2)
    descent = st.Descent(network, steps=2, rates=0.1, normalised=True)
    trajectory = st.descend(PROBLEM, descent, replicas=8)
    assert trajectory.status == "approximate"
    assert "At step 0 the gradients" in trajectory.status.remedy
    assert np.isfinite(trajectory.test_error).all()
    descent = dataclasses.replace(descent, normalised="w")
    assert st.descend(PROBLEM, descent, replicas=8).status != "approximate"
