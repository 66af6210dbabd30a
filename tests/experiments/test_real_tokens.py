"""Bags of digits and of textures: the predicted curve beside real bags."""

import dataclasses

import numpy as np
import pytest

from sparsetoken.experiments.claims import BY_EXPERIMENT, verdict_of
from sparsetoken.experiments.real_tokens import EXPERIMENT, work
from sparsetoken.experiments.real_tokens.rows import Theory

SMALL = work.Profile((80, 320), trials=4, test_bags=500, law_bags=2000)


@pytest.fixture(scope="module")
def rows(rows_of):
    return rows_of(EXPERIMENT, SMALL)


def test_predictions_are_near_real_bags(rows, said_of):
    found = EXPERIMENT.compare(SMALL, rows)
    assert verdict_of(found) == BY_EXPERIMENT
    numbers = EXPERIMENT.summary(SMALL, rows, found)
    # Four trials of 500 bags are known to about 0.012; features are not quite Gaussian.
    assert max(numbers["mean_gap"].values()) < 0.025
    words = said_of(EXPERIMENT, SMALL, rows)
    assert "one digit is a 9" in words["setting"]
    assert "(digits, L = 50, attention)" in words["result"]


def test_a_theory_that_is_off_shows(rows):
    wrong = [
        dataclasses.replace(row, test_error=dataclasses.replace(row.test_error, value=0.25))
        if isinstance(row, Theory)
        else row
        for row in rows
    ]
    found = EXPERIMENT.compare(SMALL, wrong)
    assert max(EXPERIMENT.summary(SMALL, wrong, found)["mean_gap"].values()) > 0.05


@pytest.mark.parametrize("kind", ["digits", "textures"])
def test_positive_bags_hold_one_wanted_token(kind):
    others, wanted, query = work.source(kind)
    rng = np.random.default_rng(0)
    means = work.features(kind, 5, "pooled", np.array([1, -1] * 2000), rng)
    gap = (means[::2].mean(axis=0) - means[1::2].mean(axis=0)) @ query
    expected = (wanted.mean(axis=0) - others.mean(axis=0)) @ query / 5
    # The score of a token has variance 1, so that of 2000 mean tokens is known to 0.01.
    assert gap == pytest.approx(expected, abs=0.06)
