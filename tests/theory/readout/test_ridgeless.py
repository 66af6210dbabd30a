"""Ridge 0 against closed forms, a direct minimisation, small ridges, and cases built backwards.

Equations: ridgeless-limit, interpolation-threshold.
"""

import math

import jax.numpy as jnp
import numpy as np
import pytest
from scipy.optimize import brentq, minimize
from scipy.stats import norm

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import CustomLoss, get_loss
from sparsetoken.losses.exact_fit import ExactFit
from sparsetoken.model.models import Attention, Elementwise, make_model
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import Query, Readout
from sparsetoken.results import StatusCode
from sparsetoken.theory import capacity, predict

PROBLEM = SparseTokenProblem(4, 1, 2.0, 0.3)
QUERY = Query(0.8, 1.0)
MARGIN_LOSSES = ["logistic", "hinge", "squared_hinge"]


def ridgeless(model, loss, alpha, ridge=0.0, problem=PROBLEM, **options):
    model = make_model(model, QUERY) if isinstance(model, str) else model
    return predict(problem, model, Readout(loss, ridge=ridge, alpha1=alpha), **options)


def pooled_least_squares(alpha, problem=PROBLEM):
    """(w_2, b, nu) by linear algebra: for pooled, C^2 = 1/L is one number."""
    pi, theta, R, L = problem.letters
    mean = theta * R / L
    F, y, p = np.array([[mean, 0.0], [1.0, 1.0]]), np.array([1.0, -1.0]), np.array([pi, 1 - pi])
    # Below the threshold nu^2 = alpha/(1 - alpha) L risk, so |w|^2 adds (1 - alpha)/(alpha L).
    pull = 1 / L + (max(1 - alpha, 0.0) / (alpha * L))
    w2, b = np.linalg.solve((F * p) @ F.T + np.diag([pull, 0.0]), (F * p) @ y)
    risk = p @ (w2 * F[0] + b - y) ** 2 + w2**2 / L
    ratio = 1 / (alpha - 1) if alpha > 1 else alpha / (1 - alpha)
    return w2, b, math.sqrt(L * risk * ratio)


@pytest.mark.parametrize("loss", ["square", *MARGIN_LOSSES])
def test_the_smallest_ridges_lead_to_the_limit(loss):
    """All curvatures fall like the ridge where the data can be fitted: so does what is flat."""
    ridges = [1e-14, 1e-12, 1e-10, 1e-8]
    problem, model = SparseTokenProblem(6, 1, 4.0), Attention(QUERY)
    small = [ridgeless(model, loss, 0.9, ridge, problem) for ridge in ridges]
    limit = ridgeless(model, loss, 0.9, 0.0, problem)
    assert [one.status.code for one in small] == [StatusCode.CONVERGED] * 4
    errors = [limit.test_error, *(one.test_error for one in small)]
    if loss == "logistic":  # whose margins grow with the logarithm of the ridge alone
        assert errors == sorted(errors, reverse=True)
        assert errors[0] - errors[1] < 0.01
    else:
        # Nodes are as many at each ridge, so that what is left is Newton's last step.
        np.testing.assert_allclose(errors[1:], errors[0], atol=1e-6)


@pytest.mark.parametrize("model", ["pooled", "vectorized"])
@pytest.mark.parametrize("load", [0.2, 0.9, 0.999, 1.001, 1.1, 7.0])
def test_least_squares_in_closed_form(model, load):
    problem, weights = PROBLEM, 1
    if model == "vectorized":  # pooled with one token of the same strength of signal
        weights, problem = 4, SparseTokenProblem(1, 1, 2.0 / 2, 0.3)
    found = ridgeless(model, "square", weights * load)
    w2, b, nu = pooled_least_squares(load, problem)
    w = found.overlaps
    # Newton ends at a relative step of 1e-6, whose square is the error.
    np.testing.assert_allclose([w.orthogonal, w.bias, w.noise], [w2, b, nu], rtol=1e-8)
    assert found.status.converged
    if load < 1:
        assert found.training_loss == 0
        assert found.training_error == 0
        assert found.susceptibility == math.inf
    else:
        L = problem.length
        # alpha Vh chi = 1 with Vh = C^2/(1 + chi C^2).
        assert found.susceptibility == pytest.approx(L / (load - 1), rel=1e-6)
        assert found.training_loss > 0


def excess(m, T):
    """E[(m + T g)_+^2]."""
    return (T**2 + m**2) * norm.cdf(m / T) + m * T * norm.pdf(m / T)


