"""What the best weights can do, end to end on a tiny profile; a wrong number fails."""

import math

import numpy as np
import pytest

from sparsetoken.experiments.core.claims import FAILS, HOLDS
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.experiments.representation import EXPERIMENT, LEVEL, score

BUILT = {
    "elementwise_erf": lambda L: 4 + 2 * L**0.25,
    "elementwise_sigmoid": lambda L: 4 + L**0.5,
    "elementwise_tanh": lambda L: 4 + 2 * L**0.25,
    "elementwise_linear": lambda L: 4 + 2 * L**0.25,
    "elementwise_exp": lambda L: 4 + math.sqrt(2 * math.log(L)),
}
"""Curves that cost most, built from their laws here."""

SMALL = dict(
    lengths=(8, 64, 512),
    longest=512,
    curve_length=64,
    places=((32, 1, 3.5), (32, 2, 3.0)),
    strengths=(2.0, 5.0),
    samples=3200,
    tokens=500000,
)


@pytest.fixture(scope="module")
def rows(sizes):
    made = []
    for piece in EXPERIMENT.work(sizes, 0):
        name, L = piece.arguments[:2]
        if name not in BUILT:
            made += piece.run()
        elif piece.work.__name__ == "find_critical":
            at = {"curve": name, "length": L, "informative": 1}
            made.append(Row("theory", "strength", BUILT[name](L), at=at))
        else:
            places = [{"curve": name, "length": L, "strength": theta} for theta in sizes.strengths]
            made += [Row("line", "test_error", 0.4, at=at) for at in places]
    return Rows(made)


def test_claims_figures_and_words(rows, sizes, said_of):
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert {c.claim for c in comparisons} == {c.name for c in EXPERIMENT.claims}
    for name in ("linear-needs-sqrt-length", "bayes-boundary", "bayes-is-the-floor"):
        assert {c.verdict for c in comparisons if c.claim == name} == {HOLDS}
    words = said_of(EXPERIMENT, sizes, rows)
    assert "L = 512" in words["Found"]
    pooled = rows.one("theory", "strength", curve="pooled", length=512)
    assert f"{pooled.value:.0f} for pooling" in words["Found"]
    assert "k = 1" in words["Setting"]


def test_fresh_samples_have_the_error_level_at_the_critical_strength(rows, sizes):
    simulated = rows.where("simulated", group="critical")
    assert set(simulated.distinct("length")) == set(sizes.lengths)
    for row in simulated:
        # Shares of 16 blocks: five of their standard errors.
        assert abs(row.value - LEVEL) < 5 * row.error
    comparisons = [
        c for c in EXPERIMENT.compared(sizes, rows) if c.where.startswith("at the critical")
    ]
    assert {c.verdict for c in comparisons} == {HOLDS}


def test_the_limit_of_infinite_sharpness_looks_at_the_largest_token():
    t = np.random.default_rng(0).standard_normal((50, 4))
    for name in ("attention", "elementwise_exp"):
        np.testing.assert_array_equal(score(name, t, math.inf), t.max(axis=1))


def test_fresh_samples_meet_the_prediction(rows, sizes):
    comparisons = [c for c in EXPERIMENT.compared(sizes, rows) if c.claim == "oracle-error"]
    assert {c.verdict for c in comparisons} == {HOLDS}
    assert {c.curve for c in comparisons} >= {"attention", "pooled", "bayes"}


@pytest.mark.parametrize(
    ("claim", "curve", "factor"),
    [
        ("bayes-is-the-floor", "bayes", 1.1),
        ("linear-needs-sqrt-length", "pooled", None),
        ("bayes-boundary", "attention", 1.1),
        ("attention-fixed-sharpness", "attention_fixed", None),
    ],
)
def test_wrong_numbers_fail(rows, sizes, changed, claim, curve, factor):
    def wrong(row):
        return row.but(value=row.value * (factor or np.log(row["length"]) / 3))

    moved = changed(rows, wrong, quantity="strength", curve=curve)
    comparisons = EXPERIMENT.compared(sizes, moved)
    assert FAILS in {c.verdict for c in comparisons if c.claim == claim}


def test_a_wrong_error_fails(rows, sizes, changed):
    wanted = {"series": "simulated", "group": "chosen", "curve": "attention"}
    moved = changed(rows, lambda row: row.but(value=1.2 * row.value), **wanted)
    of_claim = [c for c in EXPERIMENT.compared(sizes, moved) if c.claim == "oracle-error"]
    assert {c.verdict for c in of_claim if c.curve == "attention"} == {FAILS}
