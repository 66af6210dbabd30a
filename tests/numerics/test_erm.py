"""The readout solver against closed forms, independent solvers and its own certificate."""

import numpy as np
import pytest
from scipy.optimize import linprog, minimize
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.svm import SVC

from numerics.two_classes import problem
from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import get_loss
from sparsetoken.numerics import erm, newton_readout
from sparsetoken.numerics.erm import fit_readout
from sparsetoken.numerics.products import Products

SHAPES = [(120, 30), (90, 85), (40, 100)]
LOSSES = ["square", "logistic", "squared_hinge", "hinge"]


def objective(F, y, loss, ridge, w, b):
    return np.mean(loss.value(y, F @ w + b)) + ridge / 2 * w @ w


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ridge", [1.0, 1e-3])
def test_square_loss_has_a_closed_form_and_takes_one_solve(shape, ridge):
    F, y = problem(*shape)
    fit = fit_readout(F, y, get_loss("square"), ridge)
    centred = F - F.mean(axis=0)
    H = centred.T @ centred / len(y) + ridge * np.eye(F.shape[1])
    w = np.linalg.solve(H, centred.T @ (y - y.mean()) / len(y))
    # condition number 1e4 at most, so 1e-10 leaves four digits of room
    np.testing.assert_allclose(fit.w, w, atol=1e-10)
    assert fit.b == pytest.approx(y.mean() - F.mean(axis=0) @ w, abs=1e-10)
    assert fit.converged
    assert fit.iterations <= 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ridge", [0.3, 1e-3])
