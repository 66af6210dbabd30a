"""The experiment of the floor from end to end, at a small size."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.experiments.core.references import PROBLEM
from sparsetoken.experiments.training_floor import (
    DESCENT,
    EXPERIMENT,
    MEASURED,
    PASSED,
    SCHEDULES,
    STAGES,
    TOLERANCE,
    start_of,
)
from sparsetoken.model.descent import training_of


@pytest.fixture(scope="module")
def verdicts(sizes, changed):
    """Verdicts on a claim where some rows have other fields."""

    def of(rows, claim, **new):
        fields = {name: new.pop(name) for name in ("value", "error", "status") if name in new}
        if fields:
            rows = changed(rows, lambda row: row.but(**fields), **new)
        return [c.verdict for c in EXPERIMENT.compared(sizes, rows) if c.claim == claim]

    return of


def test_the_levels_are_in_order(rows):
    levels = [rows.one(name).value for name in ("bayes", "floor", "split", "pooled")]
    assert levels == sorted(levels)
    assert levels[1] == pytest.approx(st.oracle.learning_error(PROBLEM, 2.0).test_error)


def test_no_search_is_below_the_floor_or_above_the_best_split(rows):
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


def test_the_descent_is_measured_at_two_dimensions(rows):
    measured = rows.where(MEASURED, training=DESCENT)
    assert [(row.dimension, row.engine) for row in measured] == [(60, "tensors"), (240, "reduced")]


def test_each_schedule_starts_where_the_query_is_sharp():
    w, q = (
        {name: training_of(PROBLEM, start_of(name, 2.0, 4)).rates[:, j] for name in SCHEDULES}
        for j in (1, 0)
    )
    step = 2 / st.align(PROBLEM, st.TwoSteps(2.0, 0.5, 0.5, 1.0)).sharpness
    assert w["two_steps"].tolist() == [0.5, 0, 1.5, 1.5]
    assert q["two_steps"] == pytest.approx([0, step, 1e-3, 1e-3])
    assert q["constant"] == pytest.approx([0.01 * step] * 4)
    assert w["alternating"].tolist() == [1, 0, 1, 0]
    assert q["alternating"] == pytest.approx([0, 0.5 * step, 0, 0.5 * step])
    assert q["warm_up"] == pytest.approx(0.015 * step * np.arange(4) / 4)
    assert q["fading"] == pytest.approx(0.05 * step * np.exp(-np.arange(4) / 3))
    momentum = [training_of(PROBLEM, start_of(name, 2.0, 4)).momentum[-1] for name in SCHEDULES]
    assert momentum == [0.6, 0.375, 0.0, 0.375, 0.375]


def test_the_words_and_the_figure_have_all_rows(rows, sizes, said_of):
    words = said_of(EXPERIMENT, sizes, rows)
    numbers = [row["numbers"].replace("η_", "η") for row in rows.where("theory")]
    assert all(text in words["Found"] for text in numbers)
    assert len(EXPERIMENT.figures["training_floor"](rows).figure.legends[0].get_texts()) == 7
