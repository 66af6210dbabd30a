"""Figures are drawn without a screen, and closed."""

from collections.abc import Iterator

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")


@pytest.fixture(autouse=True)
def _closed_figures() -> Iterator[None]:
    from matplotlib import pyplot

    yield
    pyplot.close("all")


@pytest.fixture
def ragged() -> tuple[list[np.ndarray], np.ndarray]:
    """Bags of 1 to 9 tokens of d = 4; the first token of every second bag is moved by 3."""
    rng = np.random.default_rng(5)
    bags = [rng.standard_normal((size, 4)) for size in rng.integers(1, 10, 60)]
    labels = np.arange(60) % 2
    for bag in bags[1::2]:
        bag[0] += 3.0
    return bags, labels


NO_FORMULAS = ["$\\frac{$", "$x", "$x$ and $y", "\\$", "{", "\ud800"]


@pytest.fixture(params=NO_FORMULAS, ids=ascii)
def text(request: pytest.FixtureRequest) -> str:
    """Return a name that someone gives, which matplotlib would take for a formula, or refuse."""
    return request.param
