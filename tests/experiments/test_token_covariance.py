"""Tokens of a covariance, with the ends of each change."""

import numpy as np
import pytest

from sparsetoken.experiments.core.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.token_covariance import EXPERIMENT, SHIFTS, problem_at


def verdicts(sizes, rows):
    comparisons = EXPERIMENT.compared(sizes, rows)
    return {
        claim.name: verdict_of(c for c in comparisons if c.claim == claim.name)
        for claim in EXPERIMENT.claims
    }


def test_the_theory_of_isotropic_tokens_fails(rows, sizes, changed):
    def flat(row):
        if row["change"] in SHIFTS:
            return row
        isotropic = rows.where("theory", to=0.0).beside(row, "change", "classifier")
        return row.but(value=isotropic.value)

    judged = verdicts(sizes, changed(rows, flat, series="theory"))
    assert judged["covariance-learned-error"] == FAILS
    assert judged["shared-effects"] == judged["whitening"] == HOLDS  # these compare measurements
    assert judged["shifted-test-law"] == HOLDS


def test_whitened_tokens_are_isotropic_and_keep_the_signal_to_noise_ratio():
    plain = problem_at("decay", 0.8, "attention", 50)
    whitened = problem_at("decay", 0.8, "whitened", 50)
    np.testing.assert_array_equal(whitened.tokens.within, 1.0)
    signal = plain.strength * plain.tokens.signal
    ratio = np.sqrt(np.sum(signal**2 / plain.tokens.within))
    assert whitened.strength == pytest.approx(ratio)
    assert plain.strength == pytest.approx(5.0)
