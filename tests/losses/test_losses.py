"""One suite for every loss: value, slope, curvature, prox, envelope, Gaussian means."""

import functools
import itertools

import jax
import jax.numpy as jnp
import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from sparsetoken.base.validation import InvalidInput
from sparsetoken.losses import CustomLoss, get_loss
from sparsetoken.losses.built_in import SquareLoss
from sparsetoken.numerics.backend import in_float64

mpmath.mp.dps = 50

BUILT_IN = ["square", "logistic", "hinge", "squared_hinge"]
COPY = CustomLoss("logistic_copy", lambda y, z: jnp.logaddexp(0.0, -y * z))
LOSSES = [get_loss(name) for name in BUILT_IN] + [COPY]

EXACT_NAME = {loss.name: loss.name for loss in LOSSES} | {COPY.name: "logistic"}
EXACT_VALUE = {
    "square": lambda y, z: (z - y) ** 2 / 2,
    "logistic": lambda y, z: mpmath.log1p(mpmath.exp(-y * z)),
    "hinge": lambda y, z: max(mpmath.mpf(0), 1 - y * z),
    "squared_hinge": lambda y, z: max(mpmath.mpf(0), 1 - y * z) ** 2 / 2,
}
EXACT_SLOPE = {
    "square": lambda y, z: z - y,
    "logistic": lambda y, z: -y / (1 + mpmath.exp(y * z)),
    "squared_hinge": lambda y, z: -y * max(mpmath.mpf(0), 1 - y * z),
}


class Sharper(SquareLoss):
    """A loss by its methods, with the name of another."""

    def value(self, y, z):
        return 2 * super().value(y, z)


FAR = [0.0, 1e-3, 0.7, 1.0, 3.0, 40.0, 1e4]
WIDE = [1e-8, 1e-3, 0.4, 25.0, 1e3, 1e8]


@functools.cache
def exact_prox(name, y, omega, v):
    """Root of z + v l'(y, z) = omega by bisection in 50 digits."""
    if name == "hinge":
        u = y * mpmath.mpf(omega)
        return y * (u + min(max(1 - u, 0), mpmath.mpf(v)))
    slope = EXACT_SLOPE[name]
    low, high = mpmath.mpf(-1e9), mpmath.mpf(1e9)
    for _ in range(150):
        middle = (low + high) / 2
        if middle + v * slope(y, middle) < omega:
            low = middle
        else:
            high = middle
    return low


@pytest.mark.parametrize("loss", LOSSES, ids=lambda l: l.name)
def test_value_and_slope_at_extreme_scores(loss):
    for y, size, sign in itertools.product([-1.0, 1.0], FAR, [-1, 1]):
        z = sign * size
        value = float(EXACT_VALUE[EXACT_NAME[loss.name]](y, mpmath.mpf(z)))
        # A few units of rounding.
        assert loss.value(y, z) == pytest.approx(value, rel=1e-14, abs=1e-300)
        if loss.smooth:
            slope = float(EXACT_SLOPE[EXACT_NAME[loss.name]](y, mpmath.mpf(z)))
            assert loss.slope(y, z) == pytest.approx(slope, rel=1e-14, abs=1e-300)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda l: l.name)
def test_prox_against_bisection_in_50_digits(loss):
    omegas = [sign * size for size in FAR for sign in (-1, 1)]
    points = list(itertools.product([-1.0, 1.0], omegas, WIDE))
    columns = np.array(points).T
    name = EXACT_NAME[loss.name]
    exact = [exact_prox(name, *point) for point in points]
    # z carries the rounding of omega and v; a relative error elsewhere.
    np.testing.assert_allclose(
        loss.prox(*columns), [float(z) for z in exact], rtol=1e-12, atol=1e-12
    )
    if loss.smooth:
        slope = EXACT_SLOPE[name]
        dual = [float(slope(y, z)) for (y, _, _), z in zip(points, exact, strict=True)]
    else:
        dual = [float((omega - z) / v) for (_, omega, v), z in zip(points, exact, strict=True)]
    np.testing.assert_allclose(loss.dual(*columns), dual, rtol=1e-10, atol=1e-12)
    envelope = [
        float((z - omega) ** 2 / (2 * v) + EXACT_VALUE[name](y, z))
        for (y, omega, v), z in zip(points, exact, strict=True)
    ]
    np.testing.assert_allclose(loss.envelope(*columns), envelope, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda l: l.name)
def test_prox_residual_on_every_node(loss):
    """A prox that cycles on a few nodes spoils the training loss but no equation."""
    rng = np.random.default_rng(3)
    y = rng.choice([-1.0, 1.0], 20_000)
    omega = rng.normal(0, 10, y.shape)
    v = 10 ** rng.uniform(-2, 4, y.shape)
    z, p = loss.prox(y, omega, v), loss.dual(y, omega, v)
    # Rounding of the largest term.
    assert np.max(np.abs(z + v * p - omega) / (np.abs(omega) + v + 1)) < 1e-14


