"""How comparisons scatter: known spreads and shifts are found again."""

import math

import numpy as np
import pytest

from sparsetoken.experiments.rows import Measured, Predicted
from sparsetoken.experiments.rules import ALLOWANCE, compare, judge
from sparsetoken.report.calibration import scatter_of, shifts

C, BETWEEN, PLACES = 4.0, 6.0, 400


@pytest.fixture(scope="module")
def made_up():
    """Comparisons whose c varies between places with a known mean and spread."""
    rng, found = np.random.default_rng(7), []
    for _ in range(PLACES):
        c = C + BETWEEN * rng.standard_normal()
        error, d, theory = 0.002, 1000, 0.3
        value = theory * (1 + c / d) + error * rng.standard_normal()
        measured = Measured(value, error, d, 10_000)
        found.append(judge("claim", "test_error", Predicted(theory), measured))
    return found


def test_the_mean_and_the_spread_of_c_are_found(made_up):
    (found,) = shifts(made_up)
    assert (found.quantity, found.count) == ("test_error", PLACES)
    assert found.assumed == ALLOWANCE["test_error"]
    assert abs(found.mean - C) < 4 * found.error
    # c has noise 0.002 * 1000 / 0.3 = 6.7 at each place: the mean is known to 0.45.
    assert found.error == pytest.approx(0.45, rel=0.2)
    assert found.between == pytest.approx(BETWEEN, rel=0.25)


def test_without_an_allowance_z_is_standard_normal_where_nothing_shifts():
    rng = np.random.default_rng(3)
    found = [
        judge(
            "claim",
            "test_error",
            Predicted(0.3),
            Measured(0.3 + 0.02 * rng.standard_normal(), 0.02, 1000, 10_000),
        )
        for _ in range(PLACES)
    ]
    scatter = scatter_of([*found, compare("claim", "slope", expected=1, found=1, allowance=0.1)])
    assert len(scatter.z) == len(scatter.clean) == PLACES
    assert scatter.spreads["raw"] == pytest.approx(1, abs=0.15)  # 4 / sqrt(2 * 400)
    assert scatter.spreads["z"] < scatter.spreads["raw"]
    # 400 two-sided chances of 6.3e-5.
    assert scatter.false_alarm == pytest.approx(0.025, abs=0.001)


def test_nothing_to_compare():
    scatter = scatter_of([])
    assert scatter.false_alarm == 0
    assert all(math.isnan(value) for value in scatter.spreads.values())
    assert shifts([]) == []
