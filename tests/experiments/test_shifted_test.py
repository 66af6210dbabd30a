"""Test data of another law, with two places of each kind."""

import dataclasses

import pytest

from sparsetoken.experiments.claims import FAILS, verdict_of
from sparsetoken.experiments.rows import one
from sparsetoken.experiments.shifted_test import EXPERIMENT, work
from sparsetoken.experiments.shifted_test.rows import Theory

TINY = work.Profile(
    trials=4, dimension=60, length=(5, 20), positive_rate=(0.2, 0.8), strength=(3.0, 6.0)
)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, TINY)


def test_the_claim_holds_and_is_drawn(rows, said_of):
    comparisons = EXPERIMENT.compare(TINY, rows)
    assert verdict_of(comparisons) == "holds"
    assert len(comparisons) == 12
    assert sum(c.key for c in comparisons) == 3
    words = said_of(EXPERIMENT, TINY, rows)
    assert "Trained at L = 10" in words["result"]
    assert "d = 60, 4 trials" in words["setting"]
    assert "Points: simulation" in words["shifted_test"]
    assert "Squares" not in words["shifted_test"]  # no row was measured with real tokens


def test_the_training_law_at_test_fails(rows):
    """The error without the shift is not that of the shifted data."""

    def unshifted(row):
        if isinstance(row, Theory) and row.shift == "strength":
            other = one(rows, Theory, model=row.model, shift="length", value=20)
            return dataclasses.replace(row, test_error=other.test_error)
        return row

    comparisons = EXPERIMENT.compare(TINY, [unshifted(row) for row in rows])
    assert FAILS in {c.verdict for c in comparisons}


def test_the_classifiers_of_a_model_are_the_same_for_all_test_data():
    simulated = [job for job in EXPERIMENT.jobs(TINY, 0) if job.work is work.simulate_shift]
    seeds = {
        model: {j.arguments[-1] for j in simulated if j.arguments[0] == model}
        for model in work.MODELS
    }
    assert all(len(found) == 1 for found in seeds.values())
    assert seeds["attention"] != seeds["pooled"]
