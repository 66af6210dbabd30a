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


def test_each_simulation_is_judged_by_the_theory_at_its_length(run):
    _, claims = run
    assert len(claims) == 2 * 2 * 2 * 2
    problem, training = growing_length._problem(4), growing_length._training("fixed", 4)
    query = theory.align(problem, training).query
    predicted = theory.predict(
        "attention", problem, training, growing_length.ALPHA1, query=query
    ).test_error
    found = [
        c for c in claims if c.where.startswith("α₀ = 1, L = 4") and c.quantity == "test_error"
    ]
    assert [c.theory for c in found] == [predicted, predicted]  # at d = 20 and at d = 40
    assert {c.dimension for c in claims if c.key} == {40}


def test_a_difference_that_stays_fails(run):
    """Off by the same large amount at both dimensions: 1/d would have halved it."""
    least = PROFILE.dimensions[0]

    def moved(p):
        if p.source == THEORY or p.quantity != "cosine":
            return p
        (at,) = select(run[0], curve=p.curve, quantity="cosine", x=p.x, source=THEORY)
        return dataclasses.replace(p, value=1.5 * at.value, error=0.01 * at.value)

    claims = EXPERIMENT.judged("quick", [moved(p) for p in run[0]])
    cosines = [c for c in claims if c.quantity == "cosine"]
    verdicts = {(c.dimension == least, c.verdict) for c in cosines}
    assert verdicts == {(True, "by experiment"), (False, "fails")}


def test_a_difference_that_halves_with_twice_the_dimension_holds(run):
    def moved(p):
        if p.source == THEORY or p.quantity != "cosine":
            return p
        (at,) = select(run[0], curve=p.curve, quantity="cosine", x=p.x, source=THEORY)
        return dataclasses.replace(p, value=(1 + 10 / p.dimension) * at.value, error=1e-3)

    claims = EXPERIMENT.judged("quick", [moved(p) for p in run[0]])
    judged = [c for c in claims if c.quantity == "cosine" and c.dimension == 40]
    assert {c.verdict for c in judged} == {"holds"}


def test_the_text_and_the_figure(run):
    points, claims = run
    held = sum(c.verdict == "holds" for c in claims)
    text = EXPERIMENT.result(points, claims)
    assert f"{held} of 8 comparisons" in text
    assert text.count("L/d = 0.1)") == 4
    assert "L/d = 0.1, 0.2; d = 20, 40" in EXPERIMENT.setting(PROFILE)
    with styled():
        figure = PICTURES[0].draw(points)
    assert len(figure.axes) == 3
