"""Strength and number of informative tokens: unbiased, covered, and blind to units."""

import numpy as np
import pytest

from sparsetoken.advice.inputs import read_labelled
from sparsetoken.advice.scales import Scales, effective_dimension, sample_of_tokens
from sparsetoken.advice.signal import _squared_distance, bootstrap_weights, estimate_signal

DRAWS = 20


def _estimate(bags, y, n_boot=60, seed=0):
    data = read_labelled(bags, y)
    rng = np.random.default_rng(seed)
    weights = bootstrap_weights(data.positive, n_boot, rng)
    length = round(float(np.median(data.bags.sizes)))
    return estimate_signal(data, Scales.of(data), weights, length, rng)


def _interval(values):
    return np.nanpercentile(values[1:], [5, 95])


@pytest.fixture(scope="module")
def drawn(draw):
    """Estimates from independent draws of one problem: L = 10, R = 2, theta = 3."""
    return [_estimate(*draw(10, 2, 3.0, 0.4, 40, 300, seed), seed=seed) for seed in range(DRAWS)]


@pytest.mark.parametrize(
    ("name", "truth", "scale"), [("strength", 3.0, 1), ("share", 2.0, 10), ("shift", 0.6, 1)]
)
def test_estimates_are_centred_and_covered(drawn, name, truth, scale):
    columns = [scale * getattr(found, name) for found in drawn]
    values = np.array([column[0] for column in columns])
    # A ratio of moments is off by a few percent at this n; 4 standard errors beside it.
    slack = 0.03 * truth + 4 * values.std(ddof=1) / np.sqrt(DRAWS)
    assert abs(values.mean() - truth) < slack
    inside = [low <= truth <= high for low, high in map(_interval, columns)]
    # Of 20 intervals of 90%, fewer than 14 hold the truth with chance 0.002.
    assert sum(inside) >= 14


def test_intervals_are_as_wide_as_the_scatter(drawn):
    for name in ("strength", "share", "shift"):
        scatter = np.std([getattr(found, name)[0] for found in drawn], ddof=1)
        widths = [np.diff(_interval(getattr(found, name)))[0] for found in drawn]
        # 3.29 standard deviations for normals; 20 draws know the scatter to 16%, twice that
        # and a bootstrap that is too wide by up to a quarter are allowed.
        assert 0.65 < np.median(widths) / (3.29 * scatter) < 1.7


def test_without_signal_the_evidence_is_noise(draw):
    found = []
    for seed in range(DRAWS):
        bags, y = draw(10, 2, 0.0, 0.5, 40, 120, seed)
        found.append(_estimate(bags, y, seed=seed).evidence)
    # Mean 0 and standard deviation 1; 20 draws know the latter to 16%, more for its skewed law.
    assert abs(np.mean(found)) < 4 / np.sqrt(DRAWS)
    assert 0.5 < np.std(found) < 1.6


def test_squared_distance_leaves_out_pairs_of_a_bag_with_itself():
    rng = np.random.default_rng(3)
    means, positive = rng.standard_normal((9, 4)), np.arange(9) % 2 == 0
    weights = np.stack([np.ones(9, int), rng.integers(0, 4, 9)])
    expected = []
    for w in weights:
        within = []
        for rows in (np.flatnonzero(positive), np.flatnonzero(~positive)):
            pairs = [(i, j) for i in rows for j in rows if i != j]
            total = sum(w[i] * w[j] * means[i] @ means[j] for i, j in pairs)
            within.append(total / sum(w[i] * w[j] for i, j in pairs))
        centre = [np.average(means[r], axis=0, weights=w[r]) for r in (positive, ~positive)]
        expected.append(sum(within) - 2 * centre[0] @ centre[1])
    assert _squared_distance(means, positive, weights) == pytest.approx(expected, rel=1e-12)


def test_estimates_do_not_depend_on_units_order_or_constant_columns(draw):
    bags, y = draw(6, 2, 3.0, 0.5, 12, 120, 1)
    rng = np.random.default_rng(2)
    plain = _estimate(bags, y)
    moved = bags * rng.uniform(0.01, 100, 12) + rng.uniform(-50, 50, 12)
    wider = np.concatenate([moved, np.full((120, 6, 1), 7.0)], axis=2)
    order = wider[:, rng.permutation(6)]
    for other in (moved, wider, order):
        found = _estimate(other, y)
        assert found.evidence == pytest.approx(plain.evidence, rel=1e-8)
        for name in ("shift", "share", "strength"):
            # Rounding of columns that were moved by up to 5000 times their scale.
            assert getattr(found, name) == pytest.approx(getattr(plain, name), rel=1e-8)


def test_ragged_bags_are_read_like_even_ones(draw):
    bags, y = draw(12, 3, 4.0, 0.5, 20, 400, 4)
    rng = np.random.default_rng(0)
    ragged = [bag[: rng.integers(9, 13)] for bag in bags]
    found = _estimate(ragged, y)
    low, high = _interval(found.share)
    assert low < 0.25 < high  # tokens are cut at random: the share stays 3/12 on average
    assert found.strength[0] == pytest.approx(4.0, rel=0.15)


@pytest.mark.parametrize(("N", "d"), [(4000, 30), (150, 200)])
def test_effective_dimension_of_known_spectra(N, d):
    rng = np.random.default_rng(5)
    spectrum = np.linspace(0.2, 3.0, d)
    truth = spectrum.sum() ** 2 / np.square(spectrum).sum()
    found = effective_dimension(rng.standard_normal((N, d)) * np.sqrt(spectrum))
    # Relative error of the squares is about 2/sqrt(N) with few columns, 2/N with many.
    assert found == pytest.approx(truth, rel=0.08)
    assert effective_dimension(rng.standard_normal((N, d))) == pytest.approx(d, rel=0.05)


def test_a_column_that_hardly_varies_in_negative_bags_keeps_a_sensible_scale():
    rng = np.random.default_rng(6)
    bags = rng.standard_normal((60, 5, 3))
    y = np.arange(60) % 2
    bags[y == 0, :, 2] = 0.0
    data = read_labelled(bags, y)
    scales = Scales.of(data)
    assert scales.scale[2] == pytest.approx(0.5 * bags[..., 2].std(), rel=1e-6)
    assert sample_of_tokens(data, scales, rng).dimension == 3
