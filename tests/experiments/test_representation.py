"""What the best weights can do, end to end on a tiny profile; a wrong number fails.

Equations: growth-fit.
"""

import math

import numpy as np
import pytest

from sparsetoken.experiments.core.claims import FAILS, HOLDS
from sparsetoken.experiments.core.rows import Row, Rows
from sparsetoken.experiments.representation import EXPERIMENT, best_law, score

pytestmark = pytest.mark.slow

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
    names = {"linear-needs-sqrt-length", "bayes-boundary", "bayes-is-the-floor", "oracle-error"}
    critical = [c for c in comparisons if c.where.startswith("at the critical")]
    assert {c.x for c in critical} == set(sizes.lengths)
    assert {c.verdict for c in critical} == {HOLDS}
    assert {c.verdict for c in comparisons if c.claim in names} == {HOLDS}
    words = said_of(EXPERIMENT, sizes, rows)
    assert "L = 512" in words["Found"]
    pooled = rows.one("theory", "strength", curve="pooled", length=512)
    assert f"{pooled.value:.0f} for pooling" in words["Found"]
    assert "k = 1" in words["Setting"]


def test_the_limit_of_infinite_sharpness_looks_at_the_largest_token():
    t = np.random.default_rng(0).standard_normal((50, 4))
    for name in ("attention", "elementwise_exp"):
        np.testing.assert_array_equal(score(name, t, math.inf), t.max(axis=1))


@pytest.mark.parametrize(
    ("claim", "curve", "factor"),
    [
        ("bayes-is-the-floor", "bayes", 1.1),
        ("linear-needs-sqrt-length", "pooled", None),
        ("bayes-boundary", "attention", 1.1),
        ("attention-fixed-sharpness", "attention_fixed", None),
        ("oracle-error", "attention", 1.2),
    ],
)
def test_wrong_numbers_fail(rows, verdict, changed, claim, curve, factor):
    def wrong(row):
        return row.but(value=row.value * (factor or np.log(row["length"]) / 3))

    wanted = {"quantity": "strength"}
    if claim == "oracle-error":
        wanted = {"series": "simulated", "group": "chosen"}
    assert verdict(changed(rows, wrong, curve=curve, **wanted), claim) == FAILS


@pytest.mark.parametrize("law", ["sqrt(2 log L)", "log L", "L^(1/4)", "sqrt(L)"])
def test_growth_laws_are_recovered(law):
    L = np.array([8.0, 64.0, 512.0, 4096.0, 32768.0])
    laws = {"sqrt(2 log L)": np.sqrt(2 * np.log(L)), "log L": np.log(L), "L^(1/4)": L**0.25}
    strengths = 1.5 + 0.7 * (laws | {"sqrt(L)": np.sqrt(L)})[law]
    line = [
        Row("theory", "strength", b, at={"length": a}) for a, b in zip(L, strengths, strict=True)
    ]
    assert best_law(Rows(line)) == law
