"""Fits of c / d^p to differences built from a known c; the words; a wrong number fails."""

import numpy as np
import pytest

from sparsetoken.experiments.core.claims import FAILS, verdict_of
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.experiments.finite_size import EXPERIMENT, QUANTITIES, shrinkage

SMALL = dict(alignment_trials=40, trials=6, dimensions=(40, 80))


def test_from_work_to_words(rows, sizes, said_of):
    words = said_of(EXPERIMENT, sizes, rows)
    assert "d = 40, 80, with the number of trials" in words["Setting"]
    assert "training loss: c/d with c =" in words["Found"]
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert [c.quantity for c in comparisons] == list(QUANTITIES)
    assert all("d = 40, 80, extrapolated to infinity" in c.where for c in comparisons)
    # At d = 1000 there are 40 and 6 trials, elsewhere as many more as d is smaller.
    assert {(row.quantity, row.trials) for row in rows.where("simulated")} == {
        ("cosine", 1000),
        ("cosine", 500),
        *((name, n) for name in QUANTITIES[1:] for n in (150, 75)),
    }


def test_a_wrong_number_fails(rows, sizes, changed):
    wrong = changed(rows, lambda row: row.but(value=2.0 + row.value), series="simulated")
    assert verdict_of(EXPERIMENT.compared(sizes, wrong)) == FAILS


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_law_that_made_the_rows_has_the_smaller_misfit(power):
    d = np.array([250, 500, 1000, 2000])
    made = [Row("simulated", "cosine", 0.8 + 3.0 / n**power, 1e-4, dimension=n) for n in d.tolist()]
    rows = Rows([Row("theory", "cosine", 0.8), *made])
    right, wrong = (shrinkage(rows, "cosine", p) for p in (power, 1.5 - power))
    assert right.value == pytest.approx(3.0)
    assert right["misfit"] == pytest.approx(0, abs=1e-9)
    assert wrong["misfit"] > 1
    assert right.error == pytest.approx(1e-4 / np.sqrt(np.sum(d ** (-2 * power))))
