"""A result is gone through along its first dimension."""

import numpy as np
import pytest

from sparsetoken import Pooled, Readout, SparseTokenProblem, TwoSteps, align, simulate

PROBLEM = SparseTokenProblem(length=4, informative=1, strength=2.0)


def test_parts_are_those_along_the_first_dimension():
    steps = TwoSteps(alpha0=[1.0, 2.0, 4.0], eta_b=np.array([[0.5], [1.0]]))
    found = align(PROBLEM, steps)
    rows = list(found)
    assert rows == [found[0], found[1]]
    assert [row.shape for row in rows] == [(3,), (3,)]
    assert [one.cosine for one in rows[1]] == found.cosine[1].tolist()


def test_trials_are_gone_through():
    found = simulate(PROBLEM, Pooled(), Readout(alpha1=1.0), dimension=20, trials=3)
    assert [trial.test_error for trial in found.trials] == found.trials.test_error.tolist()


def test_a_single_point_has_no_parts():
    with pytest.raises(TypeError, match="no length"):
        list(align(PROBLEM))
