"""The boundary of anti-alignment.

Equations: sign-boundary, small-step-condition.
"""

import dataclasses
import math

import pytest

from sparsetoken.base.validation import InvalidInput
from sparsetoken.model.problem import SparseTokenProblem
from sparsetoken.model.stages import TwoSteps
from sparsetoken.results import StatusCode
from sparsetoken.theory import align, sign_boundary, small_step_margin

RARE = SparseTokenProblem(10, 1, 1.5, 0.1)
GOOD = SparseTokenProblem(10, 1, 5.0, 0.5)
STEPS = TwoSteps(loss="square")


@pytest.mark.parametrize(
    ("name", "low", "high", "rising"),
    [("strength", 0.1, 50.0, True), ("positive_rate", 0.01, 0.6, True), ("eta_b", 0.0, 90.0, True)],
)
def test_the_cosine_changes_sign_at_the_boundary(name, low, high, rising):
    found = sign_boundary(RARE, STEPS, name, low, high)
    assert found.status.converged
    assert abs(found.residual) < 1e-8
    cosines = []
    for factor in (0.99, 1.01):
        change = {name: factor * found.value}
        if name == "eta_b":
            cosines.append(align(RARE, dataclasses.replace(STEPS, **change)).cosine)
        else:
            cosines.append(align(dataclasses.replace(RARE, **change), STEPS).cosine)
    assert (cosines[0] < 0 < cosines[1]) == rising


@pytest.mark.parametrize(("pi", "R"), [(0.05, 1), (0.2, 3), (0.4, 9)])
@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_small_steps_have_a_closed_form(pi, R, loss):
    steps = TwoSteps(loss=loss, eta_w=1e-6, eta_b=1e-6)
    problem = SparseTokenProblem(10, R, 1.0, pi)
    found = sign_boundary(problem, steps, "strength", 0.1, 50.0)
    V = R * (1 - R / 10)
    # Steps of 1e-6 move scores by about 1e-6, times theta^2 at most.
    assert found.value == pytest.approx(math.sqrt((1 - 2 * pi) * 9 / (pi * V)), rel=1e-4)
    margin = small_step_margin(dataclasses.replace(problem, strength=found.value))
    assert abs(margin) < 1e-3


@pytest.mark.parametrize("name", ["alpha0", "eta_w"])
def test_every_name_of_a_step_can_be_searched(name):
    found = sign_boundary(RARE, STEPS, name, 0.5, 2.0)
    assert found.status.code is StatusCode.NO_LIMIT
    assert f"for every {name} from 0.5 to 2" in found.status.remedy


def test_no_change_of_sign_is_said():
    found = sign_boundary(GOOD, STEPS, "strength", 1.0, 5.0)
    assert found.status.code is StatusCode.NO_LIMIT
    assert "towards the signal" in found.status.remedy
    assert math.isnan(found.value)


@pytest.mark.parametrize(
    ("name", "low", "high", "word"),
    [
        ("beta", 0.1, 1.0, "name"),
        ("strength", 2.0, 1.0, "high"),
        ("strength", math.nan, 1.0, "low"),
        ("positive_rate", 0.5, 2.0, "positive_rate"),
    ],
)
def test_bad_input(name, low, high, word):
    with pytest.raises(InvalidInput, match=word):
        sign_boundary(GOOD, STEPS, name, low, high)
