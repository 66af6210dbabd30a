"""Functions of one's own that are no longer what they were at their first use, as in a notebook.

What they refer to has changed: a helper, a number, an entry of an array. Each result is that of a
function which was written so from the beginning.
"""

import jax.numpy as jnp
import numpy as np
import pytest

import sparsetoken as st

PROBLEM = st.SparseTokenProblem(length=3, strength=3.0)


def activation(x):
    return jnp.tanh(x)


def shared(H, c):
    return activation(H[:, 0]).sum() + c[0]


def changed(H, c):
    return jnp.sin(3 * H[:, 0]).sum() + c[0]


def descended(scores, **how):
    network = st.networks.Network(scores, ["w"], ["b"])
    descent = st.Descent(network, steps=2, rates=1.0)
    return st.descend(PROBLEM, descent, replicas=2, tolerance=0.5, **how).test_error


def simulated(scores):
    descent = st.Descent(st.networks.Network(scores, ["w"], ["b"]), steps=2, rates=1.0)
    return st.simulation.descend(PROBLEM, descent, dimension=40, trials=1).mean.test_error


def minimised(scores):
    minimum = st.Minimum(st.networks.Network(scores, ["w"], ["b"]), alpha=2.0, ridge=0.1)
    return st.simulation.minimize(PROBLEM, minimum, dimension=40, trials=1).mean.test_error


def minimised_in_the_limit(scores):
    minimum = st.Minimum(st.networks.Network(scores, ["w"], ["b"]), alpha=2.0, ridge=0.1)
    return st.minimize(PROBLEM, minimum, tolerance=0.2).test_error


@pytest.mark.parametrize(
    "run",
    [
        descended,
        simulated,
        minimised,
        pytest.param(minimised_in_the_limit, marks=pytest.mark.slow),
    ],
)
def test_a_network_whose_helper_is_defined_again(run, monkeypatch):
    before = run(shared)
    monkeypatch.setitem(globals(), "activation", lambda x: jnp.sin(3 * x))
    np.testing.assert_array_equal(run(shared), run(changed))
    monkeypatch.undo()
    np.testing.assert_array_equal(run(shared), before)
    assert not np.array_equal(before, run(changed))


def test_what_is_kept_is_of_the_function_as_it_is(monkeypatch, tmp_path):
    before = descended(shared, keep=tmp_path)
    monkeypatch.setitem(globals(), "activation", lambda x: jnp.sin(3 * x))
    for _ in range(2):
        np.testing.assert_array_equal(descended(shared, keep=tmp_path), descended(changed))
    monkeypatch.undo()
    np.testing.assert_array_equal(descended(shared, keep=tmp_path), before)


def test_a_loss_whose_array_is_changed():
    at = np.array([1.0])

    def loss(score, y):
        return at[0] * (score - y) ** 2

    def run(loss):
        descent = st.Descent(steps=1, loss=loss)
        return st.descend(PROBLEM, descent, replicas=2, tolerance=0.5).test_error

    run(loss)
    at[0] = 0.25
    np.testing.assert_array_equal(run(loss), run(lambda score, y: 0.25 * (score - y) ** 2))


def test_a_task_whose_number_is_changed():
    """The new bags that errors are measured on change with those that are trained on."""
    size = {"of tokens": 3.0}

    def task_of(size):
        def draw(n, rng):
            coefficients = np.zeros((n, 3, 2))
            coefficients[:, 0, 0] = size["of tokens"] * rng.choice([-1, 1], n)
            return {"coefficients": coefficients}

        return st.Task(3, 2, draw, lambda latent, Z: np.sign(Z[:, 0, 0]))

    def run(task):
        descent = st.Descent(steps=1, rates=1.0)
        return st.descend(task, descent, replicas=2, tolerance=0.5).test_error

    task = task_of(size)
    before = run(task)
    size["of tokens"] = 0.1
    after = run(task)
    assert after[1] > before[1] + 0.1
    np.testing.assert_array_equal(after, run(task_of({"of tokens": 0.1})))
