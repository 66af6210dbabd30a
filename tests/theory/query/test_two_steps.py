"""The query after two gradient steps.

Equations: first-step, query-alignment, sign-condition, alignment-rate.
"""

import dataclasses
import math

import jax.numpy as jnp
import pytest
from scipy.integrate import quad

from sparsetoken.losses import CustomLoss
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.theory import align, sign_margin

FIGURE = SparseTokenProblem(length=10, informative=3, strength=6, positive_rate=0.2)
LOPSIDED = CustomLoss(
    "lopsided", lambda y, z: jnp.where(y > 0, 2.0, 0.5) * jnp.logaddexp(0.0, -y * z)
)


@pytest.mark.parametrize(
    ("alpha0", "cosine", "readout"),
    [(0.5, 0.7016, 0.6271), (2, 0.9075, 0.8495), (5, 0.9613, 0.9308)],
)
def test_reference_points(alpha0, cosine, readout):
    found = align(FIGURE, TwoSteps(alpha0=alpha0, eta_w=0.5, eta_b=0.5))
    # To the four digits given.
    assert found.cosine == pytest.approx(cosine, abs=5e-5)
    assert found.readout_cosine == pytest.approx(readout, abs=5e-5)


def test_a_step_whose_square_underflows_has_the_direction_of_any_other():
    tiny, unit = (align(FIGURE, TwoSteps(eta_q=eta)) for eta in (1e-170, 1.0))
    assert tiny.cosine == unit.cosine
    assert tiny.norm == pytest.approx(1e-170 * unit.norm, rel=1e-12, abs=0)
    assert align(FIGURE, TwoSteps(eta_q=0.0)).cosine == 0


def slow_cosine(problem, steps):
    """The equations again, with the means over g by adaptive quadrature."""
    pi, theta, R, L = problem.letters
    loss, a0, eta = steps.loss, steps.alpha0, steps.eta_w
    h0 = {y: float(loss.slope(float(y), 0.0)) for y in (1, -1)}
    chance = {1: pi, -1: 1 - pi}
    m1 = -eta * pi * h0[1] * theta * R / L
    w1 = math.sqrt(m1**2 + eta**2 * sum(chance[y] * h0[y] ** 2 for y in h0) / (L * a0))
    b1 = -steps.eta_b * sum(chance[y] * h0[y] for y in h0)

    def mean(y, power):
        centre = theta * R / L * m1 * (y > 0) - eta * h0[y] / (L * a0) + b1

        def integrand(g):
            omega = centre + w1 / math.sqrt(L) * g
            return float(loss.slope(float(y), omega)) ** power * math.exp(-(g**2) / 2)

        kink = (y - centre) / (w1 / math.sqrt(L))  # where the hinge turns
        points = [kink] if abs(kink) < 9 else None
        return quad(integrand, -9, 9, points=points, limit=400)[0] / math.sqrt(2 * math.pi)

    h, hh = ({y: mean(y, p) for y in (1, -1)} for p in (1, 2))
    V = R * (1 - R / L)
    P = pi * h[1] * theta**2 * V * m1
    Q = (L - 1) * sum(chance[y] * h[y] for y in h)
    spread = (L - 1) * w1**2
    N = (pi * hh[1] * (theta**2 * m1**2 * V + spread) + (1 - pi) * hh[-1] * spread) / a0
    return -(P + Q * m1) / math.sqrt(P**2 + 2 * P * Q * m1 + Q**2 * w1**2 + N)


@pytest.mark.parametrize("loss", ["square", "logistic", "hinge", "squared_hinge", LOPSIDED])
@pytest.mark.parametrize(
    ("pi", "eta_w", "eta_b"), [(0.2, 0.5, 0.5), (0.7, 3.0, 0.1), (0.05, 1.0, 4.0)]
)
def test_against_adaptive_quadrature(loss, pi, eta_w, eta_b):
    problem = dataclasses.replace(FIGURE, positive_rate=pi)
    steps = TwoSteps(alpha0=0.7, eta_w=eta_w, eta_b=eta_b, loss=loss)
    # The custom loss goes over panels (1e-8); adaptive quadrature gives 1e-8 itself.
    assert align(problem, steps).cosine == pytest.approx(slow_cosine(problem, steps), abs=1e-6)


@pytest.mark.parametrize("loss", ["square", "logistic", "squared_hinge", LOPSIDED])
def test_rate(loss):
    """alpha0 (1 - |s|) tends to C; the next order is C' / alpha0."""
    gaps = []
    for alpha0 in (1e3, 1e4):
        found = align(FIGURE, TwoSteps(alpha0=alpha0, loss=loss))
        gaps.append(alpha0 * (1 - abs(found.cosine)) / found.rate - 1)
    assert abs(gaps[1]) < 1e-3
    assert gaps[0] == pytest.approx(10 * gaps[1], rel=0.1)


def test_rare_positives_turn_the_query_away():
    rare = SparseTokenProblem(length=10, informative=1, strength=1.5, positive_rate=0.1)
    steps = TwoSteps(eta_w=1e-3, eta_b=1e-3)
    # Small steps: pi theta^2 V < (1 - 2 pi)(L - 1), since 0.2 < 7.2.
    assert align(rare, steps).cosine < 0
    assert sign_margin(rare, steps) < 0
    mended = TwoSteps(eta_w=1e-3, eta_b=20.0)
    assert align(rare, mended).cosine > 0
    assert sign_margin(rare, mended) > 0


@pytest.mark.parametrize(
    ("problem", "steps"),
    [
        (SparseTokenProblem(1, 1, 2.0, 0.3), TwoSteps()),
        (SparseTokenProblem(5, 2, 2.0, 0.3), TwoSteps(eta_w=0.0)),
        (SparseTokenProblem(5, 2, 2.0, 0.3), TwoSteps(eta_q=0.0)),
    ],
)
def test_no_query(problem, steps):
    found = align(problem, steps)
    assert (found.cosine, found.norm, found.sharpness) == (0.0, 0.0, 0.0)


def test_no_signal_and_full_signal():
    assert align(SparseTokenProblem(5, 2, 0.0, 0.3), TwoSteps()).overlap == 0
    full = align(SparseTokenProblem(5, 5, 2.0, 0.3), TwoSteps())
    assert -1 <= full.cosine <= 1


def test_step_size_and_beta_of_the_query_only_set_the_sharpness():
    base, scaled = (align(FIGURE, TwoSteps(eta_q=e, beta=b)) for e, b in ((1.0, 1.0), (3.0, 2.0)))
    assert scaled.cosine == pytest.approx(base.cosine, rel=1e-12)
    assert scaled.norm == pytest.approx(6 * base.norm, rel=1e-12)
    assert scaled.sharpness == pytest.approx(12 * base.sharpness, rel=1e-12)
