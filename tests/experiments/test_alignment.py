"""Rows carry mean, standard error and number of the trials; a wrong number fails."""

import dataclasses

import numpy as np
import pytest

from sparsetoken import simulation
from sparsetoken.experiments.alignment import EXPERIMENT, work
from sparsetoken.experiments.alignment.rows import OtherSteps, Simulated
from sparsetoken.experiments.claims import FAILS, HOLDS, verdict_of

SMALL = work.Profile((0.5, 1.0), tensors=1.0, dimension=20, trials=3, curve_points=3)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, SMALL)


def test_rows_of_a_simulation():
    steps = dataclasses.replace(work.STEPS, alpha0=1.0)
    found = simulation.align(work.PROBLEM, steps, dimension=20, trials=3, seed=5)
    (row,) = work.simulate_cosines(1.0, "reduced", 20, 3, 5)
    cosines = found.trials.readout_cosine
    assert row.readout_cosine.value == pytest.approx(np.mean(cosines))
    assert row.readout_cosine.error == pytest.approx(np.std(cosines, ddof=1) / 3**0.5)
    assert (row.readout_cosine.engine, row.readout_cosine.trials) == ("reduced", 3)


def test_from_jobs_to_words(rows, said_of):
    words = said_of(EXPERIMENT, SMALL, rows)
    assert "d = 20, 3 trials" in words["setting"]
    assert "The measured cosine rises from" in words["result"]
    assert "Squares: the same experiment with real tensors" in words["alignment"]
    comparisons = EXPERIMENT.compare(SMALL, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    assert [c.engine for c in comparisons if c.key and c.dimension].count("tensors") == 2


def test_a_wrong_number_fails(rows):
    def verdict(rows, claim):
        return verdict_of(c for c in EXPERIMENT.compare(SMALL, rows) if c.claim == claim)

    def wrong(row):
        if isinstance(row, Simulated):
            return dataclasses.replace(
                row, cosine=dataclasses.replace(row.cosine, value=2.0, error=1e-3)
            )
        if isinstance(row, OtherSteps):
            return dataclasses.replace(row, moved_cosine=1e-6)
        return row

    assert verdict(rows, "steps-set-sharpness-only") == HOLDS
    assert verdict([wrong(row) for row in rows], "query-alignment") == FAILS
    assert verdict([wrong(row) for row in rows], "steps-set-sharpness-only") == FAILS