@pytest.mark.parametrize(
    "loss",
    [
        "logistic",
        pytest.param("hinge", marks=pytest.mark.slow),
        pytest.param("squared_hinge", marks=pytest.mark.slow),
    ],
)
def test_largest_margin_by_direct_minimisation(loss):
    """Least |w|^2 with nu^2 = alpha L E[(1 - y score)_+^2], by a general minimiser."""
    pi, theta, R, L = PROBLEM.letters
    alpha = 1.7  # the capacity is 2.66

    def violation(w2, b, nu):
        T = math.hypot(w2, nu) / math.sqrt(L)
        plus, minus = w2 * theta * R / L + b, -b
        return L * (pi * excess(1 - plus, T) + (1 - pi) * excess(1 - minus, T))

    def nu_of(w2, b):
        return brentq(lambda nu: nu**2 - alpha * violation(w2, b, nu), 1e-6, 1e4)

    best = minimize(
        lambda x: x[0] ** 2 + nu_of(*x) ** 2,
        [1.0, -0.5],
        method="Nelder-Mead",
        options={"xatol": 1e-7, "fatol": 1e-10},
    )
    w = ridgeless("pooled", loss, alpha).overlaps
    # Nelder and Mead stop at 1e-7; flatness of the minimum costs some digits.
    np.testing.assert_allclose([w.orthogonal, w.bias], best.x, rtol=1e-4)
    assert w.noise == pytest.approx(nu_of(*best.x), rel=1e-6)


@pytest.mark.parametrize("nu", [0.7, 3.0, 20.0])
def test_margin_of_pure_noise_built_backwards(nu):
    """Without signal and with fair labels w = nu e, b = 0: alpha follows from nu."""
    alpha = nu**2 / excess(1.0, nu)
    found = ridgeless("vectorized", "hinge", alpha, problem=SparseTokenProblem(1, 1, 0.0, 0.5))
    assert found.overlaps.noise == pytest.approx(nu, rel=1e-6)
    assert found.overlaps.bias == pytest.approx(0, abs=1e-8)
    assert found.test_error == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    ("loss", "alpha"),
    [("square", 0.6), ("square", 2.0), ("squared_hinge", 1.5), ("squared_hinge", 4.0)],
)
def test_small_ridges_tend_to_it_linearly(loss, alpha):
    limit = ridgeless("attention", loss, alpha, tolerance=1e-3).test_error
    gaps = [
        ridgeless("attention", loss, alpha, ridge, tolerance=1e-3).test_error - limit
        for ridge in (1e-4, 1e-5)
    ]
    # The same nodes for all; the second order is below 5% at these ridges.
    assert gaps[0] / gaps[1] == pytest.approx(10, rel=0.05)
    assert abs(gaps[1]) < 2e-4


@pytest.mark.parametrize("alpha", [1.0, 2.0])
def test_hinge_is_there_already_at_a_small_ridge(alpha):
    """Below capacity the multipliers are bounded: a small ridge changes nothing."""
    limit, near = (ridgeless("pooled", "hinge", alpha, ridge) for ridge in (0.0, 1e-5))
    assert near.test_error == pytest.approx(limit.test_error, abs=1e-9)
    assert near.training_loss == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("loss", MARGIN_LOSSES)
def test_above_capacity_ridge_zero_is_regular(loss):
    limit, near = (ridgeless("attention", loss, 3.5, ridge, tolerance=1e-3) for ridge in (0, 1e-8))
    # First order in the ridge, at most 1e4 times it here.
    assert limit.test_error == pytest.approx(near.test_error, abs=1e-4)
    assert limit.training_loss == pytest.approx(near.training_loss, abs=1e-6)
    assert limit.training_loss > 0.1
    assert math.isfinite(limit.susceptibility)


@pytest.mark.parametrize("loss", ["square", *MARGIN_LOSSES])
@pytest.mark.parametrize("model", ["attention", "pooled"])
def test_infinite_data_without_ridge(loss, model):
    limit, near = (ridgeless(model, loss, math.inf, ridge, tolerance=1e-3) for ridge in (0.0, 1e-7))
    assert limit.status.converged
    assert limit.test_error == pytest.approx(near.test_error, abs=1e-6)
    assert limit.susceptibility == 0


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_no_signal(loss):
    fair = SparseTokenProblem(4, 1, 0.0, 0.5)
    for alpha in (0.5, 3.0, math.inf):
        found = ridgeless("pooled", loss, alpha, problem=fair)
        assert found.status.converged
        assert found.test_error == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(("model", "alpha"), [("attention", 1.0), ("pooled", 1), ("vectorized", 4)])
