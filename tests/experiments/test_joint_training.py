"""The joint-training experiment from end to end, at a small size."""

import dataclasses

import pytest

from sparsetoken.beyond.joint import STARTS, joint_trial
from sparsetoken.experiments import joint_training
from sparsetoken.experiments.points import select
from sparsetoken.figures.joint_training import PICTURES
from sparsetoken.figures.style import styled

PROFILE = joint_training.JointTrainingProfile((1.0, 2.0), (0, 3, 20), 16, 2)
EXPERIMENT = dataclasses.replace(joint_training.JOINT_TRAINING, profiles={"quick": PROFILE})


@pytest.fixture(scope="module")
def run():
    return EXPERIMENT.run("quick", seed=4)


@pytest.mark.parametrize("begin", STARTS)
def test_points_are_means_over_trials_at_each_count(run, begin):
    found = [
        joint_trial(
            joint_training.PROBLEM,
            joint_training._training(2.0),
            2.0,
            begin=begin,
            steps=PROFILE.steps,
            rate=joint_training.RATE,
            dimension=16,
            seed=4,
            trial=i,
        )
        for i in range(2)
    ]
    kept = select(run[0], group=joint_training.panel(2.0), curve=begin)
    for name in ("test_error", "cosine", "sharpness"):
        path = select(kept, quantity=name)
        assert [p.x for p in path] == [0, 3, 20]
        mean = sum(getattr(states[-1].reached, name) for states in found) / 2
        assert path[-1].value == pytest.approx(mean)
    objective = select(kept, quantity="objective")[-1].value
    assert objective == pytest.approx(sum(states[-1].objective for states in found) / 2)


def test_claims_are_by_experiment_only(run):
    points, claims = run
    assert {c.verdict for c in claims} == {"by experiment"}
    assert sum(c.key for c in claims) == 4
    assert {c.statement for c in claims} == {s.name for s in joint_training.STATEMENTS}
    broken = [dataclasses.replace(p, value=float("nan")) for p in points]
    assert {c.verdict for c in EXPERIMENT.judged("quick", broken)} == {"not converged"}


def test_the_text_has_best_and_last(run):
    points, claims = run

    def moved(p):
        mine = (p.curve, p.quantity, p.x, p.group) == (
            STARTS[0],
            "test_error",
            3.0,
            joint_training.panel(1.0),
        )
        return dataclasses.replace(p, value=0.00123) if mine else p

    text = EXPERIMENT.result([moved(p) for p in points], claims)
    assert "at best (step 3, chosen by the test error itself) 0.0012" in text
    assert "after 20 steps" in text
    assert "d = 16, 2 trials" in EXPERIMENT.setting(PROFILE)


def test_the_text_counts_the_descents_that_end_above_two_steps(run):
    points, claims = run

    def ends_at(value):
        moved = [
            dataclasses.replace(p, value=value, error=1e-3)
            if p.quantity == "test_error" and p.source != "theory"
            else p
            for p in points
        ]
        return EXPERIMENT.result(moved, claims)

    assert "above two-step attention in 4 of 4 cases, and is below it at its best step in 0" in (
        ends_at(0.49)
    )
    assert "above two-step attention in 0 of 4 cases, and is below it at its best step in 4" in (
        ends_at(0.0)
    )


def test_the_figure_shows_two_starts_and_three_references(run):
    with styled():
        figure = PICTURES[0].draw(run[0])
    assert len(figure.axes) == 3
    assert len(figure.legends[0].get_texts()) == 5
