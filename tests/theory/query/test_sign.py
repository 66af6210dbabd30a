"""The boundary of anti-alignment.

Equations: sign-condition, small-step-condition.
"""

import dataclasses
import math

import pytest
from scipy import optimize

from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.theory import align, sign_margin, small_step_margin

RARE = SparseTokenProblem(10, 1, 1.5, 0.1)
STEPS = TwoSteps(loss="square")


def boundary(problem, steps, name, low, high):
    """Return the value of a parameter at which the cosine changes sign."""

    def margin(value):
        if hasattr(problem, name):
            return sign_margin(dataclasses.replace(problem, **{name: value}), steps)
        return sign_margin(problem, dataclasses.replace(steps, **{name: value}))

    return optimize.brentq(margin, low, high)


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [("strength", 0.1, 50.0), ("positive_rate", 0.01, 0.6), ("eta_b", 0.0, 90.0)],
)
def test_the_cosine_changes_sign_at_the_boundary(name, low, high):
    found = boundary(RARE, STEPS, name, low, high)
    cosines = []
    for factor in (0.99, 1.01):
        change = {name: factor * found}
        if name == "eta_b":
            cosines.append(align(RARE, dataclasses.replace(STEPS, **change)).cosine)
        else:
            cosines.append(align(dataclasses.replace(RARE, **change), STEPS).cosine)
    assert cosines[0] < 0 < cosines[1]


@pytest.mark.parametrize(("pi", "R"), [(0.05, 1), (0.2, 3), (0.4, 9)])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_small_steps_have_a_closed_form(pi, R, loss):
    steps = TwoSteps(loss=loss, eta_w=1e-6, eta_b=1e-6)
    problem = SparseTokenProblem(10, R, 1.0, pi)
    found = boundary(problem, steps, "strength", 0.1, 50.0)
    V = R * (1 - R / 10)
    # Steps of 1e-6 move scores by about 1e-6, times theta^2 at most.
    assert found == pytest.approx(math.sqrt((1 - 2 * pi) * 9 / (pi * V)), rel=1e-4)
    assert abs(small_step_margin(dataclasses.replace(problem, strength=found))) < 1e-3
