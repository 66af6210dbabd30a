"""Bags drawn from the sparse-token model, on their own and from other code than the package's."""

import numpy as np
import pytest


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