def test_logistic_agrees_with_scikit_learn(shape, ridge):
    F, y = problem(*shape)
    fit = fit_readout(F, y, get_loss("logistic"), ridge)
    other = LogisticRegression(C=1 / (len(y) * ridge), tol=1e-12, max_iter=10000)
    other.fit(F, y)
    # LBFGS stops at a gradient of about 1e-9 / ridge
    np.testing.assert_allclose(fit.w, other.coef_[0], atol=2e-5)
    assert fit.b == pytest.approx(other.intercept_[0], abs=2e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_squared_hinge_agrees_with_scipy(shape):
    F, y = problem(*shape)
    loss, ridge = get_loss("squared_hinge"), 0.05
    fit = fit_readout(F, y, loss, ridge)

    def risk(x):
        p = loss.slope(y, F @ x[:-1] + x[-1])
        gradient = np.append(F.T @ p / len(y) + ridge * x[:-1], p.mean())
        return objective(F, y, loss, ridge, x[:-1], x[-1]), gradient

    found = minimize(
        risk, np.zeros(F.shape[1] + 1), jac=True, method="BFGS", options={"gtol": 1e-9}
    )
    # a gradient of 1e-9 and a ridge of 0.05 put BFGS within about 1e-7
    np.testing.assert_allclose(np.append(fit.w, fit.b), found.x, atol=1e-6)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ridge", [0.1, 1e-3, 1e-5])
def test_hinge_agrees_with_a_support_vector_machine(shape, ridge):
    F, y = problem(*shape)
    loss = get_loss("hinge")
    fit = fit_readout(F, y, loss, ridge)
    svc = SVC(kernel="linear", C=1 / (len(y) * ridge), tol=1e-9).fit(F, y)
    assert fit.converged
    # libsvm stops at a dual violation of 1e-9, which the small ridge magnifies
    np.testing.assert_allclose(fit.w, svc.coef_[0], atol=1e-5, rtol=1e-4)
    mine = objective(F, y, loss, ridge, fit.w, fit.b)
    theirs = objective(F, y, loss, ridge, svc.coef_[0], svc.intercept_[0])
    assert mine <= theirs + 1e-12


def least_hinge(F, y):
    """Return the least mean hinge loss, by linear programming."""
    n, m = F.shape
    costs = np.repeat([0.0, 1 / n], [m + 1, n])
    margins = np.hstack([y[:, None] * F, y[:, None], np.eye(n)])
    bounds = [(None, None)] * (m + 1) + [(0, None)] * n
    return linprog(costs, A_ub=-margins, b_ub=-np.ones(n), bounds=bounds).fun


def shifted(n, m, rng):
    y = rng.choice([-1.0, 1.0], n)
    return rng.standard_normal((n, m)) + np.outer(y, np.eye(m)[0]), y


@pytest.mark.parametrize("seed", range(6))
def test_hinge_with_a_tiny_ridge_agrees_with_linear_programming(seed):
    F, y = shifted(400, 40, np.random.default_rng(seed))
    fit = fit_readout(F, y, get_loss("hinge"), 1e-8)
    assert fit.converged
    # The ridge costs 1e-8 / 2 |w|^2, and |w| is below 10.
    assert np.maximum(0, 1 - y * fit.scores).mean() == pytest.approx(least_hinge(F, y), abs=1e-6)


@pytest.mark.parametrize(
    ("ridge", "scale"),
    [
        (1e-12, 1.0),
        pytest.param(1e-9, 1e3, marks=pytest.mark.slow),
        pytest.param(1e-6, 1e6, marks=pytest.mark.slow),
    ],
)
def test_hinge_says_where_rounding_hides_the_minimiser(ridge, scale):
    F, y = shifted(150, 3, np.random.default_rng(1))
    fit = fit_readout(scale * F, y, get_loss("hinge"), ridge)
    assert not fit.converged
    assert fit.iterations < 3000
    assert np.maximum(0, 1 - y * fit.scores).mean() == pytest.approx(least_hinge(F, y), abs=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ridge", [1.0, 1e-2, 1e-4, 1e-6])
@pytest.mark.parametrize(("shift", "offset"), [(1.5, 0.0), (6.0, -2.0), (0.0, 3.0)])
def test_converges_on_separable_and_other_data(loss, shape, ridge, shift, offset):
    F, y = problem(*shape, shift=shift, offset=offset)
    fit = fit_readout(F, y, get_loss(loss), ridge)
    assert fit.converged
    assert fit.gradient_norm <= 1e-8
    np.testing.assert_allclose(fit.scores, F @ fit.w + fit.b, atol=1e-9)


@pytest.mark.parametrize("loss", LOSSES)
def test_residual_is_that_of_the_optimality_conditions(loss):
    F, y = problem(120, 30)
    law, ridge = get_loss(loss), 0.01
    fit = fit_readout(F, y, law, ridge)
    rng = np.random.default_rng(1)
    best = objective(F, y, law, ridge, fit.w, fit.b)
    for size in (1e-1, 1e-3):
        for _ in range(20):
            step, shift = size * rng.standard_normal(30), size * rng.standard_normal()
            moved = objective(F, y, law, ridge, fit.w + step, fit.b + shift)
            # strong convexity: leaving the minimiser costs at least ridge/2 |step|^2
            assert moved >= best + ridge / 2 * step @ step - 1e-10


def test_one_class_and_a_falling_loss_stops_with_a_reason():
    F, _y = problem(30, 5)
    fit = fit_readout(F, np.ones(30), get_loss("logistic"), 0.1)
    assert not fit.converged
    assert "one class" in fit.reason
    assert fit.b > 0
    assert np.isfinite(fit.b)
    assert not fit.w.any()


def test_features_without_information_leave_only_the_bias():
    _, y = problem(50, 4)
    fit = fit_readout(np.zeros((50, 4)), y, get_loss("logistic"), 0.1)
    rate = np.mean(y == 1)
    assert fit.b == pytest.approx(np.log(rate / (1 - rate)), abs=1e-7)


@pytest.mark.parametrize(
    ("F", "y", "ridge", "word"),
    [
        (np.ones((3, 2)), np.array([1, -1, np.nan]), 0.1, "labels"),
        (np.ones((3, 2)), np.array([1, -1]), 0.1, "labels"),
        (np.ones(3), np.array([1, -1, 1]), 0.1, "features"),
        (np.full((2, 2), np.nan), np.array([1, -1]), 0.1, "features"),
        (np.ones((2, 2)), np.array([1, -1]), -0.1, "ridge"),
    ],
)
def test_bad_input(F, y, ridge, word):
    with pytest.raises(InvalidInput, match=word):
        fit_readout(F, y, get_loss("square"), ridge)


def test_real_labels_are_for_the_square_loss():
    F, _ = problem(60, 5)
    y = 3 + np.random.default_rng(0).standard_normal(60)
    fit, slow = fit_readout(F, y, get_loss("square"), 0.1), Ridge(alpha=0.1 * 60).fit(F, y)
    np.testing.assert_allclose(fit.w, slow.coef_, atol=1e-8)
    assert fit.b == pytest.approx(slow.intercept_, abs=1e-8)
    for value in (0.0, 2.0):
        fit = fit_readout(F, np.full(60, value), get_loss("square"), 0.1)
        assert fit.converged
        assert fit.b == pytest.approx(value, abs=1e-8)
    with pytest.raises(InvalidInput, match="labels"):
        fit_readout(F, y, get_loss("logistic"), 0.1)


@pytest.mark.parametrize("shape", [*SHAPES, (60, 60), (61, 60), (30, 45)])
@pytest.mark.parametrize("offset", [0.0, 4.0])
def test_ridge_zero_is_least_squares_of_least_norm(shape, offset):
    """Against the pseudo-inverse of centred features, and the limit of a small ridge."""
    F, y = problem(*shape, offset=offset)
    fit = fit_readout(F, y, get_loss("square"), 0.0)
    centred = F - F.mean(axis=0)
    # Centring leaves a singular value of rounding size where n <= m + 1.
    w = np.linalg.pinv(centred, rcond=1e-10) @ (y - y.mean())
    # Condition numbers up to 1e3 (n near m), rounding of 1e-15 in the data.
    np.testing.assert_allclose(fit.w, w, atol=1e-9 * (1 + np.linalg.norm(w)))
    assert fit.converged
    np.testing.assert_allclose(fit.scores, F @ fit.w + fit.b, atol=1e-9)
    if shape[0] <= shape[1]:
        np.testing.assert_allclose(fit.scores, y, atol=1e-9)


@pytest.mark.parametrize("shape", SHAPES)
def test_a_small_ridge_tends_to_ridge_zero(shape):
    F, y = problem(*shape)
    limit = fit_readout(F, y, get_loss("square"), 0.0)
    distances = [
        np.linalg.norm(fit_readout(F, y, get_loss("square"), ridge).w - limit.w)
        for ridge in (1e-5, 1e-6)
    ]
    # First order in the ridge: ten times less; the next order is below a tenth of it, and
    # the fits themselves are good to 1e-8.
    assert distances[0] / distances[1] == pytest.approx(10, rel=0.1)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "hinge"])
