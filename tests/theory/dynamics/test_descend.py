"""Gradient descent on all weights, in high dimension.

Equations: joint-descent.
"""

import dataclasses
import math

import jax.numpy as jnp
import numpy as np
import pytest

from attention_descent import alternating, attention_descent, quantities
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import CustomLoss
from sparsetoken.model import networks
from sparsetoken.model.descent import Descent
from sparsetoken.model.models import Attention
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout, TwoSteps
from sparsetoken.numerics.errors import stated_error
from sparsetoken.results import StatusCode
from sparsetoken.studies import descent_settings
from sparsetoken.theory import align, descend, predict
from sparsetoken.theory.dynamics import replica as replicas
from sparsetoken.theory.dynamics.follow import follow
from sparsetoken.theory.dynamics.plan import plan_of

PROBLEM = SparseTokenProblem(5, 1, 3.0, 0.4)
JOINT = attention_descent(3.0, 11, 1.0, 4.0, 0.5, start_w=0.3, start_q=0.5)
LOPSIDED = CustomLoss(
    "lopsided", lambda y, z: jnp.where(y > 0, 2.0, 0.5) * jnp.logaddexp(0.0, -y * z)
)


@pytest.mark.parametrize(
    ("problem", "steps"),
    [
        pytest.param(
            *(SparseTokenProblem(10, 3, 6.0, 0.2), TwoSteps(0.5, 0.5, 0.5, 25.0)),
            marks=pytest.mark.slow,
        ),
        pytest.param(
            *(SparseTokenProblem(4, 1, 2.0, 0.6), TwoSteps(2.0, 1.5, 0.0, 3.0, 2.0, "square")),
            marks=pytest.mark.slow,
        ),
        (SparseTokenProblem(6, 2, 3.0, 0.3), TwoSteps(1.0, 0.7, 1.0, 5.0, 0.5, LOPSIDED)),
        pytest.param(
            SparseTokenProblem(3, 3, 1.5, 0.5),
            TwoSteps(3.0, 1.0, 0.3, 9.0, 1.0, "squared_hinge"),
            marks=pytest.mark.slow,
        ),
    ],
)
def test_alternating_steps_from_zero_are_the_alignment(problem, steps):
    """The two steps have closed forms; the numerical error is that of the replicas."""
    descent = alternating(
        steps.alpha0, 2, steps.eta_w, steps.eta_q, steps.eta_b, beta=steps.beta, loss=steps.loss
    )
    trajectory, expected = descend(problem, descent, replicas=16), align(problem, steps)
    found, errors = quantities(trajectory), quantities(trajectory.errors)
    pairs = [
        (found["cosine"][2], expected.cosine, errors["cosine"][2]),
        (found["overlap_q"][2], expected.overlap, errors["overlap_q"][2]),
        (found["norm_q"][2], expected.norm, errors["norm_q"][2]),
        (
            found["overlap_w"][2] / found["norm_w"][2],
            expected.readout_cosine,
            errors["overlap_w"][2] / found["norm_w"][2],
        ),
    ]
    for value, limit, error in pairs:
        assert error < 0.02 * (0.05 + abs(limit))
        # The cosine is a ratio, with a bias of the order of its relative error squared.
        assert value == pytest.approx(limit, abs=4 * error + 1e-4)
    np.testing.assert_array_equal(found["norm_q"][:2], 0)
    assert found["overlap_w"][1] == found["overlap_w"][2]


@pytest.mark.slow
def test_the_error_of_order_one_over_n_is_gone():
    """Replicas of 1024 samples agree with those of 4096; without the halves they do not."""
    plan = plan_of(PROBLEM, JOINT)
    plans = [plan._replace(size=size) for size in (256, 1024)]

    def rows(states):
        return np.concatenate([x.reshape(*states.loss.shape, -1) for x in states], axis=-1)

    small, large = (
        rows(replicas.grouped([replicas.run_replica(plan, i) for i in range(count)], count))
        for plan, count in zip(plans, (48, 12), strict=True)
    )
    spread = np.hypot(*(x.std(axis=0, ddof=1) / math.sqrt(len(x)) for x in (small, large)))
    distance = np.abs(small.mean(axis=0) - large.mean(axis=0))
    assert (distance <= 4 * spread + 1e-12).all()
    raw = np.array([rows(replicas.trajectory(plans[0], i, (0,))) for i in range(48)])
    bias = raw.mean(axis=0) - large.mean(axis=0)
    assert bias[-1, 0] < -3 * spread[-1, 0]  # of the training loss


