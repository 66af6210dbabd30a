"""Bags of digits and of textures: the predicted curve beside real bags."""

import numpy as np
import pytest

from sparsetoken.experiments.core.bag_sets import source
from sparsetoken.experiments.core.claims import BY_EXPERIMENT, verdict_of
from sparsetoken.experiments.real_tokens import EXPERIMENT, features


def test_predictions_are_near_real_bags(rows, sizes):
    comparisons = EXPERIMENT.compared(sizes, rows)
    assert verdict_of(comparisons) == BY_EXPERIMENT
    # Four trials of 500 bags are known to about 0.012; features are not quite Gaussian.
    assert max(EXPERIMENT.words(sizes, rows, comparisons)["mean_gap"].values()) < 0.025


def test_a_theory_that_is_off_shows(rows, sizes, changed):
    wrong = changed(rows, lambda row: row.but(value=0.25), series="theory")
    assert max(EXPERIMENT.words(sizes, wrong, [])["mean_gap"].values()) > 0.05


@pytest.mark.parametrize("kind", ["digits", "textures"])
def test_positive_bags_hold_one_wanted_token(kind):
    others, wanted, query = source(kind)
    rng = np.random.default_rng(0)
    means = features(kind, 5, "pooled", np.array([1, -1] * 2000), rng)
    gap = (means[::2].mean(axis=0) - means[1::2].mean(axis=0)) @ query
    expected = (wanted.mean(axis=0) - others.mean(axis=0)) @ query / 5
    # The score of a token has variance 1, so that of 2000 mean tokens is known to 0.01.
    assert gap == pytest.approx(expected, abs=0.06)
