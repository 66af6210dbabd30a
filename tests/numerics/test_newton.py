"""Newton's method and continuation on problems with known answers."""

import numpy as np
import pytest

from sparsetoken.numerics.newton import NewtonResult, damped_newton, follow


def test_saddle_of_a_convex_concave_potential():
    """x^4/4 - x + 3 x r - r^2/2: x^3 - 1 + 3 r = 0 and 3 x = r, one real root."""

    def system(u):
        x, r = u
        gradient = np.array([x**3 - 1 + 3 * r, 3 * x - r])
        return gradient, np.array([[3 * x**2, 3.0], [3.0, -1.0]])

    found = damped_newton(system, np.array([50.0, -80.0]), tolerance=1e-8)
    x = found.x[0]
    assert found.converged
    assert x**3 + 9 * x == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e9])
def test_scaling_the_equations_changes_nothing(scale):
    """arctan far from its root, where undamped steps run away."""

    def system(u):
        return scale * np.arctan(u), scale * np.diag(1 / (1 + u**2))

    found = damped_newton(system, np.array([20.0, -7.0]), tolerance=1e-8)
    assert found.converged
    # The scale of the stopping rule is the size of x, at least 1e-12.
    assert np.abs(found.x).max() < 1e-8


def test_positive_unknowns_stay_positive():
    seen = []

    def system(u):
        seen.append(u[0])
        return np.log(u) + 5, np.diag(1 / u)

    found = damped_newton(system, np.array([100.0]), positive=(0,), tolerance=1e-10)
    assert found.x[0] == pytest.approx(np.exp(-5), rel=1e-12)
    assert min(seen) > 0


def test_no_root_is_reported():
    found = damped_newton(lambda u: (1 + u**2, np.diag(2 * u)), np.array([3.0]))
    assert not found.converged
    assert found.residual > 1e-6


def test_follow_reaches_the_end_and_counts_the_way():
    def solve(x, t):
        return NewtonResult(np.array([t]), 0.0, 2, True)

    at_start = solve(None, 100.0)
    end, reached = follow(solve, at_start, 100.0, 1e-3)
    assert (end.x[0], reached, end.converged) == (1e-3, 1e-3, True)
    assert end.iterations >= 4
    end, reached = follow(solve, at_start, 4.0, 0.0, enough=1e-7)
    assert (end.x[0], reached) == (0.0, 0.0)


def test_follow_stops_where_the_solution_ends():
    """sqrt(t - 1) exists down to t = 1 only."""

    def solve(x, t):
        return NewtonResult(np.array([t]), 0.1, 1, t >= 1)

    end, reached = follow(solve, solve(None, 50.0), 50.0, 1e-3)
    assert not end.converged
    # The last ratio tried was at least 1.05.
    assert 1 <= reached < 1.15
    assert end.x[0] == reached