@pytest.mark.slow
def test_results_do_not_depend_on_the_workers():
    one = descend(PROBLEM, JOINT, replicas=4)
    other = descend(PROBLEM, JOINT, replicas=4, workers=2)
    assert one.to_dict() == other.to_dict()


@pytest.mark.slow
def test_smaller_tolerances_take_more_replicas():
    short = dataclasses.replace(JOINT, steps=4)
    rough, fine = (descend(PROBLEM, short, tolerance=t) for t in (1e-2, 3e-4))
    assert rough.replicas < fine.replicas
    assert 2 * fine.numerical_error <= 3e-4
    error = math.hypot(rough.numerical_error, fine.numerical_error)
    assert np.abs(rough.test_error - fine.test_error).max() < 5 * error
    starved = descend(PROBLEM, JOINT, tolerance=1e-5, replicas=2)
    assert starved.status.code is StatusCode.TOLERANCE_NOT_REACHED


def test_an_error_is_that_of_groups_and_of_nodes():
    found = follow(PROBLEM, dataclasses.replace(JOINT, steps=2), 1e-3, 4)
    errors = found.outcome_error.test_error
    groups = stated_error(found.group_outcomes.test_error)
    np.testing.assert_allclose(errors, np.hypot(groups, found.node_errors.test_error), rtol=1e-12)
    assert (errors[1:] > 0).all()


def test_what_is_not_reached_is_said_with_the_error_and_what_twice_of_it_may_be():
    """An error below the tolerance may be twice too large."""
    error = descend(PROBLEM, JOINT, replicas=2).numerical_error
    found = descend(PROBLEM, JOINT, tolerance=1.5 * error, replicas=2)
    text = found.status.remedy
    assert found.status.code is StatusCode.TOLERANCE_NOT_REACHED
    assert f"is {2 * error:.1e} with 2 replicas, {1.5 * error:.1e} was asked" in text
    needed = float(text.split("tolerance of ")[1].rstrip("."))
    assert descend(PROBLEM, JOINT, tolerance=needed, replicas=2).converged


@pytest.mark.parametrize(
    "activation",
    [
        pytest.param("erf", marks=pytest.mark.slow),
        "sigmoid",
        pytest.param("tanh", marks=pytest.mark.slow),
        pytest.param("linear", marks=pytest.mark.slow),
        pytest.param("exp", marks=pytest.mark.slow),
    ],
)
def test_one_step_of_elementwise_attention(activation):
    """From zero the first step is that of the mean token times phi(0)."""
    phi = {"erf": 1.0, "sigmoid": 0.5, "tanh": 0.0, "linear": 1.0, "exp": 1.0}[activation]
    found, pooled = (
        quantities(descend(PROBLEM, descent, replicas=2))
        for kind in (activation, "")
        for descent in [attention_descent(2.0, 1, 0.5, 1.0, activation=kind)]
    )
    for name in ("overlap_w", "norm_w"):
        assert found[name][1] == pytest.approx(phi * pooled[name][1], abs=1e-12)
    assert found["bias"][1] == pooled["bias"][1]


def test_momentum_and_decay_have_closed_forms_without_data():
    """Without a signal, on infinite data: the square loss shrinks w by 1/L, nothing moves q."""
    problem = SparseTokenProblem(3, 1, 0.0, 0.5)

    def lengths(rate, start):
        now, before, trajectory = start, start, [start]
        for _ in range(3):
            now, before = now - rate * now + 0.5 * (now - before), now
            trajectory.append(now)
        return trajectory

    options = {"momentum": 0.5, "decay_w": 1.0, "decay_q": 2.0, "loss": "square"}
    moved = attention_descent(1e6, 3, 0.1, 0.0, 0.0, start_w=1.0, **options)
    found = descend(problem, moved, replicas=8)
    expected, error = lengths(0.1 * (1 + 1 / 3), 1.0), quantities(found.errors)["norm_w"].max()
    np.testing.assert_allclose(quantities(found)["norm_w"], expected, atol=5 * error + 1e-3)
    still = attention_descent(1e6, 3, 0.0, 0.1, 0.0, start_q=2.0, **options)
    found = quantities(descend(problem, still, replicas=2))
    np.testing.assert_allclose(found["norm_q"], lengths(0.2, 2.0), rtol=1e-6)


