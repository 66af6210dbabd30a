"""The growing-length experiment from end to end, at a small size."""

import dataclasses
import math

import pytest

from sparsetoken import simulation, theory
from sparsetoken.experiments.growing_length import EXPERIMENT, work
from sparsetoken.experiments.growing_length.figure import draw
from sparsetoken.experiments.growing_length.work import Place
from sparsetoken.experiments.rows import one, select
from sparsetoken.figures.style import styled
from sparsetoken.models import Attention
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout

PROFILE = work.Profile((0.1, 0.2), (20, 40), 2, 20)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, PROFILE, seed=4)


@pytest.mark.parametrize("L", [5, 40])
@pytest.mark.parametrize("arm", work.ARMS)
def test_the_predicted_sharpness_is_the_one_stated(arm, L):
    steps = work.steps_of(arm, L)
    found = theory.align(work.problem_of(L), steps)
    assert found.sharpness == pytest.approx(math.sqrt(2 * math.log(L)), rel=1e-12)
    assert steps.alpha0 == (1 if arm == "fixed" else L / 10)


def test_lengths_are_in_proportion(rows):
    places = select(rows, Place)
    assert all(row.length == row.ratio * row.dimension for row in places)
    assert {row.length for row in places} == {2, 4, 8}
    assert (work.share(20, 40), work.share(2, 40)) == (50, 5)


def test_rows_are_those_of_the_simulation(rows):
    setting = {"dimension": 40, "seed": seed_of("growing-length", "growing", 1, 1, 4)}
    problem, steps = work.problem_of(8), work.steps_of("growing", 8)
    readout = Readout(alpha1=work.ALPHA1)
    found = simulation.simulate(problem, Attention(steps), readout, trials=5, **setting)
    row = one(rows, Place, arm="growing", length=8)
    assert row.test_error.value == found.mean.test_error
    assert row.test_error.error == found.standard_error.test_error
    aligned = simulation.align(problem, steps, trials=50, **setting)
    assert row.cosine.value == aligned.mean.cosine
    assert (row.test_error.trials, row.cosine.trials) == (5, 50)


def test_each_simulation_stands_beside_the_theory_at_its_length(rows):
    comparisons = EXPERIMENT.compare(PROFILE, rows)
    assert len(comparisons) == 2 * 2 * 2 * 2 + 4
    model = Attention(work.steps_of("fixed", 4))
    predicted = theory.predict(work.problem_of(4), model, Readout(alpha1=work.ALPHA1)).test_error
    found = [
        c for c in comparisons if c.where.startswith("α₀ = 1, L = 4") and c.quantity == "test_error"
    ]
    assert [c.theory for c in found] == [predicted, predicted]  # at d = 20 and at d = 40
    assert {c.verdict for c in comparisons} <= {"by experiment", "not converged"}
    assert EXPERIMENT.open


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_power_is_the_one_that_made_the_differences(rows, said_of, power, sign):
    def moved(row):
        if not isinstance(row, Place):
            return row
        at = row.predicted_cosine.value
        off = sign * 0.1 * (20 / row.dimension) ** power
        cosine = dataclasses.replace(row.cosine, value=(1 + off) * at, error=1e-4 * at)
        return dataclasses.replace(row, cosine=cosine)

    rows = [moved(row) for row in rows]
    found = [c for c in EXPERIMENT.compare(PROFILE, rows) if c.quantity == "power of d"]
    assert len(found) == 4
    for comparison in found:
        # Two dimensions a factor 2 apart fix two unknowns: the fit is exact.
        assert comparison.measured == pytest.approx(power, abs=1e-6)
        # Errors of 1e-3 and 1e-3 2^p relative to the differences, over log 2.
        assert comparison.standard_error == pytest.approx(
            1e-3 * math.hypot(1, 2**power) / math.log(2), rel=1e-3
        )
    assert f"{power:.2f} ± " in said_of(EXPERIMENT, PROFILE, rows)["result"]


def test_the_words_and_the_figure(rows, said_of):
    words = said_of(EXPERIMENT, PROFILE, rows)
    end = one(rows, Place, arm="growing", length=8).test_error
    assert f"{end.value:.4f} ± {end.error:.4f}" in words["result"]
    assert "L/d = 0.1, 0.2; d = 20, 40" in words["setting"]
    with styled():
        figure = draw(rows)
    assert len(figure.axes) == 3
