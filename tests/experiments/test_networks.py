"""The experiment on networks from end to end, at a small size."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.experiments.networks import (
    BOTH,
    HEADS,
    NETWORKS,
    OVERLAP,
    SOFTMAX,
    SPARSE,
    descent_of,
    task_of,
)

PLACE = {"setting": SPARSE, "network": SOFTMAX, "alpha": 2.0}


def test_a_row_is_the_best_step_of_the_course(rows):
    descent = descent_of(SPARSE, SOFTMAX, 2.0, 4)
    course = st.theory.descend(task_of(SPARSE, 100), descent, replicas=2)
    row = rows.one("theory", "test_error", **PLACE)
    assert row["step"] == np.argmin(course.test_error)
    assert row.value == pytest.approx(course.test_error.min())
    assert row.error == pytest.approx(course.errors.test_error[row["step"]])


@pytest.mark.parametrize("name", NETWORKS)
def test_heads_start_towards_the_signals_by_turns(name):
    start = np.asarray(descent_of(BOTH, name, 2.0, 4).start_overlaps)
    names = NETWORKS[name][0].column_names(outputs=1)
    for column, own in zip(names, start, strict=True):
        towards = 1 if column[-1] in "24" else 0
        expected = np.zeros(2)
        expected[towards] = OVERLAP * (column[0] not in "wV")
        np.testing.assert_array_equal(own, expected, column)


def test_the_least_error_of_one_head_is_above_that_of_two(rows):
    one, two = (rows.one("least", network=name).value for name in (SOFTMAX, HEADS))
    assert two < one / 2
    trained = rows.where("theory", "test_error", setting=BOTH)
    assert all(row.value > two for row in trained)
