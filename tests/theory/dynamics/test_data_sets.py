"""Courses among tokens of a known dimension: means over data sets."""

import dataclasses

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken import simulation
from sparsetoken.model import networks
from sparsetoken.results import StatusCode
from sparsetoken.theory import descend
from sparsetoken.theory.dynamics import follow
from sparsetoken.theory.dynamics.plan import plan_of, plan_of_data_sets


def spiked(dimension, *spikes, between=None, **letters):
    within = np.append(spikes, np.ones(dimension - len(spikes)))
    waves = np.cos(1.7 * np.arange(dimension))
    tokens = st.TokenCovariance(within, between, signal=waves / np.linalg.norm(waves))
    return st.SparseTokenProblem(**{"length": 6, "strength": 5.0, **letters}, tokens=tokens)


def descent(q, w, network=None, **given):
    rates, network = {"q": q, "w": w}, network or networks.Softmax()
    return st.Descent(network, rates=rates, rate_c=0.5, **{"start": [0.5, 0.3], **given})


def test_a_descent_on_a_spiked_covariance_is_followed_to_its_end():
    """In the limit replicas near a divergence differ; each data set has a course."""
    problem = spiked(300, 60.0, 30.0, 15.0, length=8, strength=4.0)
    found = descend(problem, descent(1.0, 0.2, alpha=2.0, steps=12), replicas=2)
    assert np.isfinite(found.test_error).all()
    assert ((found.test_error > 0.2) & (found.test_error < 0.52)).all()
    assert (found.training_loss > 0).all()
    assert (np.linalg.eigvalsh(found.weights.gram) >= -1e-9).all()
    assert found.status.code is not StatusCode.NO_LIMIT


LAST = networks.Network(lambda H, c: H[-1, 0] * H[:, 1].sum() + c[0], columns=["q", "w"], weights=1)


@pytest.mark.parametrize(
    ("problem", "trained", "count"),
    [
        # The limit has a test error of .153 after 4 steps, .032 below.
        (spiked(60, 10.0, length=4, strength=6.0), descent(1.0, 0.6, alpha=2.0, steps=5), 64),
        (
            spiked(60, 12.0, between=np.full(60, 0.5), length=4),
            descent(0.5, 0.2, alpha=2.0, steps=5, batches=2, momentum=0.3, decay=0.1),
            48,
        ),
        (spiked(60, 8.0, length=4), descent(0.1, 0.1, LAST, alpha=2.0, steps=4), 48),
        (spiked(60, 8.0, length=4), descent(0.0, 0.0, LAST, alpha=2.0, steps=4), 48),  # c alone
    ],
)
def test_means_over_data_sets_are_those_of_the_simulation(problem, trained, count):
    found = descend(problem, trained, replicas=count)
    at = [trained.steps // 2, trained.steps - 1]
    sizes = {"trials": count, "seed": 3, "at": at}
    measured = simulation.descend(problem, trained, **sizes)
    for name in ("test_error", "training_loss"):
        error = np.hypot(getattr(found.errors, name), getattr(measured.standard_error, name))
        distance = abs(getattr(found, name) - getattr(measured.mean, name))
        # Each is beyond 4 standard errors with a chance of about 1e-4.
        assert (distance[at] <= 4 * error[at]).all(), name


def test_the_mean_is_known_to_the_tolerance_or_a_share_of_the_spread():
    trained = descent(0.5, 0.2, alpha=2.0, steps=3)
    found = descend(spiked(60, 12.0, length=4), trained)
    assert found.status.converged
    (note,) = found.notes
    assert "data sets at d = 60" in note
    last = float(note.split()[-1].rstrip("."))
    assert found.errors.test_error[-1] == pytest.approx(last / np.sqrt(found.replicas), rel=0.05)
    assert 2 * found.errors.test_error[-1] <= last / 4


@pytest.mark.parametrize(
    ("dimension", "change"),
    [(2100, {}), (60, {"batches": 200}), (2, {"start": [0.5, 0.3]})],
)
def test_where_no_data_set_fits_the_limit_is_stated_as_such(dimension, change):
    trained = dataclasses.replace(descent(0.5, 0.2, alpha=2.0, steps=1), **change)
    problem = spiked(dimension, 12.0, length=4)
    assert plan_of_data_sets(plan_of(problem, trained)) is None
    (note,) = descend(problem, trained, replicas=2).notes
    assert "limit of many directions" in note


def test_the_limit_is_that_of_data_sets_of_large_dimension(monkeypatch):
    """Two engines that share no samples: the law of the limit, and tokens."""
    d = 400
    tokens = st.TokenCovariance(np.repeat([0.5, 1.5], d // 2), signal=np.full(d, d**-0.5))
    problem = st.SparseTokenProblem(4, strength=4.0, tokens=tokens)
    trained = descent(0.5, 0.4, alpha=2.0, steps=5)
    sets = descend(problem, trained, replicas=16)
    monkeypatch.setattr(follow, "plan_of_data_sets", lambda plan: None)
    limit = descend(problem, trained, replicas=16)
    for name in ("test_error", "training_loss"):
        here, there = getattr(sets, name), getattr(limit, name)
        error = np.hypot(getattr(sets.errors, name), getattr(limit.errors, name))
        # Fluctuations of n = 2 d samples change means by a few 1/d.
        assert np.all(np.abs(here - there) < 4 * error + 3 / d)
    assert limit.test_error[-1] < limit.test_error[0] - 0.1  # what is compared has moved
