"""Rows carry mean, standard error and number of the trials; a wrong number fails."""

import numpy as np
import pytest

from sparsetoken import simulation
from sparsetoken.experiments.alignment import EXPERIMENT, PROBLEM, STEPS
from sparsetoken.experiments.core.claims import FAILS, HOLDS, verdict_of


@pytest.fixture(scope="module")
def sizes(sizes_of):
    return sizes_of(EXPERIMENT, alphas=(0.5, 1.0), tensors=(1.0, 20, 3), curve_points=3)


@pytest.fixture(scope="module")
def rows(rows_of, sizes):
    return rows_of(EXPERIMENT, sizes)


def test_rows_of_a_simulation(rows, sizes):
    piece = next(p for p in EXPERIMENT.work(sizes, 0) if p.work is simulation.align)
    found = simulation.align(PROBLEM, *piece.arguments[1:], **piece.options)
    row = rows.one("simulated", "readout_cosine", alpha0=0.5, dimension=500)
    cosines = found.trials.readout_cosine
    assert row.value == pytest.approx(np.mean(cosines))
    assert row.error == pytest.approx(np.std(cosines, ddof=1) / len(cosines) ** 0.5)
    assert (row.engine, row.trials) == ("reduced", 800)
    assert STEPS.alpha0 == 2.0


def test_from_work_to_words(rows, sizes, said_of):
    words = said_of(EXPERIMENT, sizes, rows)
    assert "d = 20, 3 trials" in words["Setting"]
    assert "The measured cosine rises from" in words["Found"]
    assert "Squares: the same experiment with real tensors" in words["Figure: alignment"]
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    assert [c.engine for c in comparisons if c.key and c.dimension].count("tensors") == 2


def test_a_wrong_number_fails(rows, sizes, changed):
    def verdict(rows, claim):
        found = EXPERIMENT.compared(sizes, rows)
        return verdict_of(c for c in found if c.claim == claim)

    far = changed(rows, lambda row: row.but(value=2.0, error=1e-3), series="simulated")
    moved = changed(rows, lambda row: row.but(value=1e-6), quantity="moved cosine")
    assert verdict(rows, "steps-set-sharpness-only") == HOLDS
    assert verdict(far, "query-alignment") == FAILS
    assert verdict(moved, "steps-set-sharpness-only") == FAILS
