"""The rates end to end at a tiny size; a wrong rate does not pass."""

import dataclasses

import pytest

from sparsetoken.experiments.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.rates import EXPERIMENT, work
from sparsetoken.experiments.rates.rows import Approach, Excess, Gap

TINY = work.Profile(
    alpha0s=(10.0,),
    dimension=100,
    trials=5,
    alphas=(5.0,),
    vectorized_alphas=(25.0,),
    features=50,
    fits=4,
    line_points=7,
)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, TINY)


def test_computed_comparisons_hold(rows):
    comparisons = EXPERIMENT.compare(TINY, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    computed = [c for c in comparisons if c.engine == "computed"]
    assert computed
    assert {c.verdict for c in computed} == {HOLDS}


def test_words_and_figure(rows, said_of):
    words = said_of(EXPERIMENT, TINY, rows)
    assert "the cosine is negative for anti-aligned" in words["result"]
    assert "50 weights" in words["setting"]


@pytest.mark.parametrize(
    ("kind", "column", "claim"),
    [
        (Gap, "gap", "alignment-rate"),
        (Excess, "excess", "infinite-data-rate"),
        (Approach, "limit", "vectorized-and-pooled-share-the-limit"),
    ],
)
def test_a_wrong_number_fails(rows, kind, column, claim):
    def wrong(row):
        if not isinstance(row, kind) or getattr(row, "model", "") == "pooled":
            return row
        value = getattr(row, column)
        return dataclasses.replace(
            row, **{column: dataclasses.replace(value, value=1.2 * value.value)}
        )

    comparisons = EXPERIMENT.compare(TINY, [wrong(row) for row in rows])
    assert verdict_of(c for c in comparisons if c.claim == claim) == FAILS
