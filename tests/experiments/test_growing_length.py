"""The growing-length experiment from end to end, at a small size."""

import math

import pytest

from sparsetoken import theory
from sparsetoken.experiments.growing_length import ARMS, EXPERIMENT, READOUT, problem_of, steps_of
from sparsetoken.model.models import Attention


@pytest.mark.parametrize("L", [5, 40])
@pytest.mark.parametrize("arm", ARMS)
def test_the_predicted_sharpness_is_the_one_stated(arm, L):
    steps = steps_of(arm, L)
    query = theory.align(problem_of(L), steps)
    assert query.sharpness == pytest.approx(math.sqrt(2 * math.log(L)), rel=1e-12)
    assert steps.alpha0 == (1 if arm == "fixed" else L / 10)


def test_each_simulation_stands_beside_the_theory_at_its_length(rows, sizes):
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert len(comparisons) == 2 * 2 * 2 * 2 + 4
    model = Attention(steps_of("fixed", 4))
    predicted = theory.predict(problem_of(4), model, READOUT).test_error
    at = [c for c in comparisons if c.where.startswith("α₀ = 1, L = 4")]
    errors = [c.theory for c in at if c.quantity == "test_error"]
    assert errors == [predicted, predicted]  # at d = 20 and at d = 40
    assert {c.verdict for c in comparisons} <= {"by experiment", "not converged"}
    assert EXPERIMENT.open


@pytest.mark.parametrize(("power", "sign"), [(0.0, 1), (0.25, -1), (1.0, 1)])
def test_the_power_is_the_one_that_made_the_differences(rows, sizes, changed, said_of, power, sign):
    theory = rows.where("attention", "cosine")

    def moved(row):
        at = theory.beside(row).value
        off = sign * 0.1 * (20 / row.dimension) ** power
        return row.but(value=(1 + off) * at, error=1e-4 * at)

    rows = changed(rows, moved, series="simulated", quantity="cosine")
    comparisons = [c for c in EXPERIMENT.compared(sizes, rows) if c.quantity == "power of d"]
    assert len(comparisons) == 4
    for comparison in comparisons:
        # Two dimensions a factor 2 apart fix two unknowns: the fit is exact.
        assert comparison.measured == pytest.approx(power, abs=1e-6)
        # Errors of 1e-3 and 1e-3 2^p relative to the differences, over log 2.
        assert comparison.standard_error == pytest.approx(
            1e-3 * math.hypot(1, 2**power) / math.log(2), rel=1e-3
        )
    assert f"{power:.2f} ± " in said_of(EXPERIMENT, sizes, rows)["Found"]