@pytest.mark.parametrize("loss", LOSSES[:-1], ids=lambda l: l.name)
def test_envelope_is_the_minimum(loss):
    rng = np.random.default_rng(4)
    for _ in range(40):
        y, omega, v = rng.choice([-1.0, 1.0]), rng.normal(0, 3), 10 ** rng.uniform(-1, 1)
        brute = minimize_scalar(
            lambda z, y=y, omega=omega, v=v: (z - omega) ** 2 / (2 * v) + loss.value(y, z),
            bracket=(omega - 1, omega + 1),
            options={"xtol": 1e-10},
        )
        # At a kink the value errs in proportion to the place, that is by xtol.
        tolerance = 1e-12 if loss.smooth else 1e-8
        assert loss.envelope(y, omega, v) == pytest.approx(brute.fun, rel=tolerance, abs=1e-12)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda l: l.name)
def test_gradient_identity_and_dual_slope(loss):
    """The envelope's derivative is the dual; the dual's derivative is D."""
    rng = np.random.default_rng(5)
    y, omega = rng.choice([-1.0, 1.0], 300), rng.normal(0, 3, 300)
    v, h = 10 ** rng.uniform(-2, 2, 300), 1e-5
    bend = np.abs(y * omega - 1) < 1e-3  # central differences straddle the kinks
    bend |= np.abs(y * omega - 1 + v) < 1e-3

    def slope_of(f):
        return (f(y, omega + h, v) - f(y, omega - h, v)) / (2 * h)

    # Errors of central differences: h^2/6 times the third derivative, and rounding / h.
    tolerance = 1e-8 * (1 + 1 / v)
    dual = loss.dual(y, omega, v)
    assert np.all(np.abs(slope_of(loss.envelope) - dual)[~bend] < tolerance[~bend])
    D = loss.dual_slope(y, omega, v)
    assert np.all(np.abs(slope_of(loss.dual) - D)[~bend] < tolerance[~bend])


@pytest.mark.parametrize("loss", LOSSES, ids=lambda l: l.name)
def test_zero_v_is_the_loss_itself(loss):
    y, z = np.array([1.0, -1.0, 1.0]), np.array([0.3, 2.0, -4.0])
    np.testing.assert_allclose(loss.prox(y, z, 0 * z), z, rtol=1e-15)
    np.testing.assert_allclose(loss.envelope(y, z, 0 * z), loss.value(y, z), rtol=1e-14)
    np.testing.assert_allclose(loss.dual(y, z, 0 * z), loss.slope(y, z), rtol=1e-14)


def brute_means(loss, y, m, T, v):
    """Means of Smoothed on 100 000 nodes, panels split where the dual may bend."""
    reach = np.log1p(v)
    bends = [0.0, y, y * (1 - v), y * reach, -y * (v + reach), -y * v / 2]
    splits = np.clip([(b - m) / T for b in bends], -9, 9)
    edges = np.unique(np.concatenate([np.linspace(-9, 9, 5001), splits]))
    x, w = np.polynomial.legendre.leggauss(20)
    half = 0.5 * np.diff(edges)[:, None]
    g = (0.5 * (edges[1:] + edges[:-1])[:, None] + half * x).ravel()
    weight = (half * w).ravel() * np.exp(-(g**2) / 2) / np.sqrt(2 * np.pi)
    at = np.full_like(g, y), m + T * g, np.full_like(g, v)
    M, p, D = loss.envelope(*at), loss.dual(*at), loss.dual_slope(*at)
    values = [M, p, p**2, D, D * g, D * g**2, p * D, p * D * g, p**2 * D]
    return [np.sum(weight * f) for f in values]


@functools.cache
def compiled(name):
    return jax.jit(get_loss(name).smoothed)


@pytest.mark.parametrize("name", BUILT_IN)
@pytest.mark.parametrize(
    ("m", "T", "v"),
    [(0.3, 1.2, 0.8), (-2.0, 3.0, 40.0), (1.5, 0.05, 2.0), (-1.0, 8.0, 5.0), (4.0, 2.5, 0.1)],
)
def test_gaussian_means(name, m, T, v):
    loss = get_loss(name)
    for y in (-1.0, 1.0):
        with jax.enable_x64(True):
            # Compiled whole: its many steps, compiled one by one, take seconds.
            means = compiled(name)(*(jnp.asarray([a]) for a in (y, m, T, v)))
            ours = np.array([float(a[0]) for a in means])
        # Brute force knows the means to the mass beyond |g| = 9 and its rounding. The nodes of the
        # logistic loss end at |g| = 7.2: 6e-13 of the mass, and up to 7.2^2 times that of D g^2.
        atol = 1e-10 if name == "logistic" else 1e-12
        np.testing.assert_allclose(ours, brute_means(loss, y, m, T, v), rtol=1e-9, atol=atol)


