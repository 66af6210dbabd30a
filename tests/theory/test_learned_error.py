"""The learned error against reference points, limits, and routes of its own.

Equations: feature-law, stage-four-potential, population-risk, learned-readout,
learned-error, score-law.
"""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import ndtr

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import CustomLoss
from sparsetoken.model.models import Attention, Elementwise, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.results import StatusCode
from sparsetoken.theory import predict

LOSSES = ["square", "logistic", "hinge", "squared_hinge"]


def prediction(name, L, R, pi, theta, s, k, alpha, ridge, loss, *, tolerance=1e-4, **options):
    model = make_model(name, Query(s, k), **options)
    readout = Readout(loss, ridge=ridge, alpha1=alpha)
    return predict(SparseTokenProblem(L, R, theta, pi), model, readout, tolerance=tolerance)


@pytest.mark.parametrize(
    ("point", "error", "training_loss"),
    [
        (("attention", 10, 1, 0.5, 5, 0.9, 1, 2, 1e-2, "logistic"), "0.0352", "0.0342"),
        (("attention", 10, 1, 0.5, 5, 0.9, 1, 2, 1e-2, "square"), "0.0944", "0.0481"),
        (("attention", 10, 3, 0.2, 2, 0.5, 0.7, 3, 1e-2, "logistic"), "0.1380", "0.1837"),
        (("attention", 5, 1, 0.3, 3, 0.3, 2, 1, 1e-3, "square"), "0.4397", "0.00702"),
        (("pooled", 10, 1, 0.5, 5, 0, 0, 4, 0.1, "logistic"), "0.2529", "0.5644"),
        (("vectorized", 10, 1, 0.5, 5, 0, 0, 4, 0.1, "logistic"), "0.3718", "0.1047"),
        (("pooled", 1, 1, 0.5, 2, 0, 0, 2, 5e-3, "logistic"), "0.258611415", "0.068775524"),
        (("pooled", 1, 1, 0.5, 2, 0, 0, 2, 5e-3, "square"), "0.2799612361", "0.1250266133"),
    ],
)
def test_reference_points(point, error, training_loss):
    found = prediction(*point)
    assert found.status.converged
    for ours, stated in ((found.test_error, error), (found.training_loss, training_loss)):
        # "Good to about 1 in the last digit".
        last_digit = 10.0 ** -len(stated.partition(".")[2])
        assert ours == pytest.approx(float(stated), abs=1.2 * last_digit)


def test_the_training_error_of_pooling_in_closed_form():
    """A score of new data is on the wrong side after the fit where it is beyond V l'(y, 0)."""
    L, R, theta, pi = 10, 2, 4.0, 0.3
    found = prediction("pooled", L, R, pi, theta, 0, 0, 2.0, 0.1, "square")
    w, V = found.overlaps, found.susceptibility / L
    mean, width = theta * R / L * w.orthogonal, math.hypot(w.orthogonal, w.noise) / math.sqrt(L)
    miss, alarm = ndtr(-(mean + w.bias + V) / width), ndtr((w.bias - V) / width)
    assert found.training_error == pytest.approx(pi * miss + (1 - pi) * alarm, abs=1e-10)


def sampled_law(L, R, pi, theta, s, k, n, seed):
    """Plain draws of (X_1, X_2, C, y); positives in their share exactly."""
    rng = np.random.default_rng(seed)
    g = rng.standard_normal((n, L))
    y = np.where(np.arange(n) < round(pi * n), 1.0, -1.0)
    v = (np.arange(L) < R) * (y > 0)[:, None]
    t = k * (g + theta * s * v)
    a = np.exp(t - t.max(axis=1, keepdims=True))
    a /= a.sum(axis=1, keepdims=True)
    A, B, C = (a * v).sum(axis=1), (a * g).sum(axis=1), np.sqrt((a**2).sum(axis=1))
    return theta * s * A + B, theta * math.sqrt(1 - s**2) * A, C, y


