"""Learning curves and finite dimensions from work to words; a wrong number fails."""

import numpy as np
import pytest

from sparsetoken.experiments.core.claims import FAILS, HOLDS
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.experiments.core.rules import against_simulation
from sparsetoken.experiments.learning_curves import (
    CONVERGING,
    EXPERIMENT,
    known_to_one_sample,
    shrinkage,
)


def test_several_dimensions_are_carried_to_infinity(rows, sizes):
    comparisons = [c for c in EXPERIMENT.compared(sizes, rows) if c.claim == "finite-size"]
    assert [c.quantity for c in comparisons] == list(CONVERGING)
    assert all("d = 40, 80, extrapolated to infinity" in c.where for c in comparisons)
    # At d = 1000 there are 40 and 6 trials, elsewhere as many more as d is smaller.
    assert {(row.quantity, row.trials) for row in rows.where("finite")} == {
        ("cosine", 1000),
        ("cosine", 500),
        *((name, n) for name in CONVERGING[1:] for n in (150, 75)),
    }


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_law_that_made_the_rows_has_the_smaller_misfit(power):
    d = np.array([250, 500, 1000, 2000])
    made = [Row("finite", "cosine", 0.8 + 3.0 / n**power, 1e-4, dimension=n) for n in d.tolist()]
    rows = Rows([Row("limit", "cosine", 0.8), *made])
    right, wrong = (shrinkage(rows, "cosine", p) for p in (power, 1.5 - power))
    assert right.value == pytest.approx(3.0)
    assert right["misfit"] == pytest.approx(0, abs=1e-9)
    assert wrong["misfit"] > 1
    assert right.error == pytest.approx(1e-4 / np.sqrt(np.sum(d ** (-2 * power))))


def test_a_count_of_no_errors_is_known_to_one_sample():
    share = Row("simulated", "training_error", 0.0, 0.0, {"alpha1": 0.5}, "reduced", 40, 8)
    none = known_to_one_sample(share)
    assert none.error == 1 / (8 * 20)
    assert known_to_one_sample(share.but(error=0.1)).error == 0.1
    for expected, verdict in ((1e-100, HOLDS), (0.4, FAILS)):  # 0.4: 64 of 160 misjudged
        theory = Row("theory", "training_error", expected)
        assert against_simulation("score-law", theory, none).verdict == verdict
