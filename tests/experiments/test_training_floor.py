"""The experiment of the floor from end to end, at a small size."""

import pytest

import sparsetoken as st
from experiments.changed_rows import changed
from sparsetoken.experiments.references import PROBLEM
from sparsetoken.experiments.rows import one, select
from sparsetoken.experiments.training_floor import EXPERIMENT, work
from sparsetoken.experiments.training_floor.figure import draw
from sparsetoken.experiments.training_floor.rows import (
    Levels,
    MessagesPassed,
    Schedule,
    Searched,
)
from sparsetoken.figures.style import styled

PROFILE = work.Profile((2.0,), (2.0,), 8, (work.RESTING, work.DESCENT, "free"), 3, 60, 5, 2)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, PROFILE, seed=4)


def _verdicts(rows, claim):
    return [c.verdict for c in EXPERIMENT.compare(PROFILE, rows) if c.claim == claim]


def test_the_levels_are_in_order(rows):
    for row in select(rows, Levels):
        assert row.bayes.value < row.floor.value < row.split.value < row.pooled.value
        floor = st.oracle.learning_error(PROBLEM, row.alpha).test_error
        assert row.floor.value == pytest.approx(floor)


def test_no_search_is_below_the_floor_or_above_the_best_split(rows):
    levels = one(rows, Levels, alpha=2.0)
    for row in (*select(rows, Searched), *select(rows, Schedule)):
        assert row.predicted.value > levels.floor.value
    stages = one(rows, Searched, training=work.STAGES)
    # Both are known to half of the tolerance.
    assert stages.predicted.value <= levels.split.value + work.TOLERANCE


def test_the_loss_of_the_training_holds_and_can_fail(rows):
    # Five trials at d = 60 decide nothing: what they would measure at a large d is put in.
    rows = changed(rows, MessagesPassed, "test_error", {"value": 0.021})
    rows = changed(rows, Searched, "measured", {"value": 0.04}, training=work.STAGES)
    assert _verdicts(rows, "loss-of-training") == ["holds", "holds"]
    high = changed(rows, Levels, "floor", {"value": 0.12})
    assert _verdicts(high, "loss-of-training") == ["fails", "holds"]
    high = changed(rows, MessagesPassed, "test_error", {"value": 0.12})
    assert _verdicts(high, "loss-of-training") == ["holds", "fails"]
    stuck = changed(rows, Levels, "split", {"status": "max_iterations"})
    assert _verdicts(stuck, "loss-of-training") == ["not converged", "holds"]


def test_messages_and_searches_are_judged(rows):
    wrong = changed(rows, MessagesPassed, "test_error", {"value": 0.45, "error": 1e-4})
    assert _verdicts(wrong, "learning-floor") == ["fails"]
    wrong = changed(rows, Searched, "measured", {"value": 0.45, "error": 1e-4})
    assert "fails" in _verdicts(wrong, "best-training")


def test_one_descent_must_be_better_than_the_stages(rows):
    near = changed(rows, Schedule, "predicted", {"value": 0.03}, family=work.DESCENT)
    far = changed(rows, Schedule, "predicted", {"value": 0.3}, family=work.DESCENT)
    assert _verdicts(near, "best-training")[-1] == "holds"
    assert _verdicts(far, "best-training")[-1] == "fails"


def test_constant_steps_must_be_better_than_a_resting_query(rows):
    for value, verdict in ((0.03, "holds"), (0.4, "fails")):
        moved = changed(rows, Schedule, "predicted", {"value": value}, family=work.DESCENT)
        assert _verdicts(moved, "best-schedule") == [verdict]


def test_the_descent_is_measured_at_two_dimensions_and_the_free_search_goes_on(rows):
    measured = select(rows, Searched, training=work.DESCENT)
    assert [row.measured.dimension for row in measured] == [60, 240]
    assert [row.measured.engine for row in measured] == ["tensors", "reduced"]
    free, constant = (one(rows, Schedule, family=name) for name in ("free", work.DESCENT))
    # Each is known to its error from two replicas; the free one starts where the other ends.
    allowed = 4 * (free.predicted.error + constant.predicted.error)
    assert free.predicted.value <= constant.predicted.value + allowed


def test_the_words_and_the_figure_have_all_rows(rows, said_of):
    words = said_of(EXPERIMENT, PROFILE, rows)
    for row in (*select(rows, Schedule), one(rows, Searched, training=work.STAGES)):
        assert row.numbers in words["result"]
    assert "d = 60, 5 trials" in words["setting"]
    with styled():
        figure = draw(rows)
    assert len(figure.legends[0].get_texts()) == 7
