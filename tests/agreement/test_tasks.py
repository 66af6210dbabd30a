"""Readouts on tasks, with a given query: theory agrees with simulation."""

import jax.numpy as jnp
import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.base.validation import InvalidInput
from sparsetoken.model import HardAttention

REGRESSION = st.tasks.single_location_regression(length=6)
NEEDLE = st.tasks.needle_with_value(length=6)
CONCEPTS = st.model.ConceptProblem(
    length=5,
    strengths=[5.5, 3.5],
    patterns=[[1, 1], [0, 0], [1, 0], [0, 1]],
    rates=[0.4, 0.2, 0.2, 0.2],
    labels=[1, 0, 0, 0],
)


def _draw(n, rng):
    coefficients = np.zeros((n, 4, 1))
    coefficients[:, 0] = 1.5
    return {"coefficients": coefficients, "scale": np.tile([0.5, 1.0, 1.0, 2.0], (n, 1))}


def _target(latent, Z):
    return np.where(Z[:, 0, 0] > 1.5, 1.0, -1.0)


def _missed(output, y):
    return jnp.where((output < 0) & (y > 0), 1.0, 0.0)


SCALES = st.Task(4, 1, _draw, _target, metric="error")
MISSED = st.Task(4, 1, _draw, _target, metric=_missed)
SQUARE, LOGISTIC = st.Readout("square", 0.05, 2.0), st.Readout("logistic", 0.03, 2.0)
WEIGHTS = {"place": 0.7, "value": 0.3}
CASES = {
    "regression": (REGRESSION, st.Attention(st.Query(cosines=WEIGHTS, sharpness=1.5)), SQUARE),
    "pooled": (REGRESSION, st.Pooled(), SQUARE),
    "needle": (NEEDLE, st.Elementwise(st.Query(cosines={"needle": 0.8}, sharpness=1.5)), LOGISTIC),
    "concepts": (CONCEPTS, st.Attention(st.Query(cosines={"1": 0.6, "2": 0.5})), LOGISTIC),
    "scales": (SCALES, st.Attention(st.Query(1.0, 1.5)), LOGISTIC),
    "metric": (MISSED, HardAttention(st.Query(0.9, 1.5)), st.Readout("squared_hinge", 0.05, 2.0)),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_theory_predicts_what_is_simulated(case):
    known = st.predict(*case, tolerance=4e-3)
    found = st.simulate(*case, dimension=300, trials=24, seed=1)
    assert known.converged
    assert found.status.converged
    theory, measured = known.to_dict(), found.to_dict()
    given = [name for name in theory if "_q" in name and not name.endswith("_se")]
    for name in given:  # the query is as given
        assert measured[name] == pytest.approx(theory[name], abs=1e-12)
    names = ["test_error", "training_loss", "norm_w", *(n for n in theory if "overlap_w" in n)]
    names = [name for name in names if not name.endswith("_se")]
    assert len(names) >= 4
    value = np.array([theory[name] for name in names])
    error = np.array([np.hypot(measured[f"{n}_se"], theory[f"{n}_se"]) for n in names])
    apart = np.array([measured[name] for name in names]) - value
    # Up to 6 numbers with 23 degrees of freedom; effects of order 1/d are below a standard error.
    assert np.abs(apart / error).max() < 4
    # Power: numbers that are wrong by a tenth would be seen.
    assert np.abs((apart - 0.1 * value) / error).max() > 4


def test_trials_repeat_broadcast_and_are_kept(tmp_path):
    model = st.Attention(st.Query(cosines=WEIGHTS, sharpness=[0.5, 1.5]))
    options = {"dimension": 20, "trials": 3, "seed": 5}
    both = st.simulate(REGRESSION, model, SQUARE, **options, keep=tmp_path)
    assert both.trials.test_error.shape == (2, 3)
    again = st.simulate(REGRESSION, model, SQUARE, **options, keep=tmp_path, engine="tensors")
    np.testing.assert_array_equal(both.trials.test_error, again.trials.test_error)
    one = st.simulate(
        REGRESSION, st.Attention(both.trials.weights[1, 0].query(1.0)), SQUARE, dimension=20
    )
    assert one.mean.weights.cosines[0] == pytest.approx([0.7, 0.3], abs=1e-12)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        ((REGRESSION, st.Attention(), SQUARE), {}, "of place, value for isotropic tokens"),
        ((REGRESSION, st.Vectorized(), SQUARE), {}, "network of your own is a QueriedModel"),
        ((REGRESSION, st.Pooled(), LOGISTIC), {}, "must be square"),
        ((REGRESSION, st.Pooled(), st.Readout("square", 0.1, np.inf)), {}, "finite data"),
        ((REGRESSION, st.Pooled(), SQUARE), {"dimension": 2}, r"dimension \(d\) must be"),
        ((REGRESSION, st.Pooled(), SQUARE), {"dimension": 10**6}, "2 GiB"),
        ((REGRESSION, st.Pooled(), SQUARE), {"engine": "tensor"}, "engine must be"),
        (
            (REGRESSION, st.Pooled(), SQUARE),
            {"test_problem": st.SparseTokenProblem()},
            "test_problem must be None for a task",
        ),
    ],
)
def test_refusals(arguments, options, words):
    with pytest.raises(InvalidInput, match=words):
        st.simulate(*arguments, **options)