def test_batches_of_equal_size_start_like_smaller_data_sets():
    """The first step on one of three batches is a step on a third of the data."""
    third = descend(PROBLEM, attention_descent(1.0, 1), replicas=8)
    batch = descend(PROBLEM, attention_descent(3.0, 1, batches=3), replicas=8)
    for name in ("overlap_w", "norm_w", "bias"):
        one, other = (quantities(found)[name][1] for found in (third, batch))
        error = np.hypot(*(quantities(found.errors)[name][1] for found in (third, batch)))
        # Replicas are followed in float32, and a bias is what is left of slopes of both classes.
        assert one == pytest.approx(other, abs=4 * error + 2e-7)
    assert batch.training_loss[1] > third.training_loss[1]  # two thirds of the data are new


def test_a_step_without_step_sizes_changes_nothing():
    still = attention_descent(2.0, 2, 0.0, 0.0, 0.0, start_w=1.0, start_q=2.0)
    found = quantities(descend(PROBLEM, still, replicas=2))
    for name in ("norm_w", "norm_q", "product_wq", "overlap_w"):
        np.testing.assert_array_equal(found[name], found[name][0])
    assert (found["norm_w"][0], found["norm_q"][0]) == (pytest.approx(1), pytest.approx(2))
    assert found["product_wq"][0] == pytest.approx(0, abs=1e-12)


def test_at_zero_a_guess_errs_in_half_of_all_samples():
    found = descend(PROBLEM, attention_descent(steps=1, eta_b=0.0), replicas=2)
    assert found.test_error[0] == 0.5
    assert (found.weights.cosines[0] == 0).all()


def test_steps_that_diverge_are_said_and_what_came_before_is_kept():
    wild = attention_descent(1.0, 9, 300.0, 300.0, 300.0, loss="square")
    found = descend(PROBLEM, wild, replicas=2)
    assert found.status.code is StatusCode.NO_LIMIT
    known = int(np.isfinite(found.test_error).sum())
    assert f"diverges at step {known}" in found.status.remedy
    assert 1 < known <= 9 < len(found) == 10
    for name, values in found.columns().items():
        if values.dtype.kind == "f" and name != "numerical_error":
            assert np.isfinite(values[:known]).all(), name
            assert np.isnan(values[known:]).all(), name
    assert np.isfinite(found.numerical_error)
    assert found.best_step < known
    with pytest.raises(InvalidInput, match=r"diverged: take an earlier state by isel"):
        found.weights.query(1.0)
    assert found.weights.isel(step=known - 1).query(1.0) == Query(0.0, 0.0)


def test_the_query_of_a_descent_is_frozen_by_two_calls():
    descent = alternating([2.0, 3.0], 4, 1.0, 8.0, 0.5, beta=1.2)
    trajectories = descend(PROBLEM, descent, replicas=2)
    weights = trajectories.weights
    queries = weights.query(1.2)
    assert queries == Query(weights.cosines[:, -1, 0, 0], 1.2 * weights.norms[:, -1, 0])
    assert weights[0].isel(step=2).query(0.0) == Query(weights.cosines[0, 2, 0, 0], 0.0)
    found = predict(PROBLEM, Attention(queries), Readout(alpha1=2.0), tolerance=0.05)
    assert found.cosine.tolist() == weights.cosines[:, -1, 0, 0].tolist()
    with pytest.raises(
        InvalidInput, match=r"a Query or TwoSteps; .*descend\(\.\.\.\)\.weights\.query\(beta\)"
    ):
        Attention(descent)


@pytest.mark.parametrize(
    "network", [networks.Softmax(heads=2), networks.Gated(1), networks.Pooled()]
)
def test_a_query_is_that_of_a_network_with_one(network):
    trajectory = descend(PROBLEM, Descent(network, steps=1), replicas=2)
    with pytest.raises(InvalidInput, match="whose first column is its one query q; got"):
        trajectory.weights.query(1.0)


def test_bad_values():
    with pytest.raises(InvalidInput, match="steps of a descent"):
        descend(PROBLEM, dataclasses.replace(JOINT, steps=90000))
    with pytest.raises(InvalidInput, match="tolerance"):
        descend(PROBLEM, JOINT, tolerance=0.0)
    with pytest.raises(InvalidInput, match="replicas"):
        descend(PROBLEM, JOINT, replicas=1)


def test_a_long_descent_is_known_to_its_end():
    """Near its end slopes differ by little, of which rounding must not make directions."""
    problem, descent = descent_settings.PROBLEM, descent_settings.one_data_set(1.0)
    trajectory = descend(problem, descent, replicas=3, tolerance=0.9)
    assert trajectory.status == "converged"
    assert trajectory.training_loss[-1] == pytest.approx(trajectory.training_loss[-8], rel=0.05)
