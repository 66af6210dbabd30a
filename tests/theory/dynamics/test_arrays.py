"""Several descents at once: the same as one by one, with a dimension of steps."""

import matplotlib
import numpy as np
import pytest
from matplotlib.figure import Figure

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.results import Prediction, StatusCode, Trajectory
from sparsetoken.theory import descend

matplotlib.use("agg")

PROBLEM = st.SparseTokenProblem(4, 1, 3.0)
RATES, LOADS = np.array([0.5, 1.0, 2.0]), np.array([[1.0], [3.0]])
STEPS = 3


def _descent(**fields):
    return st.Descent(**({"steps": STEPS} | fields))


@pytest.fixture(scope="module")
def plane():
    return descend(PROBLEM, _descent(alpha=LOADS, rate_c=RATES[:, None]), tolerance=0.05)


def test_each_point_is_what_it_is_alone(plane):
    assert isinstance(plane, Trajectory)
    assert plane.shape == plane.test_error.shape == (2, 3, STEPS + 1)
    assert plane.dims == ("alpha", "rate_c", "step")
    assert set(plane.coords) == {"alpha", "rate_c", "step"}
    assert plane.status.shape == plane.numerical_error.shape == plane.replicas.shape == (2, 3)
    alone = descend(PROBLEM, _descent(alpha=3.0, rate_c=0.5), tolerance=0.05)
    np.testing.assert_array_equal(plane.test_error[1, 0], alone.test_error)
    np.testing.assert_array_equal(plane[1, 0].weights.c, alone.weights.c)
    assert plane[1, 0] == alone
    assert plane.converged


def test_pictures(plane):
    over_steps = plane.plot("training_loss", Figure().subplots())
    assert len(over_steps.lines) == 6
    assert (
        over_steps.get_legend().get_texts()[0].get_text()
        == "softmax attention, theory, alpha = 1, rate_c = 0.5"
    )
    over_loads = plane.isel(step=-1).plot("cosine_q", Figure().subplots())
    assert over_loads.get_xlabel() == "step size of the further weights c"
    with pytest.raises(InvalidInput, match="quantity"):
        plane.plot("loss")


@pytest.mark.slow
def test_schedules_over_arrays():
    sizes = [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]
    found = descend(PROBLEM, _descent(rate_c=sizes), replicas=2)
    assert found.shape == (2, STEPS + 1)
    assert found.coords["rate_c"].ravel().tolist() == [tuple(row) for row in sizes]
    alone = descend(PROBLEM, _descent(rate_c=sizes[1]), replicas=2)
    np.testing.assert_array_equal(found.test_error[1], alone.test_error)
    assert found.isel(step=-1).plot("test_error", Figure().subplots()).get_xlabel() == "point"
    many = descend(PROBLEM, _descent(rate_c=np.ones((22, 1)), steps=1), replicas=2)
    with pytest.raises(InvalidInput, match="at most 20"):
        many.plot()


def test_arrays_in_the_problem_and_the_loads():
    problem = st.SparseTokenProblem(4, 1, np.array([2.0, 3.0]))
    found = descend(problem, _descent(alpha=[1.0, 2.0], steps=1), replicas=2)
    assert found.test_error.shape == (2, 2)
    assert found.test_error[0, 1] > found.test_error[1, 1]


def test_a_point_that_diverges_leaves_the_others():
    problem = st.SparseTokenProblem(4, 1, 2.0)
    descent = st.Descent(steps=12, loss="square", rates=[4.0, 1.0], rate_c=[[0.5], [1e6]])
    found = descend(problem, descent, replicas=2)
    assert np.isfinite(found.test_error[0]).all()
    assert np.isnan(found.test_error[1, -1])
    assert found[1].status.code is StatusCode.NO_LIMIT
    assert (found.status == "no_limit").tolist() == [False, True]
    assert not found.converged
    last = found.isel(step=-1)
    assert np.isnan(last.test_error[1])
    assert "diverges" in last[1].status.remedy
    assert all(np.isfinite(one.isel(step=one.best_step).test_error) for one in found)


def test_a_readout_afterwards_is_a_prediction():
    trajectory = st.descend(PROBLEM, _descent(alpha=[1.0, 3.0], steps=2), replicas=2)
    model = st.Attention(trajectory.weights.query(beta=1.0))
    found = st.predict(PROBLEM, model, st.Readout(alpha1=2.0), tolerance=1e-2)
    assert isinstance(found, Prediction)
    assert found.shape == (2,)
    assert found.test_error[1] < found.test_error[0]


def test_simulations_of_several_descents():
    descent = _descent(alpha=[1.0, 3.0], steps=2)
    found = st.simulation.descend(PROBLEM, descent, dimension=40, trials=3)
    assert found.dims == ("alpha", "step")
    assert found.mean.test_error.shape == (2, 3)
    assert found.trials.test_error.shape == (2, 3, 3)
    assert (found.isel(step=-1).standard_error.test_error > 0).all()
    alone = st.simulation.descend(PROBLEM, _descent(alpha=3.0, steps=2), dimension=40, trials=3)
    np.testing.assert_array_equal(found[1].mean.test_error, alone.mean.test_error)
    assert found[1] == alone
    assert len(found.to_frame()) == 6
