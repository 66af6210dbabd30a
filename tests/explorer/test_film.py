"""The bags that are shown in training follow the law of the trajectory."""

import math

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.explorer import film

BAGS = 2000


@pytest.mark.parametrize(
    ("task", "network", "loss"),
    [
        (st.SparseTokenProblem(length=3, strength=3.0), st.networks.Gated(hidden=1), "logistic"),
        pytest.param(
            st.tasks.single_location_regression(length=3),
            st.networks.Softmax(),
            "square",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_outputs_and_weights_have_the_errors_of_the_trajectory(task, network, loss, monkeypatch):
    monkeypatch.setattr(film, "BAGS", BAGS)
    # Columns with large parts along the directions and beside them.
    start = {"start": 1.0, "start_overlaps": 0.8}
    descent = st.Descent(network, alpha=2.0, steps=2, rates=0.3, loss=loss, **start)
    trajectory = st.descend(task, descent, replicas=2)
    bags = film.bags_in_training(task, network, trajectory.weights, 4)
    outputs, weights = (np.array([bag[name] for bag in bags]) for name in ("output", "weights"))
    targets, informative = (
        np.array([bag[name] for bag in bags]) for name in ("target", "informative")
    )
    errors = (outputs - targets[:, None]) ** 2
    if bags[0]["kind"] == "class":
        errors = outputs * targets[:, None] < 0
    known = errors.std(axis=0, ddof=1) / math.sqrt(BAGS)
    # The trajectory is known to a hundredth of what so many bags tell; 6 comparisons.
    assert (abs(errors.mean(axis=0) - trajectory.test_error) < 4 * known + 2e-3).all()
    assert weights.sum(axis=-1) == pytest.approx(1)
    first = informative[np.arange(BAGS)[:, None], weights.argmax(axis=-1)][informative.any(axis=1)]
    known = 0.5 / math.sqrt(len(first))
    assert abs(first.mean(axis=0) - trajectory.attended) == pytest.approx(0, abs=4 * known)


def test_tokens_of_a_covariance_have_no_bags():
    task = st.SparseTokenProblem(
        tokens=st.TokenCovariance(np.ones(10), signal=np.full(10, 10**-0.5))
    )
    assert film.bags_in_training(task, st.networks.Softmax(), None, 0) == []