def test_square_loss_by_one_scalar_root():
    """Given chi the square loss is linear: an independent route, on plain draws."""
    L, R, pi, theta, s, k, alpha, ridge = 6, 2, 0.35, 2.5, 0.7, 1.3, 1.7, 1e-3
    X1, X2, C, y = sampled_law(L, R, pi, theta, s, k, 400_000, 1)

    def solve(chi):
        D = 1 / (1 + chi * C**2)
        F = np.stack([X1, X2, np.ones_like(y)])
        H = (F * D) @ F.T / len(y) + np.diag([ridge, ridge + np.mean(C**2 * D), 0.0])
        w = np.linalg.solve(H, (F * D) @ y / len(y))
        # nu^2 (1/ (alpha chi^2) - E[C^4 D^2]) = E[C^2 D^2 ((m - y)^2 + C^2 w_2^2)]
        residual = w @ F - y
        top = np.mean((C * D) ** 2 * (residual**2 + C**2 * w[1] ** 2))
        return w, math.sqrt(top / (1 / (alpha * chi**2) - np.mean(C**4 * D**2)))

    # chi = 1/(alpha (ridge + E[C^2 D])).
    chi = brentq(lambda c: c * alpha * (ridge + np.mean(C**2 / (1 + c * C**2))) - 1, 1e-3, 1e9)
    w, nu = solve(chi)
    found = prediction("attention", L, R, pi, theta, s, k, alpha, ridge, "square")
    width = C * np.hypot(w[1], nu)
    error = np.mean(ndtr(-y * (w[0] * X1 + w[1] * X2 + w[2]) / width))
    # 400 000 draws: standard errors near 5e-4 for the error, 1% for the overlaps.
    assert found.test_error == pytest.approx(error, abs=1.5e-3)
    assert found.overlaps.query == pytest.approx(w[0], rel=0.02)
    assert found.overlaps.orthogonal == pytest.approx(w[1], rel=0.02)
    assert found.overlaps.noise == pytest.approx(nu, rel=0.02)
    assert found.overlaps.bias == pytest.approx(w[2], rel=0.02)


@pytest.mark.parametrize("loss", LOSSES)
def test_zero_sharpness_is_pooling_for_any_cosine(loss):
    pooled = prediction("pooled", 7, 2, 0.3, 4.0, 0, 0, 1.5, 1e-2, loss)
    for s in (-1.0, -0.4, 0.0, 0.8, 1.0):
        uniform = prediction("attention", 7, 2, 0.3, 4.0, s, 0.0, 1.5, 1e-2, loss)
        # Both laws are exact; the quadrature of the logistic loss gives 1e-9.
        assert uniform.test_error == pytest.approx(pooled.test_error, abs=1e-8)
        assert uniform.training_loss == pytest.approx(pooled.training_loss, abs=1e-8)


def test_sampled_nodes_tend_to_the_exact_law():
    """A sharpness of 1e-6 takes the sampled route to the same place as 0."""
    exact, sampled = (
        prediction("attention", 7, 2, 0.3, 4.0, 0.5, k, 1.5, 1e-2, "logistic") for k in (0.0, 1e-6)
    )
    assert sampled.test_error == pytest.approx(exact.test_error, abs=1e-6)


def test_all_tokens_informative():
    """R = L: A = 1 in positives, and k no longer tells tokens apart by their label.

    With infinite data and s = 1 the square loss is least squares on (X_1, 1).
    """
    theta, k, n = 1.5, 2.0, 400_000
    X1, _, _, y = sampled_law(4, 4, 0.4, theta, 1.0, k, n, 3)
    assert X1[y > 0].mean() - X1[y < 0].mean() == pytest.approx(theta, abs=0.01)
    design = np.stack([X1, np.ones(n)])
    w, b = np.linalg.solve(design @ design.T, design @ y)
    error = np.mean(y * (w * X1 + b) < 0)
    found = prediction("attention", 4, 4, 0.4, theta, 1.0, k, math.inf, 1e-6, "square")
    # Binomial noise of 400 000 draws, four standard errors.
    assert found.test_error == pytest.approx(error, abs=4 * math.sqrt(error / n))
    assert found.overlaps.query == pytest.approx(w, rel=0.01)