def test_ridge_zero_is_refused_for_losses_that_may_have_no_minimum(loss):
    F, y = problem(40, 10)
    with pytest.raises(InvalidInput, match=r"small ridge such as 1e-6"):
        fit_readout(F, y, get_loss(loss), 0.0)


@pytest.mark.parametrize("shape", [(700, 250), (250, 700), (300, 300)])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("scale", ["equal", "wild"])
def test_conjugate_gradients_agree_with_factors(monkeypatch, shape, loss, scale):
    F, y = problem(*shape)
    if scale == "wild":
        F *= np.geomspace(1e-3, 1e3, shape[1])
        F += 10 * F[:, -1:]  # one direction far larger than all others
    found = []
    for large in (erm.LARGE, 10**9):
        monkeypatch.setattr(erm, "LARGE", large)
        found.append(fit_readout(F, y, get_loss(loss), 0.01))
    assert all(fit.converged for fit in found)
    # each is within 1e-8 (1 + |w|) of the minimiser
    apart = np.linalg.norm(found[0].w - found[1].w)
    assert apart <= 2e-8 * (1 + np.linalg.norm(found[1].w))
    np.testing.assert_allclose(found[0].scores, F @ found[0].w + found[0].b, atol=1e-6)


def test_conjugate_gradients_do_without_a_gram_matrix(monkeypatch):
    F, y = problem(700, 250)
    monkeypatch.setattr(newton_readout, "gram", None)
    assert fit_readout(F, y, get_loss("logistic"), 0.01).converged


@pytest.mark.parametrize("shape", [(700, 250), (250, 700)])
def test_products_agree_with_float64(shape):
    F, _ = problem(*shape)
    rng = np.random.default_rng(1)
    D, v, bias = rng.random(shape[0]), rng.standard_normal(shape[1]), 0.7
    u = D * (F @ v + bias)
    total, last = Products(F.astype(np.float32)).weighted(D)(v, bias)
    # float32 has 24 bits
    assert np.linalg.norm(total - F.T @ u) <= 2e-6 * np.linalg.norm(F) * np.linalg.norm(u)
    assert last == pytest.approx(u.sum(), abs=1e-5 * np.abs(u).sum())
