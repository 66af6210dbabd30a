"""What the best weights can do, end to end on a tiny profile; a wrong number fails."""

import dataclasses
import math

import numpy as np
import pytest

from sparsetoken.experiments.claims import FAILS, HOLDS
from sparsetoken.experiments.representation import EXPERIMENT, work
from sparsetoken.experiments.representation.rows import (
    AtCritical,
    BestError,
    Critical,
    FreshSamples,
)
from sparsetoken.experiments.rows import Predicted, select

PLACES = ((32, 1, 3.5), (32, 2, 3.0))
TINY = work.Profile((8, 64, 512), (1,), 64, (2.0, 5.0), PLACES, 3200, 500_000, 512)

BUILT = {
    "elementwise_erf": lambda L: 4 + 2 * L**0.25,
    "elementwise_sigmoid": lambda L: 4 + L**0.5,
    "elementwise_tanh": lambda L: 4 + 2 * L**0.25,
    "elementwise_linear": lambda L: 4 + 2 * L**0.25,
    "elementwise_exp": lambda L: 4 + math.sqrt(2 * math.log(L)),
}
"""Curves that cost most, built from their laws here."""


@pytest.fixture(scope="module")
def rows():
    found = []
    for job in EXPERIMENT.jobs(TINY, 0):
        name = job.arguments[0]
        if name not in BUILT:
            found += job.run()
        elif job.work is work.find_critical:
            L = job.arguments[1]
            found.append(Critical(name, L, 1, Predicted(BUILT[name](L))))
        else:
            found += [BestError(name, 64, theta, Predicted(0.4)) for theta in TINY.strengths]
    return found


def test_claims_figures_and_words(rows, said_of):
    comparisons = EXPERIMENT.compare(TINY, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    for name in ("linear-needs-sqrt-length", "bayes-boundary", "bayes-is-the-floor"):
        assert {c.verdict for c in comparisons if c.claim == name} == {HOLDS}
    words = said_of(EXPERIMENT, TINY, rows)
    assert "L = 512" in words["result"]
    pooled = select(rows, Critical, curve="pooled")[-1]
    assert f"{pooled.strength.value:.0f} by pooling" in words["result"]
    assert "k = 1" in words["setting"]


def test_fresh_samples_have_the_error_level_at_the_critical_strength(rows):
    found = select(rows, AtCritical)
    assert {row.length for row in found} == set(TINY.lengths)
    for row in found:
        # Shares of 16 blocks: five of their standard errors.
        assert abs(row.measured.value - work.LEVEL) < 5 * row.measured.error
    comparisons = [c for c in EXPERIMENT.compare(TINY, rows) if c.group == "critical"]
    assert {c.verdict for c in comparisons} == {HOLDS}


def test_the_limit_of_infinite_sharpness_looks_at_the_largest_token():
    t = np.random.default_rng(0).standard_normal((50, 4))
    for name in ("attention", "elementwise_exp"):
        np.testing.assert_array_equal(work._score(name, t, math.inf), t.max(axis=1))


def test_fresh_samples_meet_the_prediction(rows):
    found = [c for c in EXPERIMENT.compare(TINY, rows) if c.claim == "oracle-error"]
    assert {c.verdict for c in found} == {HOLDS}
    assert {c.curve for c in found} >= {"attention", "pooled", "bayes"}


@pytest.mark.parametrize(
    ("claim", "curve", "factor"),
    [
        ("bayes-is-the-floor", "bayes", 1.1),
        ("linear-needs-sqrt-length", "pooled", None),
        ("bayes-boundary", "attention", 1.1),
        ("attention-fixed-sharpness", "attention_fixed", None),
    ],
)
def test_wrong_numbers_fail(rows, claim, curve, factor):
    def wrong(row):
        if not (isinstance(row, Critical) and row.curve == curve):
            return row
        value = row.strength.value * (factor or np.log(row.length) / 3)
        return dataclasses.replace(row, strength=dataclasses.replace(row.strength, value=value))

    found = EXPERIMENT.compare(TINY, [wrong(row) for row in rows])
    assert FAILS in {c.verdict for c in found if c.claim == claim}


def test_a_wrong_error_fails(rows):
    def wrong(row):
        if not (isinstance(row, FreshSamples) and row.curve == "attention"):
            return row
        measured = dataclasses.replace(row.measured, value=1.2 * row.measured.value)
        return dataclasses.replace(row, measured=measured)

    found = EXPERIMENT.compare(TINY, [wrong(row) for row in rows])
    of_claim = [c for c in found if c.claim == "oracle-error"]
    assert {c.verdict for c in of_claim if c.curve == "attention"} == {FAILS}


def test_a_job_is_repeatable():
    again = [work.draw_fresh(16, 1, 3.0, 320, 4) for _ in range(2)]
    assert again[0] == again[1]
