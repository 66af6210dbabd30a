"""The experiment on networks from end to end, at a small size."""

import numpy as np
import pytest

import sparsetoken as st
from sparsetoken.experiments.core.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.networks import (
    BOTH,
    DESCENT,
    EXPERIMENT,
    FAILURE,
    GATED,
    HEADS,
    NETWORKS,
    OVERLAP,
    POOLED,
    SELF,
    SHARED,
    SOFTMAX,
    SPARSE,
    descent_of,
    task_of,
)

# Four steps tell networks apart; where both must meet, eight take two heads below the limit.
SMALL = dict(
    alphas=(2.0,),
    networks=(SOFTMAX, POOLED),
    at_one_load=(SELF, GATED, HEADS),
    meeting_alphas=(2.0, 8.0),
    meeting_at_one_load=(),
    unmeasured=(),
    unequal=(HEADS,),
    covariances={SHARED: (SOFTMAX,)},
    steep=(POOLED,),
    steps=4,
    bags=2**11,
    dimension=100,
    trials=4,
)
SEED = 3

PLACE = {"setting": SPARSE, "network": SOFTMAX, "alpha": 2.0}


@pytest.fixture(scope="module")
def verdicts(sizes):
    def of(rows):
        comparisons = EXPERIMENT.compared(sizes, rows)
        names = [claim.name for claim in EXPERIMENT.claims]
        return {name: verdict_of(c for c in comparisons if c.claim == name) for name in names}

    return of


def test_a_row_is_the_best_step_of_the_course(rows):
    course = st.theory.descend(
        task_of(SPARSE, 100), descent_of(SPARSE, SOFTMAX, 2.0, 4), replicas=2
    )
    row = rows.one("theory", "test_error", **PLACE)
    assert row["step"] == np.argmin(course.test_error)
    assert row.value == pytest.approx(course.test_error.min())
    assert row.error == pytest.approx(course.errors.test_error[row["step"]])


def test_the_claims_hold_and_wrong_limits_fail(rows, verdicts, changed):
    held = verdicts(rows)
    assert (held[DESCENT], held[FAILURE]) == (HOLDS, HOLDS)
    attended = {"series": "theory", "quantity": "attended", **PLACE}
    assert verdicts(changed(rows, lambda row: row.but(value=0.99), **attended))[DESCENT] == FAILS
    one = {"series": "theory", "quantity": "test_error", "setting": BOTH, "network": SOFTMAX}
    low = changed(rows, lambda row: row.but(value=0.01), **one)
    assert verdicts(low)[FAILURE] == FAILS


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


def test_words_and_figure(rows, sizes, said_of):
    words = said_of(EXPERIMENT, sizes, rows)
    value = rows.one("theory", "test_error", **PLACE).value
    for part in ("gated-attention", "token-found", "networks-and-tokens"):
        assert f"{value:.4f}" in words[f"Question: {part}"]
    assert f"{rows.one('floor').value:.4f}" in words["Found"]
    assert "d = 100, 4 trials" in words["Setting"]
    assert "gated networks use those of two units" in words["Setting"]
    assert "an upper bound on the minimum" in words["Found"]
