"""The data-reuse experiment from end to end, at a small size."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.data_reuse import reuse_trial, steps_of
from sparsetoken.model.stages import Readout
from sparsetoken.simulation.seeds import Stream, seed_of
from sparsetoken.simulation.tensors import TensorEngine

pytestmark = pytest.mark.slow


def test_rows_are_means_of_paired_trials(rows):
    trials = [reuse_trial(2.0, 40, seed_of("data-reuse", 0, 4), trial) for trial in range(5)]
    paid = rows.one("trained", "excess", arm="reused", load=2.0)
    differences = [one["reused"]["test_error"] - one["fresh"]["test_error"] for one in trials]
    assert paid.value == pytest.approx(sum(differences) / 5)


def test_each_query_comes_from_its_samples():
    reached = reuse_trial(2.0, 24, seed=1, trial=2)
    engine = TensorEngine(PROBLEM, 24, seed_of("beyond", 1, 2))
    D0, D1 = (list(engine.chunks(source, 48)) for source in (Stream.D0, Stream.D1))
    for arm, samples in (("fresh", ()), ("reused", D1), ("all twice", D0 + D1)):
        assert reached[arm]["cosine"] == engine.train_query(steps_of(2.0), samples).query.cosine
    assert len({arm["test_error"] for arm in reached.values()}) == len(reached)


def test_fresh_data_give_the_law_of_the_simulation():
    trials, steps = 30, steps_of(2.0)
    errors = [reuse_trial(2.0, 24, 0, trial)["fresh"]["test_error"] for trial in range(trials)]
    given = {"dimension": 24, "trials": trials, "seed": 1}
    other = st.simulate(PROBLEM, st.Attention(steps), Readout(alpha1=2.0), **given)
    width = np.hypot(np.std(errors, ddof=1) / np.sqrt(trials), other.standard_error.test_error)
    # Two independent means of the same law: 4 standard errors of their difference.
    assert abs(np.mean(errors) - other.mean.test_error) < 4 * width


def test_the_descent_finds_the_query_of_two_steps(rows):
    # The same two steps, so the cosine is that of the alignment, to the error of the replicas.
    for row in rows.where("theory", "cosine"):
        expected = st.align(PROBLEM, steps_of(row["alpha"])).cosine
        assert row.value == pytest.approx(expected, abs=4 * row.error + 1e-4)
