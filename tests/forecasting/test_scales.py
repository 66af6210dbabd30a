"""Scales of columns and the effective dimension."""

import numpy as np
import pytest

from sparsetoken.forecasting.inputs import read_labelled
from sparsetoken.forecasting.tokens import Scales, effective_dimension, sample_of_tokens


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
