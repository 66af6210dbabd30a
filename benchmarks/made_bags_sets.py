"""Bags made here: sizes, spreads, extremes, products, molecules, cells, wines, digits; noise."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn import datasets

Draw = tuple[list[np.ndarray], np.ndarray]
TEST = 1000  # bags


def _labels(n: int, rng: np.random.Generator) -> np.ndarray:
    return rng.integers(0, 2, n)


def _tokens(y: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    return [rng.standard_normal((rng.integers(8, 20), 10)) for _ in y]


def sizes(n: int, rng: np.random.Generator) -> Draw:
    """Bags of one class are larger; the tokens are noise."""
    y = _labels(n, rng)
    L = np.maximum(2, np.round(np.exp(2.6 + 0.4 * (2 * y - 1) + 0.45 * rng.standard_normal(n))))
    return [rng.standard_normal((size, 10)) for size in L.astype(int)], y


def spreads(n: int, rng: np.random.Generator) -> Draw:
    """Two columns of one class vary more."""
    y = _labels(n, rng)
    bags = _tokens(y, rng)
    for bag, label in zip(bags, y, strict=True):
        bag[:, :2] *= 1 + 0.6 * label
    return bags, y


def minima(n: int, rng: np.random.Generator) -> Draw:
    """One token of one class has a very small value in one column."""
    y = _labels(n, rng)
    bags = _tokens(y, rng)
    for bag, label in zip(bags, y, strict=True):
        if label:
            bag[0, 0] = -4 + 0.5 * rng.standard_normal()
    return bags, y


def products(n: int, rng: np.random.Generator) -> Draw:
    """The label is the sign of a product of two columns of the mean."""
    shift = rng.standard_normal((n, 10))
    y = (shift[:, 0] * shift[:, 1] > 0).astype(int)
    return [bag + one for bag, one in zip(_tokens(y, rng), shift, strict=True)], y


def friedman(n: int, rng: np.random.Generator) -> Draw:
    """Friedman's first function of the mean token."""
    u = rng.random((n, 10))
    f = 10 * np.sin(np.pi * u[:, 0] * u[:, 1]) + 20 * (u[:, 2] - 0.5) ** 2
    y = (f + 10 * u[:, 3] + 5 * u[:, 4] + rng.standard_normal(n) > 14.4).astype(int)
    return [0.5 * bag + 2 * one for bag, one in zip(_tokens(y, rng), u, strict=True)], y


def atoms(n: int, rng: np.random.Generator) -> Draw:
    """Molecules of rings and elements; the label rests on sizes and counts."""
    bags, labels = [], []
    rates = [0.42, 0.33, 0.08, 0.07, 0.04, 0.03, 0.02, 0.01]
    for _ in range(n):
        rings = rng.integers(1, 5)
        kind = rng.choice(8, 6 * rings + rng.integers(2, 12), p=rates)
        charge = 0.15 * kind - 0.2 + 0.1 * rng.standard_normal(len(kind))
        bags.append(np.column_stack([np.eye(8)[kind], charge, rng.integers(0, 4, len(kind))]))
        odds = 1.2 * (rings - 2.5) + 1.5 * (np.sum(kind == 2) > 2) - (np.sum(kind == 4) > 1)
        labels.append(int(rng.random() < 1 / (1 + np.exp(-1.5 * odds))))
    return bags, np.array(labels)


def _of_rows(
    X: np.ndarray, kinds: np.ndarray, L: int, rng: np.random.Generator, chances: np.ndarray
) -> np.ndarray:
    """Return L rows of X, each of a kind drawn by chances."""
    drawn = rng.choice(len(chances), L, p=chances)
    return np.stack([X[rng.choice(np.flatnonzero(kinds == kind))] for kind in drawn])


