"""The joint-training experiment from end to end, at a small size."""

import pytest

import sparsetoken as st
from experiments.changed_rows import changed
from sparsetoken.experiments.joint_training import EXPERIMENT, claims, work
from sparsetoken.experiments.joint_training.figure import draw
from sparsetoken.experiments.joint_training.rows import AtStep, Followed
from sparsetoken.experiments.references import PROBLEM
from sparsetoken.experiments.rows import select
from sparsetoken.figures.style import styled
from sparsetoken.simulation.seeds import seed_of

# Six steps are enough for a minimum with the fastest query.
PROFILE = work.Profile((1, 4, 10), 100, 5, 200, 4, 2)
FAST = {"ratio": 4.0, "start": 0.0}
CASE = 4  # the place of this descent among all


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, PROFILE, seed=4)


def _verdicts(rows, claim):
    return [c.verdict for c in EXPERIMENT.compare(PROFILE, rows) if c.claim == claim]


def test_a_course_is_that_of_the_library(rows):
    descent = work.descent_of(4.0, 0.0, 10)
    found = st.theory.descend(PROBLEM, st.Attention(descent), replicas=2)
    course = select(rows, AtStep, **FAST)
    assert [row.step for row in course] == list(range(11))
    assert [row.test_error.value for row in course] == pytest.approx(found.test_error)


@pytest.mark.parametrize(("engine", "size", "trials"), PROFILE.simulations)
def test_rows_are_means_over_trials(rows, engine, size, trials):
    seed = seed_of("joint-training", engine, CASE, 4)
    found = st.simulation.descend(
        PROBLEM,
        st.Attention(work.descent_of(4.0, 0.0, 10)),
        dimension=size,
        trials=trials,
        seed=seed,
        engine=engine,
    )
    (row,) = (r for r in select(rows, Followed, **FAST, step=4) if r.fall.engine == engine)
    assert row.training_loss.value == pytest.approx(found.mean.training_loss[4])
    assert row.test_error.error == pytest.approx(found.standard_error.test_error[4])
    rise = found.mean.test_error[10] - found.mean.test_error[4]
    assert row.rise.value == pytest.approx(rise)


def test_the_limit_holds_and_a_wrong_one_fails(rows):
    assert set(_verdicts(rows, "joint-descent")) == {"holds"}
    wrong = changed(rows, AtStep, "training_loss", {"value": 0.1}, **FAST)
    assert "fails" in _verdicts(wrong, "joint-descent")


def test_a_descent_that_diverges_never_holds(rows):
    stuck = changed(rows, AtStep, "test_error", {"status": "no_limit"})
    assert "not converged" in _verdicts(stuck, "joint-descent")
    assert "not converged" in _verdicts(stuck, "early-stopping")


def test_the_stop_is_where_the_predicted_error_is_least(rows):
    low = changed(rows, AtStep, "test_error", {"value": 0.01}, **FAST, step=5)
    (stop,) = (s for s in claims.stops(low) if (s.ratio, s.start) == (4.0, 0.0))
    assert (stop.best.step, [row.step for row in stop.near]) == (5, [4, 4])
    assert stop.rises


def test_early_stopping_fails_where_nothing_rises(rows):
    flat = changed(rows, AtStep, "test_error", {"value": 0.2})
    assert "fails" in _verdicts(flat, "early-stopping")


def test_the_words_have_best_and_last(rows, said_of):
    words = said_of(EXPERIMENT, PROFILE, rows)
    best = min(select(rows, AtStep, **FAST), key=lambda row: row.test_error.value)
    assert f"<td>{best.test_error.value:.4f}, {best.step}</td>" in words["result"]
    assert "d = 100 (5 trials)" in words["setting"]


def test_the_figure_shows_six_descents_and_four_references(rows):
    with styled():
        figure = draw(rows)
    assert len(figure.axes) == 3
    assert len(figure.legends[0].get_texts()) == 10
