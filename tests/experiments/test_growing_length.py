"""The growing-length experiment from end to end, at a small size."""

import dataclasses
import math

import pytest

from sparsetoken import simulation, theory
from sparsetoken.experiments import growing_length
from sparsetoken.experiments.points import THEORY, select
from sparsetoken.figures.growing_length import PICTURES
from sparsetoken.figures.style import styled

PROFILE = growing_length.GrowingLengthProfile((0.1, 0.2), (20, 40), 2, 20)
EXPERIMENT = dataclasses.replace(growing_length.GROWING_LENGTH, profiles={"quick": PROFILE})


@pytest.fixture(scope="module")
def run():
    return EXPERIMENT.run("quick", seed=4)


@pytest.mark.parametrize("L", [5, 40])
@pytest.mark.parametrize("arm", growing_length.ARMS)
def test_the_predicted_sharpness_is_the_one_stated(arm, L):
    training = growing_length._training(arm, L)
    found = theory.align(growing_length._problem(L), training)
    assert found.sharpness == pytest.approx(math.sqrt(2 * math.log(L)), rel=1e-12)
    assert training.alpha0 == (1 if arm == "fixed" else L / 10)


def test_lengths_are_in_proportion(run):
    points, _ = run
    for point in points:
        if point.source != THEORY:
            assert point.x == point.y * point.dimension
    assert PROFILE.lengths == (2, 4, 8)
    assert (PROFILE.share(20, 40), PROFILE.share(2, 40)) == (50, 5)


def test_points_are_those_of_the_simulation(run):
    found = simulation.simulate(
        "attention",
        growing_length._problem(8),
        growing_length._training("growing", 8),
        growing_length.ALPHA1,
        dimension=40,
        trials=5,
        seed=4,
    )
    (point,) = select(run[0], curve="growing", quantity="test_error", source="reduced", x=8.0)
    assert (point.value, point.error) == (found.mean.test_error, found.standard_error.test_error)


def test_each_simulation_stands_beside_the_theory_at_its_length(run):
    _, claims = run
    assert len(claims) == 2 * 2 * 2 * 2 + 4
    problem, training = growing_length._problem(4), growing_length._training("fixed", 4)
    query = theory.align(problem, training).query
    predicted = theory.predict(
        "attention", problem, training, growing_length.ALPHA1, query=query
    ).test_error
    found = [
        c for c in claims if c.where.startswith("α₀ = 1, L = 4") and c.quantity == "test_error"
    ]
    assert [c.theory for c in found] == [predicted, predicted]  # at d = 20 and at d = 40
    assert {c.verdict for c in claims} <= {"by experiment", "not converged"}
    assert all(s.open for s in growing_length.STATEMENTS)


@pytest.mark.parametrize("power", [0.0, 0.25, 1.0])
@pytest.mark.parametrize("sign", [-1, 1])
def test_the_power_is_the_one_that_made_the_differences(run, power, sign):
    def moved(p):
        if p.source == THEORY or p.quantity != "cosine":
            return p
        (at,) = select(run[0], curve=p.curve, quantity="cosine", x=p.x, source=THEORY)
        off = sign * 0.1 * (20 / p.dimension) ** power
        return dataclasses.replace(p, value=(1 + off) * at.value, error=1e-4 * at.value)

    points = [moved(p) for p in run[0]]
    claims = EXPERIMENT.judged("quick", points)
    found = [c for c in claims if c.quantity == "power of d"]
    assert len(found) == 4
    for claim in found:
        # Two dimensions a factor 2 apart fix two unknowns: the fit is exact.
        assert claim.measured == pytest.approx(power, abs=1e-6)
        # Errors of 1e-3 and 1e-3 2^p relative to the differences, over log 2.
        assert claim.standard_error == pytest.approx(
            1e-3 * math.hypot(1, 2**power) / math.log(2), rel=1e-3
        )
    assert f"{power:.2f} ± " in EXPERIMENT.result(points, claims)


def test_the_text_and_the_figure(run):
    points, claims = run
    text = EXPERIMENT.result(points, claims)
    (end,) = select(points, curve="growing", quantity="test_error", x=8.0, source="reduced")
    assert f"{end.value:.4f} ± {end.error:.4f}" in text
    assert "L/d = 0.1, 0.2; d = 20, 40" in EXPERIMENT.setting(PROFILE)
    with styled():
        figure = PICTURES[0].draw(points)
    assert len(figure.axes) == 3
