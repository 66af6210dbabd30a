"""Experiments from work to words, each at a small size; a wrong number fails."""

import math
from collections.abc import Callable
from typing import NamedTuple

import pytest

from sparsetoken.experiments import EXPERIMENTS
from sparsetoken.experiments.core.claims import FAILS, HOLDS, verdict_of


class Case(NamedTuple):
    """Small sizes, what the words say, and numbers whose change makes a claim fail."""

    small: dict
    words: tuple[tuple[str, str], ...]
    wrong: tuple[tuple[str, dict, Callable], ...]
    engine: str | None = None  # of the comparisons that hold at this size; all by default


CASES = {
    "alignment": Case(
        dict(alphas=(0.5, 1.0), tensors=(1.0, 20, 3), curve_points=3),
        (
            ("Setting", "d = 20, 3 trials"),
            ("Found", "The measured cosine rises from"),
            ("Figure: alignment", "Squares: the same experiment with real tensors"),
        ),
        (
            ("query-alignment", {"series": "simulated"}, lambda v: 2.0),
            ("steps-set-sharpness-only", {"quantity": "moved cosine"}, lambda v: 1e-6),
        ),
        engine="computed",
    ),
    "anti-alignment": Case(
        dict(cells=5, trials=4, dimension=300, rates=(0.2,), alpha0s=(2.0,), factors=(0.4, 2.0)),
        (("Found", "turns away"), ("Setting", "at 0.4, 2 times the boundary")),
        (
            ("", {"series": "simulated"}, lambda v: -v),
            ("", {"series": "boundary", "panel": "rate"}, lambda v: 2 * v),
            ("", {"series": "boundary", "panel": "small"}, lambda v: 1.01 * v),
        ),
    ),
    "misalignment": Case(
        dict(
            trials=6, dimension=100, alphas=(4.0,), cosines=(0.0, 0.8), lengths=(4,), curve_points=5
        ),
        (("Found", "cross at the cosine 0.194"), ("Found", "with finite data at 0.")),
        (
            ("misaligned-attention-loses", {"series": "crossing"}, lambda v: 0.6 - v),
            (
                "crossing-at-finite-load",
                {"series": "simulated", "model": "attention"},
                lambda v: 0.6 - v,
            ),
            (
                "residual-error-falls-with-alignment",
                {"series": "theory", "length": 4, "alpha1": math.inf, "model": "attention"},
                lambda v: 0.6 - v,
            ),
        ),
    ),
    "rates": Case(
        dict(
            alphas=(5.0,), weights=50, fits=4, line_points=7, alpha0s=(10.0,), dimension=100,
            trials=5,
        ),
        (("Found", "the cosine is negative for anti-aligned"), ("Setting", "50 weights")),
        (
            (
                "alignment-rate",
                {"series": "theory", "quantity": "misalignment"},
                lambda v: 1.2 * v,
            ),
            (
                "infinite-data-rate",
                {"series": "theory", "quantity": "excess", "curve": "attention"},
                lambda v: 1.2 * v,
            ),
            (
                "vectorized-and-pooled-share-the-limit",
                {"series": "theory", "quantity": "test_error", "curve": "vectorized"},
                lambda v: 1.2 * v,
            ),
        ),
        engine="computed",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def done(sizes_of, rows_of):
    """Return sizes and rows of an experiment, which are made once."""
    kept = {}

    def of(name):
        if name not in kept:
            sizes = sizes_of(EXPERIMENTS[name], **CASES[name].small)
            kept[name] = sizes, rows_of(EXPERIMENTS[name], sizes)
        return kept[name]

    return of


@pytest.mark.parametrize("name", CASES)
def test_claims_hold_and_the_words_say_so(name, done, said_of):
    experiment, case = EXPERIMENTS[name], CASES[name]
    sizes, rows = done(name)
    comparisons = experiment.compared(sizes, rows)
    assert {c.claim for c in comparisons} == {claim.name for claim in experiment.claims}
    held = [c for c in comparisons if case.engine in (None, c.engine)]
    assert held
    assert {c.verdict for c in held} == {HOLDS}
    words = said_of(experiment, sizes, rows)
    for part, said in case.words:
        assert said in words[part]


@pytest.mark.parametrize(
    ("name", "claim", "chosen", "change"),
    [(name, *wrong) for name, case in CASES.items() for wrong in case.wrong],
)
def test_a_wrong_number_fails(name, claim, chosen, change, done, changed):
    sizes, rows = done(name)
    wrong = changed(rows, lambda row: row.but(value=change(row.value)), **chosen)
    comparisons = EXPERIMENTS[name].compared(sizes, wrong)
    assert verdict_of(c for c in comparisons if claim in ("", c.claim)) == FAILS
