"""The rates end to end at a tiny size; a wrong rate does not pass."""

import pytest

from sparsetoken.experiments.core.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.rates import EXPERIMENT


@pytest.fixture(scope="module")
def sizes(sizes_of):
    query = {"alpha0s": (10.0,), "dimension": 100, "trials": 5}
    return sizes_of(EXPERIMENT, alphas=(5.0,), weights=50, fits=4, line_points=7, **query)


@pytest.fixture(scope="module")
def rows(rows_of, sizes):
    return rows_of(EXPERIMENT, sizes)


def test_computed_comparisons_hold(rows, sizes):
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    computed = [c for c in comparisons if c.engine == "computed"]
    assert computed
    assert {c.verdict for c in computed} == {HOLDS}


def test_words_and_figure(rows, sizes, said_of):
    words = said_of(EXPERIMENT, sizes, rows)
    assert "the cosine is negative for anti-aligned" in words["Found"]
    assert "50 weights" in words["Setting"]


@pytest.mark.parametrize(
    ("chosen", "claim"),
    [
        ({"quantity": "misalignment"}, "alignment-rate"),
        ({"quantity": "excess", "curve": "attention"}, "infinite-data-rate"),
        (
            {"quantity": "test_error", "curve": "vectorized"},
            "vectorized-and-pooled-share-the-limit",
        ),
    ],
)
def test_a_wrong_number_fails(rows, sizes, changed, chosen, claim):
    wrong = changed(rows, lambda row: row.but(value=1.2 * row.value), series="theory", **chosen)
    found = EXPERIMENT.compared(sizes, wrong)
    assert verdict_of(c for c in found if c.claim == claim) == FAILS
