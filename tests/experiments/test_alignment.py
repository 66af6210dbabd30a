"""Points carry mean, standard error and number of the trials."""

import numpy as np
import pytest

from sparsetoken import simulation
from sparsetoken.experiments import alignment, finite_size

SMALL = alignment.AlignmentProfile((1.0,), dimension=20, trials=3)


def test_points_of_the_alignment():
    found = simulation.simulate_alignment(
        alignment.PROBLEM, alignment._training(1.0), dimension=20, trials=3, seed=5
    )
    point = alignment._simulation(1.0, "reduced", SMALL, 5)[1]
    assert point.value == pytest.approx(np.mean(found.readout_cosine))
    assert point.error == pytest.approx(np.std(found.readout_cosine, ddof=1) / 3**0.5)
    assert (point.quantity, point.source, point.trials) == ("readout_cosine", "reduced", 3)


def test_points_of_the_finite_dimension():
    (cosine,) = finite_size._alignment(20, 4, 5)
    error, loss = finite_size._learned(20, 3, 5)
    assert (cosine.quantity, cosine.x, cosine.dimension, cosine.trials) == ("cosine", 20.0, 20, 4)
    assert [p.quantity for p in (error, loss)] == ["test_error", "training_loss"]
    assert error.trials == 3
    assert 0 < error.error < error.value < 0.5
