"""Attention against pooling, with few cosines and one finite load."""

import dataclasses
import math

import pytest

from sparsetoken.experiments.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.misalignment import EXPERIMENT, work
from sparsetoken.experiments.misalignment.rows import AtCosine, Crossing, Trials

TINY = work.Profile(
    trials=6, dimension=100, alphas=(4.0,), measured=(0.0, 0.8), lengths=(4,), curve_points=5
)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, TINY)


def test_all_claims_hold_and_are_drawn(rows, said_of):
    comparisons = EXPERIMENT.compare(TINY, rows)
    for claim in EXPERIMENT.claims:
        assert verdict_of([c for c in comparisons if c.claim == claim.name]) == HOLDS
    words = said_of(EXPERIMENT, TINY, rows)
    assert "cross at the cosine 0.194" in words["result"]
    assert "with finite data at 0." in words["result"]


def _mirrored(value):
    """Return the value mirrored at 0.3."""
    return dataclasses.replace(value, value=0.6 - value.value)


def _wrong_crossing(row):
    cosine = dataclasses.replace(row.cosine, value=1 - row.cosine.value)
    return dataclasses.replace(row, cosine=cosine, pooled=_mirrored(row.pooled))


def _wrong_error(row):
    return dataclasses.replace(row, test_error=_mirrored(row.test_error))


@pytest.mark.parametrize(
    ("chosen", "wrong", "claim"),
    [
        (lambda r: isinstance(r, Crossing), _wrong_crossing, "misaligned-attention-loses"),
        (
            lambda r: isinstance(r, Trials) and r.model == "attention",
            _wrong_error,
            "crossing-at-finite-load",
        ),
        (
            lambda r: isinstance(r, AtCosine) and r.length == 4 and math.isinf(r.alpha1),
            _wrong_error,
            "residual-error-falls-with-alignment",
        ),
    ],
)
def test_a_wrong_number_fails(rows, chosen, wrong, claim):
    bad = [wrong(row) if chosen(row) else row for row in rows]
    found = EXPERIMENT.compare(TINY, bad)
    assert FAILS in {c.verdict for c in found if c.claim == claim}
