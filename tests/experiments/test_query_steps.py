"""The query-steps experiment from end to end, at a small size."""

import dataclasses

import pytest

from sparsetoken.beyond.query_steps import steps_trial
from sparsetoken.experiments import query_steps
from sparsetoken.experiments.points import select
from sparsetoken.experiments.query_steps import curve_name
from sparsetoken.figures.query_steps import PICTURES
from sparsetoken.figures.style import styled

PROFILE = query_steps.QueryStepsProfile(16, 2)
EXPERIMENT = dataclasses.replace(query_steps.QUERY_STEPS, profiles={"quick": PROFILE})
STEPS = 4


@pytest.fixture(scope="module")
def run():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(query_steps, "LAST_STEP", STEPS)
        yield EXPERIMENT.run("quick", seed=4)


def test_points_are_means_over_trials_at_each_step(run):
    found = [
        steps_trial(
            query_steps.PROBLEM,
            query_steps._training(5.0),
            query_steps.ALPHA1,
            last_step=STEPS,
            dimension=16,
            seed=4,
            trial=i,
        )
        for i in range(2)
    ]
    errors = select(run[0], curve=curve_name(5.0, held=False), quantity="test_error")
    assert [p.x for p in errors] == [2, 3, 4]
    for point, *steps in zip(errors, *found, strict=True):
        assert point.value == pytest.approx(sum(free.test_error for free, _ in steps) / 2)
    held = select(run[0], curve=curve_name(5.0, held=True), quantity="test_error")[0]
    assert held.value == pytest.approx(sum(path[0][1].test_error for path in found) / 2)
    change = select(run[0], curve=curve_name(5.0, held=False), quantity="test_error − step 2")
    assert change[-1].value == pytest.approx(errors[-1].value - errors[0].value)


def test_claims_are_by_experiment_only(run):
    points, claims = run
    assert {c.verdict for c in claims} == {"by experiment"}
    assert {c.statement for c in claims} == {s.name for s in query_steps.STATEMENTS}
    broken = [dataclasses.replace(p, value=float("inf")) for p in points]
    assert {c.verdict for c in EXPERIMENT.judged("quick", broken)} == {"not converged"}


def test_the_text_names_the_best_step(run):
    points, claims = run
    name = curve_name(25.0, held=False)

    def moved(p):
        mine = (p.curve, p.quantity, p.x) == (name, "test_error", 3.0)
        return dataclasses.replace(p, value=0.00123) if mine else p

    text = EXPERIMENT.result([moved(p) for p in points], claims)
    assert "The lowest mean, η_q = 25 at step 3, is 0.0012" in text


def test_the_figure_shows_four_curves_and_three_references(run):
    with styled():
        figure = PICTURES[0].draw(run[0])
    assert len(figure.legends[0].get_texts()) == 7
    assert "d = 16, 2 trials" in EXPERIMENT.setting(PROFILE)
