"""Bags drawn from the sparse-token model, on their own and from other code than the package's."""

import numpy as np
import pytest

import small_fits
from sparsetoken import forecast


@pytest.fixture(autouse=True, scope="module")
def few_trees():
    with small_fits.few_trees():
        yield


@pytest.fixture(scope="session")
def draw():
    """Return a function that draws n bags (n, L, d) and their labels."""

    def drawn(length, informative, strength, rate, d, n, seed):
        rng = np.random.default_rng(seed)
        signal = rng.standard_normal(d)
        signal *= strength / np.linalg.norm(signal)
        labels = (np.arange(n) < round(rate * n)).astype(int)
        bags = rng.standard_normal((n, length, d))
        for i in np.flatnonzero(labels):
            bags[i, rng.choice(length, informative, replace=False)] += signal
        return bags, labels

    return drawn


@pytest.fixture
def two_fits(monkeypatch):
    """Forecasts from two halves, where not even the errors matter."""
    monkeypatch.setattr("sparsetoken.forecasting.pilot._ROUNDS", ((2, 1),))


@pytest.fixture(scope="package")
def clear(draw):
    """Return the forecast of one strong token of eight."""
    bags, y = draw(8, 1, 4.0, 0.5, 20, 80, 0)
    with small_fits.few_trees():
        return forecast(bags, np.where(y == 1, "with", "none"))
