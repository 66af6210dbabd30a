"""Bags with a signal, for all tests of estimators."""

import functools
from collections.abc import Callable

import numpy as np
import pytest

from sparsetoken import BagClassifier, BagRegressor
from sparsetoken.bags import Bags, as_bags
from sparsetoken.estimators import PooledForestClassifier

Draw = Callable[..., tuple[Bags, np.ndarray]]


FEW = functools.partial(PooledForestClassifier, n_estimators=10)


@pytest.fixture(autouse=True)
def _few_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """A tenth of the trees of an average, which take most of the time of a small fit."""
    monkeypatch.setattr(BagClassifier, "_kinds", BagClassifier._kinds._replace(forest=FEW))
    monkeypatch.setattr(BagRegressor._kinds.forest, "n_estimators", 10)


@pytest.fixture(scope="session")
def draw() -> Draw:
    return _draw


def _draw(
    n: int = 60,
    *,
    seed: int = 0,
    d: int = 4,
    sizes: tuple[int, int] = (1, 9),
    strength: float = 3.0,
    classes: int = 2,
    dtype: type = np.float64,
) -> tuple[Bags, np.ndarray]:
    """Return bags and their classes: class c > 0 has one token shifted along column c - 1."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % classes
    bags = [1 + rng.standard_normal((L, d)) for L in rng.integers(*sizes, n, endpoint=True)]
    for bag, label in zip(bags, labels, strict=True):
        if label:
            bag[rng.integers(len(bag)), label - 1] += strength
    return as_bags([bag.astype(dtype) for bag in bags]), labels
