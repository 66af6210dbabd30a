"""Samples of two classes, of which one is shifted."""

import numpy as np


def problem(n, m, seed=0, shift=1.5, offset=0.0):
    """Return n samples of m features, three in ten positive, and their labels."""
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.3, 1, -1)
    F = rng.standard_normal((n, m)) / 2 + offset
    F[:, 0] += shift * (y == 1)
    return F, y