@pytest.mark.parametrize("sign", [-1, 1])
@pytest.mark.parametrize("loss", LOSSES)
def test_perfect_alignment_is_the_limit(loss, sign):
    """At |s| = 1 there is no second direction; nothing jumps there."""
    at, near = (
        prediction("attention", 6, 2, 0.4, 3.0, sign * s, 1.5, 2.0, 1e-2, loss)
        for s in (1.0, 1 - 1e-9)
    )
    # e_2 enters through sqrt(1 - s^2) = 4e-5, squared in the error.
    assert at.test_error == pytest.approx(near.test_error, abs=1e-6)
    assert at.overlaps.orthogonal == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("cosine", [-1.0, 0.4, 1.0])
def test_no_signal(loss, cosine):
    found = prediction("attention", 5, 2, 0.5, 0.0, cosine, 2.0, 1.0, 0.1, loss)
    # Labels are coin tosses: 1/2 by symmetry of the law, up to the nodes.
    assert found.test_error == pytest.approx(0.5, abs=1e-4)
    assert found.auc == pytest.approx(0.5, abs=5e-4)


def test_vectorized_is_a_linear_problem_in_more_dimensions():
    L, R, theta = 9, 2, 4.0
    vectorized = prediction("vectorized", L, R, 0.3, theta, 0, 0, 6.0, 1e-2, "logistic")
    one = prediction("pooled", 1, 1, 0.3, theta * R / math.sqrt(L), 0, 0, 6.0 / L, 1e-2, "logistic")
    assert vectorized.test_error == pytest.approx(one.test_error, rel=1e-10)
    assert vectorized.training_loss == pytest.approx(one.training_loss, rel=1e-10)


@pytest.mark.parametrize("loss", LOSSES)
def test_infinite_data(loss):
    """Balanced Gaussian classes: every loss finds the midpoint and Phi(-theta R/(2 sqrt L))."""
    limit = prediction("pooled", 4, 1, 0.5, 3.0, 0, 0, math.inf, 1e-6, loss)
    assert limit.test_error == pytest.approx(ndtr(-3.0 / 4), abs=1e-6)
    assert limit.overlaps.noise == 0
    vectorized = prediction("vectorized", 4, 1, 0.5, 3.0, 0, 0, math.inf, 1e-6, loss)
    assert vectorized.test_error == pytest.approx(ndtr(-3.0 / 4), abs=1e-6)