def test_no_limit_at_the_threshold_of_least_squares(model, alpha):
    found = ridgeless(model, "square", alpha)
    assert found.status.code is StatusCode.NO_LIMIT
    assert "ridge > 0" in found.status.remedy
    assert math.isnan(found.test_error)
    assert ridgeless(model, "square", alpha * 1.001).status.converged


def test_no_limit_at_the_capacity():
    at = capacity(PROBLEM, Attention(QUERY)).capacity
    assert ridgeless("attention", "logistic", at).status.code is StatusCode.NO_LIMIT
    below, above = (ridgeless("attention", "hinge", f * at) for f in (0.98, 1.02))
    assert below.training_loss == 0
    assert above.training_loss > 0
    # The classifier is continuous through the capacity: slopes of about 0.1 per unit load.
    assert above.test_error == pytest.approx(below.test_error, abs=0.02)


def test_a_loss_without_a_rule_is_refused():
    soft = CustomLoss("soft_hinge_here", lambda y, z: jnp.logaddexp(0.0, 1.0 - y * z))
    with pytest.raises(InvalidInput, match=r"small ridge such as 1e-6"):
        ridgeless("pooled", soft, 1.0)


def test_features_that_vanish_cannot_be_interpolated():
    # relu: all projections of some samples are negative
    relu, options = Elementwise(Query(-1.0, 6.0), "relu"), {"tolerance": 1e-2}
    found = ridgeless(relu, "square", 0.3, **options)
    assert found.status.code is StatusCode.NO_LIMIT
    assert "vanish" in found.status.remedy
    assert ridgeless(relu, "square", 3.0, **options).status.converged


@pytest.mark.parametrize("loss", ["hinge", "logistic"])
def test_where_no_capacity_is_known_ridge_zero_has_a_remedy(loss):
    """1 + erf(2 t) can be small at all tokens."""
    model, problem = Elementwise(Query(0.6, 2.0), "erf"), SparseTokenProblem(5, 1, 4.0, 0.4)
    options = {"problem": problem, "tolerance": 1e-2}
    doubtful = ridgeless(model, loss, 3.0, **options)
    assert doubtful.status.code is StatusCode.NO_LIMIT
    assert "ridge such as 1e-3" in doubtful.status.remedy
    assert ridgeless(model, loss, 3.0, 1e-3, **options).status.converged
    assert ridgeless(model, loss, math.inf, **options).status.converged


@pytest.mark.parametrize("name", ["square", "squared_hinge"])
def test_the_exact_fit_is_a_distance(name):
    """Envelope dist^2/(2v), prox the projection, and Moreau's identity for the dual."""
    squared = get_loss(name)
    exact = ExactFit(squared)
    y, omega, v = np.meshgrid([-1.0, 1.0], np.linspace(-4, 4, 41), [0.1, 1.0, 30.0])
    distance = np.sqrt(2 * squared.value(y, omega))
    np.testing.assert_allclose(exact.dual(y, omega, v) ** 2 * v / 2, distance**2 / (2 * v))
    z = exact.prox(y, omega, v)
    np.testing.assert_allclose(np.abs(z - omega), distance, atol=1e-12)
    np.testing.assert_allclose(exact.value(y, z), 0)
    np.testing.assert_allclose(exact.dual(y, omega, v), (omega - z) / v, atol=1e-12)


def test_gaussian_means_of_the_exact_fit():
    g = np.linspace(-9, 9, 40_001)
    weight = norm.pdf(g) * (g[1] - g[0])
    for name in ("square", "squared_hinge"):
        exact = ExactFit(get_loss(name))
        for y, m, T, v in ((1.0, 0.3, 0.8, 0.4), (-1.0, 0.5, 2.0, 17.0)):
            found = exact.smoothed(y, jnp.array(m), jnp.array(T), jnp.array(v))
            p, D = exact.dual(y, m + T * g, v), exact.dual_slope(y, m + T * g, v)
            wanted = (v * p**2 / 2, p, p**2, D, D * g, D * g**2, p * D, p * D * g, p**2 * D)
            # float32 in this test: relative 1e-5 of terms of size up to 10.
            np.testing.assert_allclose(found, [weight @ f for f in wanted], atol=2e-4)
