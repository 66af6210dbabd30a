"""Attention against pooling, with few cosines and one finite load."""

import math

import pytest

from sparsetoken.experiments.core.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.misalignment import EXPERIMENT


@pytest.fixture(scope="module")
def sizes(sizes_of):
    small = {"trials": 6, "dimension": 100, "alphas": (4.0,), "cosines": (0.0, 0.8)}
    return sizes_of(EXPERIMENT, **small, lengths=(4,), curve_points=5)


@pytest.fixture(scope="module")
def rows(rows_of, sizes):
    return rows_of(EXPERIMENT, sizes)


def test_all_claims_hold_and_are_drawn(rows, sizes, said_of):
    comparisons = EXPERIMENT.compared(sizes, rows)
    for claim in EXPERIMENT.claims:
        assert verdict_of([c for c in comparisons if c.claim == claim.name]) == HOLDS
    words = said_of(EXPERIMENT, sizes, rows)
    assert "cross at the cosine 0.194" in words["Found"]
    assert "with finite data at 0." in words["Found"]


@pytest.mark.parametrize(
    ("chosen", "claim"),
    [
        ({"series": "crossing"}, "misaligned-attention-loses"),
        ({"series": "simulated", "model": "attention"}, "crossing-at-finite-load"),
        (
            {"series": "theory", "length": 4, "alpha1": math.inf, "model": "attention"},
            "residual-error-falls-with-alignment",
        ),
    ],
)
def test_a_wrong_number_fails(rows, sizes, changed, chosen, claim):
    bad = changed(rows, lambda row: row.but(value=0.6 - row.value), **chosen)
    found = EXPERIMENT.compared(sizes, bad)
    assert FAILS in {c.verdict for c in found if c.claim == claim}