def test_hinge_gives_up():
    """With a weak signal and many samples the hinge readout is 0: it answers one class."""
    found = prediction("attention", 460, 7, 0.82, 0.43, -0.88, 19.0, 18.0, 1e-3, "hinge")
    assert found.status.converged
    assert found.test_error == pytest.approx(0.18, abs=1e-6)
    assert found.training_loss == pytest.approx(0.36, abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("activation", ["tanh", "relu"])
def test_vanishing_features_of_equal_classes_leave_a_coin(activation, loss):
    """The bias is 0, and so is every score: half of the answers are wrong."""
    found = prediction(
        "elementwise", 6, 2, 0.5, 3.0, 0.5, 0.0, 2.0, 1e-2, loss, activation=activation
    )
    assert (found.test_error, found.training_error, found.auc) == (0.5, 0.5, 0.5)
    assert found.overlaps.bias == 0


def test_elementwise_at_zero_sharpness_is_scaled_pooling():
    """1 + erf(0) = 1 makes f the mean token, sigmoid(0) half of it: ridge 4 times less."""
    pooled = prediction("pooled", 6, 2, 0.2, 3.0, 0, 0, 2.0, 4e-2, "logistic")
    for activation, ridge in (("erf", 4e-2), ("linear", 4e-2), ("exp", 4e-2), ("sigmoid", 1e-2)):
        found = prediction(
            "elementwise", 6, 2, 0.2, 3.0, 0.5, 0.0, 2.0, ridge, "logistic", activation=activation
        )
        assert found.test_error == pytest.approx(pooled.test_error, abs=1e-4)


def test_the_stated_error_is_the_real_one():
    """More nodes move the answer by a few of its stated standard errors."""
    point = ("attention", 40, 3, 0.3, 3.0, 0.7, 3.0, 2.0, 1e-2, "square")
    rough, fine = prediction(*point, tolerance=0.1), prediction(*point, tolerance=3e-5)
    assert 0 < fine.numerical_error <= 1.5e-5 < rough.numerical_error
    assert abs(rough.test_error - fine.test_error) < 4 * rough.numerical_error


def test_tolerance_that_cannot_be_met():
    point = ("attention", 5, 1, 0.5, 3.0, 0.8, 20.0, 2.0, 1e-2, "square")
    found = prediction(*point, tolerance=1e-9)
    assert found.status.code is StatusCode.TOLERANCE_NOT_REACHED
    assert "tolerance" in found.status.remedy


@pytest.mark.slow
def test_custom_loss_agrees_with_the_built_in():
    copy = CustomLoss("logistic_again", lambda y, z: jnp.logaddexp(0.0, -y * z))
    point = ("pooled", 4, 1, 0.3, 3.0, 0, 0, 2.0, 1e-2)
    mine, built_in = prediction(*point, copy), prediction(*point, "logistic")
    # Panel quadrature: 1e-6 at this ridge.
    assert mine.test_error == pytest.approx(built_in.test_error, abs=1e-6)
    assert mine.training_loss == pytest.approx(built_in.training_loss, abs=1e-6)


def test_scores_follow_the_law():
    """AUC and ROC against draws of the predicted scores."""
    from sparsetoken.theory.laws.of_model import feature_law
    from sparsetoken.theory.outcome.scores import ScoreDistribution

    problem = SparseTokenProblem(8, 2, 2.5, 0.3)
    law = feature_law(Attention(), problem, Query(0.8, 1.0), 2048)
    found = prediction("attention", 8, 2, 0.3, 2.5, 0.8, 1.0, 2.0, 1e-2, "logistic")
    scores = ScoreDistribution.of_overlaps(law, found.overlaps)
    rng = np.random.default_rng(0)
    drawn = scores.mean + scores.width * rng.standard_normal(scores.mean.shape)
    plus, minus = (np.sort(drawn[law.y == y]) for y in (1, -1))
    auc = np.searchsorted(minus, plus).mean() / len(minus)
    # 16 384 draws of each class: standard error about 0.4 / sqrt(16 384) = 3e-3.
    assert found.auc == pytest.approx(auc, abs=0.01)
    false, true = scores.roc()
    assert (false[0], true[0], false[-1], true[-1]) == (0, 0, 1, 1)
    assert np.all(np.diff(false) >= 0)
    assert np.all(np.diff(true) >= 0)
    at_zero_false, at_zero_true = scores.rates(np.array([0.0]))
    error = 0.3 * (1 - at_zero_true[0]) + 0.7 * at_zero_false[0]
    assert error == pytest.approx(scores.test_error(), abs=1e-12)


@pytest.mark.parametrize(
    "change",
    [
        {"model": "transformer"},
        {"tolerance": 0.0},
        {"model": Elementwise(Query(1.0, 40.0), "exp")},
    ],
)
def test_bad_input(change):
    good = {
        "problem": SparseTokenProblem(4, 1, 1.0),
        "model": Attention(Query(0.5, 1.0)),
        "readout": Readout(alpha1=1.0),
    }
    with pytest.raises(InvalidInput, match="must be"):
        predict(**good | change)


def test_a_loss_without_minimum_is_refused():
    straight = CustomLoss("straight", lambda y, z: -y * z)
    with pytest.raises(InvalidInput, match="minimum in the bias"):
        prediction("pooled", 3, 1, 0.3, 1.0, 0, 0, 1.0, 0.1, straight)
