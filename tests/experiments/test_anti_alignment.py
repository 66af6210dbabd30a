"""Maps of the sign of the query, with few cells."""

import pytest

from sparsetoken.experiments.anti_alignment import EXPERIMENT
from sparsetoken.experiments.core.claims import FAILS, HOLDS, verdict_of


@pytest.fixture(scope="module")
def sizes(sizes_of):
    few = {"rates": (0.2,), "alpha0s": (2.0,), "factors": (0.4, 2.0)}
    return sizes_of(EXPERIMENT, cells=5, trials=4, dimension=300, **few)


@pytest.fixture(scope="module")
def rows(rows_of, sizes):
    return rows_of(EXPERIMENT, sizes)


def test_all_claims_hold_and_are_drawn(rows, sizes, said_of):
    comparisons = EXPERIMENT.compared(sizes, rows)
    for claim in EXPERIMENT.claims:
        assert verdict_of([c for c in comparisons if c.claim == claim.name]) == HOLDS
    words = said_of(EXPERIMENT, sizes, rows)
    assert "turns away" in words["Found"]
    assert "at 0.4, 2 times the boundary" in words["Setting"]


@pytest.mark.parametrize(
    ("place", "factor"),
    [
        ({"series": "simulated"}, -1.0),
        ({"series": "boundary", "panel": "rate"}, 2.0),
        ({"series": "boundary", "panel": "small"}, 1.01),
    ],
)
def test_a_wrong_number_fails(rows, sizes, changed, place, factor):
    bad = changed(rows, lambda row: row.but(value=factor * row.value), **place)
    assert FAILS in {c.verdict for c in EXPERIMENT.compared(sizes, bad)}
