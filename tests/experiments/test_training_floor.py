"""The experiment of the floor from end to end, at a small size."""

import pytest

import sparsetoken as st
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.training_floor import (
    DESCENT,
    EXPERIMENT,
    MEASURED,
    PASSED,
    RESTING,
    STAGES,
    TOLERANCE,
    start_of,
)
from sparsetoken.model.training import training_of


@pytest.fixture(scope="module")
def verdicts(sizes, changed):
    """Verdicts on a claim where some rows have other fields."""

    def of(rows, claim, **new):
        fields = {name: new.pop(name) for name in ("value", "error", "status") if name in new}
        if fields:
            rows = changed(rows, lambda row: row.but(**fields), **new)
        return [c.verdict for c in EXPERIMENT.compared(sizes, rows) if c.claim == claim]

    return of


def test_the_levels_are_in_order_and_no_search_is_below_the_floor(rows):
    levels = [rows.one(name).value for name in ("bayes", "floor", "split", "pooled")]
    assert levels == sorted(levels)
    assert levels[1] == pytest.approx(st.oracle.learning_error(PROBLEM, 2.0).test_error)
    assert all(row.value > rows.one("floor").value for row in rows.where("theory"))
    stages = rows.one("theory", training=STAGES)
    # Both are known to half of the tolerance.
    assert stages.value <= rows.one("split").value + TOLERANCE


def test_the_loss_of_the_training_holds_and_can_fail(rows, changed, verdicts):
    # Five trials at d = 60 decide nothing: what they would measure at a large d is put in.
    rows = changed(rows, lambda row: row.but(value=0.021), series=PASSED)
    rows = changed(rows, lambda row: row.but(value=0.04), series=MEASURED, training=STAGES)
    claim = "loss-of-training"
    assert verdicts(rows, claim) == ["holds", "holds"]
    assert verdicts(rows, claim, series="floor", value=0.12) == ["fails", "holds"]
    assert verdicts(rows, claim, series=PASSED, value=0.12) == ["holds", "fails"]
    stuck = verdicts(rows, claim, series="split", status="max_iterations")
    assert stuck == ["not converged", "holds"]


@pytest.mark.parametrize(("value", "verdict"), [(0.03, "holds"), (0.4, "fails")])
def test_one_descent_must_be_better_than_stages_and_a_resting_query(rows, verdicts, value, verdict):
    steady = {"series": "theory", "training": DESCENT, "value": value}
    assert verdicts(rows, "best-training", **steady)[-1] == verdict
    assert verdicts(rows, "best-schedule", **steady) == [verdict]


def test_each_schedule_starts_where_the_query_is_sharp():
    resting, steady = (training_of(PROBLEM, start_of(s, 2.0, 4)) for s in (RESTING, DESCENT))
    step = 2 / st.align(PROBLEM, st.TwoSteps(2.0, 0.5, 0.5, 1.0)).sharpness
    assert resting.rates[:, 1].tolist() == [0.5, 0, 1.5, 1.5]
    assert resting.rates[:, 0] == pytest.approx([0, step, 1e-3, 1e-3])
    assert steady.rates[:, 1].tolist() == [0.8] * 4
    assert steady.rates[:, 0] == pytest.approx([0.01 * step] * 4)
    assert (resting.momentum[-1], steady.momentum[-1]) == (0.6, 0.375)


def test_the_words_and_the_figure_have_all_rows(rows, sizes, said_of):
    words = said_of(EXPERIMENT, sizes, rows)
    numbers = [row["numbers"].replace("η_", "η") for row in rows.where("theory")]
    assert all(text in words["Found"] for text in numbers)
    measured = rows.where(MEASURED, training=DESCENT)
    assert [(row.dimension, row.engine) for row in measured] == [(60, "tensors"), (120, "tensors")]
    assert len(EXPERIMENT.figures["training_floor"](rows).figure.legends[0].get_texts()) == 8
