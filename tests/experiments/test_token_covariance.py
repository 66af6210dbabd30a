"""Tokens of a covariance, with the ends of each change."""

import dataclasses

import numpy as np
import pytest

from sparsetoken.experiments.claims import FAILS, HOLDS, verdict_of
from sparsetoken.experiments.rows import one
from sparsetoken.experiments.token_covariance import EXPERIMENT, work
from sparsetoken.experiments.token_covariance.rows import Theory

SMALL = work.Profile(dimension=200, trials=8, between=(0.0, 1.0), decay=(0.0, 0.5))


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, SMALL)


def verdicts(rows):
    found = EXPERIMENT.compare(SMALL, rows)
    return {
        claim.name: verdict_of(c for c in found if c.claim == claim.name)
        for claim in EXPERIMENT.claims
    }


def test_the_claims_hold_and_are_drawn(rows, said_of):
    assert set(verdicts(rows).values()) == {HOLDS}
    words = said_of(EXPERIMENT, SMALL, rows)
    assert "d = 200, 8 trials" in words["setting"]
    assert "on whitened tokens" in words["result"]
    assert "Squares: measured with real tokens" in words["token_covariance"]


def test_the_theory_of_isotropic_tokens_fails(rows):
    def flat(row):
        if isinstance(row, Theory):
            isotropic = one(rows, Theory, change=row.change, value=0.0, classifier=row.classifier)
            return dataclasses.replace(row, test_error=isotropic.test_error)
        return row

    found = verdicts([flat(row) for row in rows])
    assert found["covariance-learned-error"] == FAILS
    assert found["shared-effects"] == found["whitening"] == HOLDS  # these compare measurements


def test_whitened_tokens_are_isotropic_and_keep_the_signal_to_noise_ratio():
    plain = work.problem_at("decay", 0.8, "attention", 50)
    whitened = work.problem_at("decay", 0.8, "whitened", 50)
    np.testing.assert_array_equal(whitened.tokens.within, 1.0)
    signal = plain.strength * plain.tokens.signal
    ratio = np.sqrt(np.sum(signal**2 / plain.tokens.within))
    assert whitened.strength == pytest.approx(ratio)
