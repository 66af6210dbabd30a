"""Bags with a signal, for all tests of estimators."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

import small_fits
from sparsetoken import BagClassifier
from sparsetoken.bags import Bags, as_bags

Draw = Callable[..., tuple[Bags, np.ndarray]]


@pytest.fixture(autouse=True, scope="module")
def few_trees() -> Iterator[None]:
    with small_fits.few_trees():
        yield


@pytest.fixture(scope="package")
def draw() -> Draw:
    return _draw


@pytest.fixture(scope="package")
def ragged() -> tuple[BagClassifier, Bags, np.ndarray]:
    """Return an average of classifiers, fitted to bags of 2 to 9 tokens."""
    bags, y = _draw(120, sizes=(2, 9))
    with small_fits.few_trees():
        return BagClassifier().fit(bags, y), bags, y


@pytest.fixture(scope="package")
def three() -> tuple[BagClassifier, Bags, np.ndarray]:
    """Return an average of classifiers, fitted to bags of three classes."""
    bags, y = _draw(150, classes=3, sizes=(3, 8), strength=6.0)
    names = np.array(["none", "left", "right"])[y]
    with small_fits.few_trees():
        return BagClassifier().fit(bags, names), bags, names


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
