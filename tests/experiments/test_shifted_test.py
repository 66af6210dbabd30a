"""Test data of another law, with two places of each kind."""

import pytest

from sparsetoken import simulation
from sparsetoken.experiments.core.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.shifted_test import EXPERIMENT


@pytest.fixture(scope="module")
def sizes(sizes_of):
    shifts = {"length": (5, 20), "positive_rate": (0.2, 0.8), "strength": (3.0, 6.0)}
    return sizes_of(EXPERIMENT, trials=4, dimension=60, shifts=shifts)


@pytest.fixture(scope="module")
def rows(rows_of, sizes):
    return rows_of(EXPERIMENT, sizes)


def test_the_claim_holds_and_is_drawn(rows, sizes, said_of):
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert verdict_of(comparisons) == HOLDS
    assert len(comparisons) == 12
    assert sum(c.key for c in comparisons) == 3
    words = said_of(EXPERIMENT, sizes, rows)
    assert "Trained at L = 10" in words["Found"]
    assert "d = 60, 4 trials" in words["Setting"]
    assert "Points: simulation" in words["Figure: shifted_test"]
    assert "Squares" not in words["Figure: shifted_test"]  # none was measured with real tokens


def test_the_training_law_at_test_fails(rows, sizes, changed):
    """The error without the shift is not that of the shifted data."""

    def unshifted(row):
        other = rows.one("theory", shift="length", to=20, model=row["model"])
        return row.but(value=other.value)

    wrong = changed(rows, unshifted, series="theory", shift="strength")
    assert FAILS in {c.verdict for c in EXPERIMENT.compared(sizes, wrong)}


def test_the_classifiers_of_a_model_are_the_same_for_all_test_data(sizes):
    simulated = [p for p in EXPERIMENT.work(sizes, 0) if p.work is simulation.simulate]
    seeds = {p.at["model"]: p.options["seed"] for p in simulated}
    assert all(p.options["seed"] == seeds[p.at["model"]] for p in simulated)
    assert seeds["attention"] != seeds["pooled"]
