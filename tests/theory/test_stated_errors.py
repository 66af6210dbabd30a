"""The error of each number of a prediction, and what is called converged."""

import math

import numpy as np
import pytest
from scipy.special import ndtr

import sparsetoken as st
from sparsetoken.model import HardAttention
from sparsetoken.theory import predict_task
from sparsetoken.theory.accuracy import allowed_error
from sparsetoken.theory.laws import tokens

RARE = [
    ((10, 1, 6.0, 0.5), st.Query(0.95, 2.0), "logistic", 1e-3),
    ((10, 1, 8.0, 0.5), st.Query(0.95, 2.0), "logistic", 1e-3),
    ((10, 3, 5.0, 0.3), st.Query(0.9, 1.0), "square", 1e-3),
]


@pytest.mark.parametrize(("letters", "query", "loss", "ridge"), RARE)
def test_training_and_test_error_are_one_at_infinite_data(letters, query, loss, ridge):
    """Where errors are so rare that nodes are drawn where they are."""
    readout = st.Readout(loss, ridge=ridge, alpha1=math.inf)
    found = st.predict(st.SparseTokenProblem(*letters), st.Attention(query), readout)
    assert found.converged
    assert found.training_error == pytest.approx(found.test_error, rel=1e-12)
    assert found.errors.training_error == pytest.approx(found.numerical_error, rel=1e-12)
    assert 2 * found.numerical_error <= allowed_error(found.test_error, 1e-4)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge", "squared_hinge"])
@pytest.mark.parametrize(
    "model",
    [
        st.Pooled(),
        st.Vectorized(),
        st.Attention(st.Query(0.8, 1.5)),
        HardAttention(st.Query(0.8, 1.0)),
        st.Elementwise(st.Query(0.8, 1.0), "erf"),
    ],
    ids=lambda model: model.name,
)
def test_training_and_test_error_are_one_for_all_models_and_losses(model, loss):
    problem = st.SparseTokenProblem(6, 2, 3.0, 0.3)
    readout = st.Readout(loss, ridge=0.02, alpha1=math.inf)
    found = st.predict(problem, model, readout, tolerance=1e-3)
    assert found.converged
    # The envelope that stands for a loss with kinks moves training scores by at most 1e-6.
    assert found.training_error == pytest.approx(found.test_error, rel=1e-9, abs=1e-6)


def test_a_small_training_error_is_within_its_error():
    """Against plain draws of tokens, given which the score of a new sample is Gaussian.

    A sample is on the wrong side after the fit where y m + T g < -V / 2: the prox of the logistic
    loss maps that point to 0.
    """
    (L, R, theta, pi), query, chi = (10, 1, 6.0, 0.5), st.Query(0.95, 2.0), None
    problem, readout = st.SparseTokenProblem(L, R, theta, pi), st.Readout("logistic", 1e-2, 4.0)
    found = st.predict(problem, st.Attention(query), readout)
    assert found.converged
    w, chi, n = found.overlaps, found.susceptibility, 400_000
    rng, s = np.random.default_rng(5), query.cosine
    mean = variance = 0.0
    for y in (1.0, -1.0):
        g, signal = rng.standard_normal((n, L)), (np.arange(L) < R) * (y > 0)
        a = st.networks.Softmax().weights(query.sharpness * (g + theta * s * signal))
        A, B, square = a @ signal, np.sum(a * g, axis=1), np.sum(a**2, axis=1)
        along, across = theta * s * A + B, theta * math.sqrt(1 - s**2) * A
        score = y * (w.query * along + w.orthogonal * across + w.bias)
        width = np.sqrt(square) * math.hypot(w.orthogonal, w.noise)
        wrong = ndtr(-(score + chi * square / 2) / width)
        mean, variance = mean + wrong.mean() / 2, variance + wrong.var() / (4 * n)
    noise = math.sqrt(variance)
    assert abs(found.training_error - mean) <= 3 * math.hypot(found.errors.training_error, noise)
    # It was 2.2e-5 where 6.3e-5 is right: far outside.
    assert noise < 0.15 * mean
    assert found.errors.training_error < 0.05 * mean


def _numbers(found):
    """Return values and errors of all columns that have errors."""
    errors = {name: float(value) for name, value in found.errors.columns().items()}
    return np.array([[float(found.columns()[name]), error] for name, error in errors.items()])