def _rows(name: str, part: int) -> tuple[np.ndarray, np.ndarray]:
    """Return every second row of a table of scikit-learn, so that tests see other rows."""
    data = getattr(datasets, f"load_{name}")()
    order = np.random.default_rng(5).permutation(len(data.target))[part::2]
    return data.data.astype(float)[order], data.target[order]


def cells(n: int, rng: np.random.Generator, part: int) -> Draw:
    """One cell of a tumour among cells of none, in bags of one class."""
    X, target = _rows("breast_cancer", part)
    y = _labels(n, rng)
    bags = [_of_rows(X, target, rng.integers(8, 20), rng, np.array([0.0, 1.0])) for _ in y]
    for bag, label in zip(bags, y, strict=True):
        if label:
            bag[0] = X[rng.choice(np.flatnonzero(target == 0))]
    return bags, y


def wines(n: int, rng: np.random.Generator, part: int) -> Draw:
    """Mixtures of three wines in slightly other shares."""
    X, target = _rows("wine", part)
    y = _labels(n, rng)
    shares = np.array([[0.3, 0.4, 0.3], [0.4, 0.3, 0.3]])
    return [_of_rows(X, target, rng.integers(6, 16), rng, shares[label]) for label in y], y


def digits(n: int, rng: np.random.Generator, part: int) -> Draw:
    """One seven among 30 digits, in bags of one class; some pixels are nearly constant."""
    X, target = _rows("digits", part)
    y = _labels(n, rng)
    others = np.array([1 / 9] * 7 + [0] + [1 / 9] * 2)
    bags = [_of_rows(X, target, 30, rng, others) for _ in y]
    for bag, label in zip(bags, y, strict=True):
        if label:
            bag[0] = X[rng.choice(np.flatnonzero(target == 7))]
    return bags, y


def token(n: int, rng: np.random.Generator) -> Draw:
    """One of 20 tokens of one class has a signal of length 5, in 50 dimensions."""
    y = _labels(n, rng)
    bags = rng.standard_normal((n, 20, 50))
    bags[y == 1, 0, 0] += 5
    return list(bags), y


def means(n: int, rng: np.random.Generator) -> Draw:
    """All tokens have a weak signal."""
    y = _labels(n, rng)
    bags = rng.standard_normal((n, 10, 50))
    bags[:, :, :5] += 0.25 * (2 * y - 1)[:, None, None]
    return list(bags), y


SETS: dict[str, tuple[Callable[..., Draw], int]] = {
    "sizes": (sizes, 100),
    "spreads": (spreads, 150),
    "minima": (minima, 150),
    "products": (products, 200),
    "friedman": (friedman, 150),
    "atoms": (atoms, 180),
    "cells": (cells, 120),
    "wines": (wines, 150),
    "digits": (digits, 200),
    "token": (token, 150),
    "means": (means, 150),
}


def made(name: str, draw: int) -> tuple[Draw, Draw]:
    """Return training bags and test bags of a set."""
    make, n = SETS[name]
    rng = np.random.default_rng([list(SETS).index(name), draw])
    if make in (cells, wines, digits):
        return make(n, rng, 0), make(TEST, rng, 1)
    return make(n, rng), make(TEST, rng)


def noise(seed: int) -> tuple[Draw, Draw]:
    """Return bags whose labels have nothing to do with their tokens: 60 settings."""
    rng = np.random.default_rng([77, seed])
    n, d = (40, 60, 80, 100, 150, 200)[seed % 6], (5, 20, 100)[seed // 6 % 3]
    rate = (0.5, 0.3, 0.15)[seed // 18 % 3]

    def draw(count: int) -> Draw:
        L = rng.integers(4, 16, count)
        normal = [rng.standard_normal((size, d)) for size in L]
        heavy = [rng.standard_t(3, (size, d)) for size in L]
        return heavy if seed % 2 else normal, (rng.random(count) < rate).astype(int)

    bags, y = draw(n)
    y[:6] = 1, 1, 1, 0, 0, 0
    return (bags, y), draw(500)
