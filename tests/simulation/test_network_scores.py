"""Errors on new bags: what they count, and the memory that they take."""

import numpy as np

import sparsetoken as st
from sparsetoken.model.training import training_of
from sparsetoken.simulation.network_scores import Moments, NewBags

NETWORK = st.Descent(st.networks.Gated(2), steps=1)


def _counted(rate, descent=NETWORK):
    """Return what is counted where bags hold a signal at this rate."""
    task = st.model.ConceptProblem(4, [3.0], [[0], [1]], [1 - rate, rate], [0, 1])
    training = training_of(task, descent)
    m = len(training.columns)
    at = Moments(np.ones((m, 1)), np.eye(m), np.eye(m), np.zeros((m, m)))
    bags = NewBags(training.task, m, 1, np.random.default_rng(0))
    return bags.counted(descent.network, at, training.start_c)


def test_attended_is_not_known_where_no_bag_holds_a_signal():
    assert np.isnan(_counted(1e-12).attended)
    assert 0 < _counted(0.5).attended < 1


def test_attended_is_not_known_without_attention():
    assert np.isnan(_counted(0.5, st.Descent(st.networks.DeepSets(2), steps=1)).attended)


def test_effects_of_bags_alone_are_shared_by_their_tokens():
    # without noise within bags the projections of a bag differ by their signals alone
    task = training_of(st.SparseTokenProblem(5, 1, 0.0), NETWORK).task
    bags = NewBags(task, 1, 2**13, np.random.default_rng(0))
    S = np.zeros((1, 1))
    spread = st.networks.Network(lambda H, c: H[:, 0].max() - H[:, 0].min(), columns=["w"])
    at = Moments(np.zeros((1, 1)), np.ones((1, 1)), S, S + 1.0)
    assert bags.counted(spread, at, np.empty(0)).test_error == 0.5  # all scores are 0: ties