def _apart(pairs):
    """Return in how many stated errors of their difference the numbers of each two seeds differ."""
    values, errors = np.moveaxis(np.array(pairs), -1, 0)
    known = (errors > 0).all(axis=0)
    values, errors = values[:, known], errors[:, known]
    one, other = np.triu_indices(len(values), 1)
    return (values[one] - values[other]) / np.hypot(errors[one], errors[other])


SETTINGS = [
    ((10, 1, 3.0, 0.5), st.Attention(st.Query(0.8, 1.5)), st.Readout("logistic", 1e-2, 2.0)),
    ((6, 2, 3.0, 0.1), st.Attention(st.Query(0.7, 2.0)), st.Readout("hinge", 1e-2, 3.0)),
    ((8, 2, 2.5, 0.3), st.Elementwise(st.Query(0.8, 1.0)), st.Readout("square", 0.1, 4.0)),
    ((10, 1, 6.0, 0.5), st.Attention(st.Query(0.95, 2.0)), st.Readout("logistic", 1e-2, 4.0)),
]


@pytest.mark.slow
@pytest.mark.parametrize(("letters", "model", "readout"), SETTINGS)
def test_other_nodes_give_the_same_numbers_within_their_errors(
    letters, model, readout, monkeypatch
):
    pairs = []
    for seed in range(5):
        tokens._kept_tokens.cache_clear()
        monkeypatch.setattr(tokens, "SEED", 100 + seed)
        found = st.predict(st.SparseTokenProblem(*letters), model, readout, tolerance=1e-3)
        assert found.converged
        pairs.append(_numbers(found))
    tokens._kept_tokens.cache_clear()
    # Twice a stated error covers 95%: of 5 seeds and ten numbers one is beyond 4.5 once in 1e3
    # such tests. AUC and training loss are among them.
    assert np.abs(_apart(pairs)).max() < 4.5
    assert len(_apart(pairs)[0]) >= 9


@pytest.mark.slow
def test_a_task_with_rare_positives_over_seeds(monkeypatch):
    """Training losses were 7.5% apart, and called converged."""

    def draw(n, rng):
        return {"coefficients": np.zeros((n, 4, 1))}

    def target(latent, Z):
        return np.where(Z[:, 0, 0] > 2.5, 1.0, -1.0)

    task = st.Task(4, ["v"], draw, target, metric="error")
    model, readout = (
        st.Attention(st.Query(cosines={"v": 0.8})),
        st.Readout("squared_hinge", 0.01, 6.0),
    )
    found = []
    for seed in range(5):
        monkeypatch.setattr(predict_task, "_SEED", 20251127 + seed)
        found.append(st.predict(task, model, readout))
    assert all(one.converged for one in found)
    for one in found:  # 100 and 10 times the tolerance of 1e-3
        assert 2 * one.errors.training_loss <= 0.1 * one.training_loss
        assert 2 * one.errors.weights.norms[1] <= 0.01 * max(
            one.weights.norms[1], abs(one.weights.c[0])
        )
    assert np.abs(_apart([_numbers(one) for one in found])).max() < 4.5


@pytest.mark.slow
def test_a_number_that_is_not_known_is_named():
    problem = st.SparseTokenProblem(30, 3, 2.0, 0.3)
    model, readout = st.Attention(st.Query(0.7, 2.0)), st.Readout("logistic", 1e-3, 3.0)
    found = st.predict(problem, model, readout, tolerance=1e-7)
    assert found.status == "tolerance_not_reached"
    named = [
        name for name in found.errors.columns() if name.replace("_", " ") in found.status.remedy
    ]
    assert named
    again = float(found.status.remedy.rsplit(" ", 1)[1].rstrip("."))
    assert st.predict(problem, model, readout, tolerance=again).converged


def test_exact_numbers_have_no_error():
    found = st.predict(st.SparseTokenProblem(8, 1, 3.0), st.Pooled(), st.Readout("hinge"))
    assert all(error == 0 for error in found.errors.columns().values())
    separable = st.predict(
        st.SparseTokenProblem(8, 1, 5.0),
        st.Attention(st.Query(0.9, 2.0)),
        st.Readout("logistic", 0.0, 0.5),
    )
    assert separable.converged
    assert separable.training_loss == separable.errors.training_loss == 0
    assert separable.errors.susceptibility == 0  # infinite without doubt