@in_float64
@pytest.mark.parametrize(
    ("T", "tolerance"),
    [(3.0, 1e-8), pytest.param(12.0, 1e-7, marks=pytest.mark.slow), (50.0, 5e-7)],
)
def test_logistic_means_with_bends_in_the_tail(T, tolerance):
    """Nodes that crowd around a bend leave enough of them where the density is.

    The bend, of the width 4 / T, then has few nodes itself: the more so, the wider T is. The
    tolerances are twice and more what the rule reaches.
    """
    loss = get_loss("logistic")
    for v in (0.1, 20.0, 300.0):
        for bend in (3.5, 4.6, 6.4, 7.0):
            m = -bend * T - (v if v > 4 else 0.0)
            means = compiled("logistic")(*(jnp.asarray([a]) for a in (1.0, m, T, v)))
            gap = np.array([float(a[0]) for a in means]) - brute_means(loss, 1.0, m, T, v)
            sizes = np.array([1 + T - m, 1, 1] + 6 * [1 / (4 + v)])  # the most that each can be
            assert np.max(np.abs(gap) / sizes) < tolerance


def test_logistic_prox_reaches_rounding_everywhere():
    """The fixed number of Halley steps, over 20 decades of v and |omega|."""
    loss, rng = get_loss("logistic"), np.random.default_rng(7)
    omega = rng.choice([-1.0, 1.0], 50_000) * 10 ** rng.uniform(-6, 10, 50_000)
    v = 10 ** rng.uniform(-10, 10, omega.shape)
    p, z = loss.dual(1.0, omega, v), loss.prox(1.0, omega, v)
    # p is good to 8e-15 of itself.
    size = 1 + np.abs(omega) + v * np.abs(p)
    assert np.max(np.abs(z + v * p - omega) / size) < 2e-14
    # p and z belong together: p = -1/(1 + e^z).
    np.testing.assert_allclose(p, loss.slope(1.0, z), rtol=1e-10, atol=1e-300)


@pytest.mark.slow  # the same rules as of `test_blocks_of_a_loss_of_ones_own`, not compiled whole
@in_float64
def test_general_route_agrees_with_the_special_one():
    """A custom logistic loss goes through bracketed prox and panel quadrature."""
    rng = np.random.default_rng(6)
    y = jnp.asarray(rng.choice([-1.0, 1.0], 50))
    m, T = jnp.asarray(rng.normal(0, 2, 50)), jnp.asarray(10 ** rng.uniform(-1, 0.5, 50))
    v = jnp.asarray(10 ** rng.uniform(-2, 1, 50))
    special, general = (loss.smoothed(y, m, T, v) for loss in (get_loss("logistic"), COPY))
    for name, a, b in zip(special._fields, special, general, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-9, err_msg=name)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (lambda y, z: 1 / (1 + jnp.exp(y * z)), "convex"),
        (lambda y, z: jnp.minimum(2.0, jnp.maximum(0.0, 1 - y * z)), "near l"),
        (lambda y, z: -((z - y) ** 2), "slope falls"),
        (lambda y, z: jnp.log(y * z), "finite"),
        (lambda y, z: jnp.maximum(0.0, 1.0 - y * z), "slope jumps near"),
        (lambda y, z: jnp.abs(z - 3.14159 * y), "slope jumps near"),
        (lambda y, z: np.logaddexp(0.0, -y * z), "jax.numpy"),
    ],
)
def test_bad_custom_losses_are_refused(value, complaint):
    with pytest.raises(InvalidInput, match=complaint):
        CustomLoss("bad", value)
    with pytest.raises(InvalidInput):
        get_loss("bad")


def test_names():
    with pytest.raises(InvalidInput, match="one of"):
        get_loss("nonesuch")
    with pytest.raises(InvalidInput, match="other than"):
        CustomLoss("square", lambda y, z: (y - z) ** 2)
    with pytest.raises(InvalidInput, match="other than"):
        get_loss(Sharper())  # it has inherited the name of the square loss


@in_float64
def test_jax_arrays_of_either_precision_give_their_own():
    for kind in (jnp.float32, jnp.float64):
        found = COPY.slope(jnp.ones(3, kind), jnp.zeros(3, kind))
        assert found.dtype == kind
        np.testing.assert_array_equal(found, -0.5)
