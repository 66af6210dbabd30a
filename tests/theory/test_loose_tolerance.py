"""Predictions at a loose tolerance start with few nodes, and know their error all the same."""

import numpy as np
import pytest

from sparsetoken import Attention, Query, Readout, SparseTokenProblem, predict


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_few_nodes_know_their_error(loss):
    rng = np.random.default_rng(0)
    deviations = []
    for _ in range(6):
        problem = SparseTokenProblem(
            int(rng.integers(2, 20)), 1, rng.uniform(1, 5), rng.uniform(0.2, 0.8)
        )
        model = Attention(Query(rng.uniform(0.2, 1), rng.uniform(0.3, 3)))
        readout = Readout(loss, ridge=10 ** rng.uniform(-3, 0), alpha=rng.uniform(0.5, 8))
        rough, fine = (predict(problem, model, readout, tolerance=t) for t in (1e-2, 1e-4))
        assert rough.status.converged
        assert 2 * rough.numerical_error <= 1e-2
        # So few nodes that their error shows beside that of the fine ones.
        assert rough.numerical_error > fine.numerical_error
        deviations.append((rough.test_error - fine.test_error) / rough.numerical_error)
    # 12 values of Student's law with 7 degrees of freedom, the scrambles less one: one beyond 6
    # in 1900, so that in all one run in 150 would have one.
    assert np.max(np.abs(deviations)) < 6
