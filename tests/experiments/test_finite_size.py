"""Fits of c / d^p to differences built from a known c; the words; a wrong number fails."""

import dataclasses

import numpy as np
import pytest

from sparsetoken.experiments.claims import FAILS, verdict_of
from sparsetoken.experiments.finite_size import EXPERIMENT, work
from sparsetoken.experiments.finite_size.claims import Shrinkage, shrinkage
from sparsetoken.experiments.finite_size.rows import Limit, Simulated
from sparsetoken.experiments.rows import Measured, Predicted, select
from sparsetoken.report.page import words_of

TINY = work.Profile(40, 6, dimensions=(40, 80))


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, TINY)


def test_from_jobs_to_words(rows, said_of):
    words = said_of(EXPERIMENT, TINY, rows)
    assert "d = 40, 80, with trials" in words["setting"]
    assert "training loss: c/d with c =" in words["result"]
    comparisons = EXPERIMENT.compare(TINY, rows)
    assert [c.quantity for c in comparisons] == list(work.QUANTITIES)
    assert all("d = 40, 80, carried to infinity" in c.where for c in comparisons)
    # At d = 1000 there are 40 and 6 trials, elsewhere as many more as d is smaller.
    trials = {(row.quantity, row.found.trials) for row in select(rows, Simulated)}
    assert trials == {
        ("cosine", 1000),
        ("cosine", 500),
        *((name, n) for name in work.QUANTITIES[1:] for n in (150, 75)),
    }


def test_a_wrong_number_fails(rows):
    wrong = [
        dataclasses.replace(row, found=dataclasses.replace(row.found, value=2.0 + row.found.value))
        if isinstance(row, Simulated)
        else row
        for row in rows
    ]
    assert verdict_of(EXPERIMENT.compare(TINY, wrong)) == FAILS


@pytest.mark.parametrize("power", [0.5, 1.0])
def test_the_law_that_made_the_rows_has_the_smaller_misfit(power):
    dimensions = (250, 500, 1000, 2000)
    rows = [Limit("cosine", Predicted(0.8))]
    rows += [Simulated("cosine", Measured(0.8 + 3.0 / d**power, 1e-4, d, 9)) for d in dimensions]
    right, wrong = (shrinkage(rows, "cosine", p) for p in (power, 1.5 - power))
    assert right.coefficient == pytest.approx(3.0)
    assert right.misfit == pytest.approx(0, abs=1e-9)
    assert wrong.misfit > 1
    assert right.standard_error == pytest.approx(
        1e-4 / np.sqrt(sum(d ** (-2 * power) for d in dimensions))
    )


def _said(c, misfits):
    """Return the words on fits of c/d and c/sqrt(d) with these misfits."""
    powers = (1.0, 0.5)
    pair = [Shrinkage("cosine", p, c, 1.0, m) for p, m in zip(powers, misfits, strict=True)]
    given = dataclasses.replace(EXPERIMENT, summary=lambda *_: {"alpha1": 2.0, "fits": [pair]})
    return " ".join(words_of(given, TINY, [], [])["result"].split())


def test_the_text_names_the_law_that_the_fits_resolve():
    assert "For the cosine c is not 0, and c/d fits better." in _said(-5.0, (1.0, 9.0))
    assert "c/√d fits better" in _said(5.0, (9.0, 1.0))
    assert "too close to tell the two laws apart" in _said(5.0, (0.6, 0.3))
    assert "misfit decides nothing" in _said(1.9, (4.0, 2.0))
