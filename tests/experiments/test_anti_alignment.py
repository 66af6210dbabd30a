"""Maps of the sign of the query, with few cells."""

import dataclasses

import pytest

from sparsetoken.experiments.anti_alignment import EXPERIMENT, work
from sparsetoken.experiments.anti_alignment.rows import Edge, SmallStepEdge, Trials
from sparsetoken.experiments.claims import FAILS, HOLDS, verdict_of

TINY = work.Profile(
    cells=5, trials=4, dimension=300, rates=(0.2,), alpha0s=(2.0,), factors=(0.4, 2.0)
)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, TINY)


def test_all_claims_hold_and_are_drawn(rows, said_of):
    comparisons = EXPERIMENT.compare(TINY, rows)
    for claim in EXPERIMENT.claims:
        assert verdict_of([c for c in comparisons if c.claim == claim.name]) == HOLDS
    words = said_of(EXPERIMENT, TINY, rows)
    assert "turns away" in words["result"]
    assert "at 0.4, 2 times the boundary" in words["setting"]


def _times(value, factor):
    return dataclasses.replace(value, value=factor * value.value)


@pytest.mark.parametrize(
    ("kind", "column", "factor"),
    [(Trials, "measured", -1.0), (Edge, "across", 2.0), (SmallStepEdge, "tiny_steps", 1.01)],
)
def test_a_wrong_number_fails(rows, kind, column, factor):
    bad = [
        dataclasses.replace(row, **{column: _times(getattr(row, column), factor)})
        if isinstance(row, kind)
        else row
        for row in rows
    ]
    assert FAILS in {c.verdict for c in EXPERIMENT.compare(TINY, bad)}
