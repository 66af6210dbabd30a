"""Tokens of a covariance, with the ends of each change."""

import numpy as np
import pytest

from sparsetoken.experiments.core.claims import FAILS, HOLDS
from sparsetoken.experiments.token_covariance import SHIFTS, problem_at


def test_the_theory_of_isotropic_tokens_fails(rows, verdict, changed):
    def flat(row):
        if row["change"] in SHIFTS:
            return row
        isotropic = rows.where("theory", to=0.0).beside(row, "change", "classifier")
        return row.but(value=isotropic.value)

    isotropic = changed(rows, flat, series="theory")
    assert verdict(isotropic, "covariance-learned-error") == FAILS
    for claim in ("shared-effects", "whitening", "shifted-test-law"):  # two compare measurements
        assert verdict(isotropic, claim) == HOLDS


def test_whitened_tokens_are_isotropic_and_keep_the_signal_to_noise_ratio():
    plain = problem_at("decay", 0.8, "attention", 50)
    whitened = problem_at("decay", 0.8, "whitened", 50)
    np.testing.assert_array_equal(whitened.tokens.within, 1.0)
    signal = plain.strength * plain.tokens.signal
    ratio = np.sqrt(np.sum(signal**2 / plain.tokens.within))
    assert whitened.strength == pytest.approx(ratio)
    assert plain.strength == pytest.approx(5.0)
