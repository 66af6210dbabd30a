"""The joint-training experiment from end to end, at a small size."""

import dataclasses

import pytest

from sparsetoken.beyond.joint import STARTS, joint_trial
from sparsetoken.experiments.joint_training import EXPERIMENT, work
from sparsetoken.experiments.joint_training.figure import draw
from sparsetoken.experiments.joint_training.work import AfterSteps
from sparsetoken.experiments.references import PROBLEM
from sparsetoken.experiments.rows import select
from sparsetoken.figures.style import styled
from sparsetoken.simulation.seeds import seed_of
from sparsetoken.stages import Readout, TwoSteps

PROFILE = work.Profile((1.0, 2.0), (0, 3, 20), 16, 2)
COLUMNS = ("test_error", "cosine", "sharpness", "objective", "gradient_norm")


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, PROFILE, seed=4)


def _changed(rows, names, values, **wanted):
    """Change columns of the rows of the descent."""
    return [
        dataclasses.replace(
            row, **{name: dataclasses.replace(getattr(row, name), **values) for name in names}
        )
        if isinstance(row, AfterSteps) and all(getattr(row, k) == v for k, v in wanted.items())
        else row
        for row in rows
    ]


@pytest.mark.parametrize("start", STARTS)
def test_rows_are_means_over_trials_at_each_count(rows, start):
    found = [
        joint_trial(
            PROBLEM,
            TwoSteps(2.0, eta_q=25.0),
            Readout(alpha=2.0),
            begin=start,
            checkpoints=PROFILE.steps,
            rate=work.RATE,
            dimension=16,
            seed=seed_of("joint-training", 1, 4),
            trial=i,
        )
        for i in range(2)
    ]
    path = select(rows, AfterSteps, load=2.0, start=start)
    assert [row.steps for row in path] == [0, 3, 20]
    for name in ("test_error", "cosine", "sharpness"):
        mean = sum(getattr(states[-1].reached, name) for states in found) / 2
        assert getattr(path[-1], name).value == pytest.approx(mean)
    objective = path[-1].objective.value
    assert objective == pytest.approx(sum(states[-1].objective for states in found) / 2)


def test_comparisons_are_by_experiment_only(rows):
    comparisons = EXPERIMENT.compare(PROFILE, rows)
    assert {c.verdict for c in comparisons} == {"by experiment"}
    assert sum(c.key for c in comparisons) == 4
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    broken = _changed(rows, COLUMNS, {"value": float("nan")})
    assert {c.verdict for c in EXPERIMENT.compare(PROFILE, broken)} == {"not converged"}


def test_the_words_have_best_and_last(rows, said_of):
    place = {"start": STARTS[0], "steps": 3, "load": 1.0}
    words = said_of(
        EXPERIMENT, PROFILE, _changed(rows, ("test_error",), {"value": 0.00123}, **place)
    )
    assert "at best (step 3, chosen by the test error itself) 0.0012" in words["result"]
    assert "after 20 steps" in words["result"]
    assert "d = 16, 2 trials" in words["setting"]


@pytest.mark.parametrize(("value", "above", "below"), [(0.49, 4, 0), (0.0, 0, 4)])
def test_the_words_count_the_descents_that_end_above_two_steps(rows, said_of, value, above, below):
    moved = _changed(rows, ("test_error",), {"value": value, "error": 1e-3})
    assert (
        f"above two-step attention in {above} of 4 cases, and is below it at its best step in "
        f"{below}."
    ) in said_of(EXPERIMENT, PROFILE, moved)["result"]


def test_the_figure_shows_two_starts_and_three_references(rows):
    with styled():
        figure = draw(rows)
    assert len(figure.axes) == 3
    assert len(figure.legends[0].get_texts()) == 5
