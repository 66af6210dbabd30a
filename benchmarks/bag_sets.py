"""Labelled bags: real sets, sets made of random numbers and tables, noise, and the token model.

Each set gives numbered splits into bags to fit to and bags to score, as `SETS` names them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from sklearn import datasets

import sparsetoken as st
from sparsetoken.bags import Bags, as_bags

Draw = tuple[list[np.ndarray], np.ndarray]
TEST = 1000  # bags of a made set


class Split(NamedTuple):
    """Bags to fit to, and others to score.

    Attributes
    ----------
    bags, y, test, truth : Bags and labels of 0 and 1
    true : bool array, one for each token of `test`, optional
        Which tokens make their bag positive.
    seed : int
        What a classifier may be random by.
    groups : array of the patient of each bag to fit to, optional
    """

    bags: Bags
    y: np.ndarray
    test: Bags
    truth: np.ndarray
    true: np.ndarray | None = None
    seed: int = 0
    groups: np.ndarray | None = None


class Setting(NamedTuple):
    """A set, the bags of a pilot of it, and the numbers of bags that are asked for.

    It is here and not in a script, so that the hashes of kept work are the same in all processes.
    """

    group: str
    name: str
    n: int
    sizes: tuple[int, ...]


# Real sets, which are not part of the package.


class RealSet(NamedTuple):
    """Bags, labels, the published test fold of each bag in five repeats, and true tokens."""

    bags: Bags
    y: np.ndarray
    folds: np.ndarray
    true: np.ndarray | None


def real_names(folder: Path | None) -> list[str]:
    """Return the names of the sets in the folder: musk1, fox, ng_sci_space and others."""
    return sorted(path.stem for path in folder.glob("*.npz")) if folder is not None else []


@functools.cache
def real_set(folder: Path, name: str) -> RealSet:
    """Read a set: a file of tokens X, the bag of each, labels y, folds, and inst_y of tokens."""
    with np.load(folder / f"{name}.npz") as file:
        order = np.argsort(file["bag"], kind="stable")
        offsets = np.concatenate([[0], np.cumsum(np.bincount(file["bag"]))])
        true = file["inst_y"][order] > 0 if "inst_y" in file else None
        bags = Bags(file["X"][order].astype(float), offsets)
        return RealSet(bags, file["y"], file["folds"], true)


def real_split(name: str, number: int, folder: Path) -> Split:
    """Return one of ten folds of one of five repeats."""
    bags, y, folds, true = real_set(folder, name)
    test = folds[number // 10] == number % 10
    of_test = None if true is None else true[np.repeat(test, bags.sizes)]
    return Split(bags[~test], y[~test], bags[test], y[test], of_test, number)


# Made sets.


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


def table_rows(name: str, part: int) -> tuple[np.ndarray, np.ndarray]:
    """Return every second row of a table of scikit-learn, so that tests see other rows."""
    data = getattr(datasets, f"load_{name}")()
    order = np.random.default_rng(5).permutation(len(data.target))[part::2]
    return data.data.astype(float)[order], data.target[order]


def cells(n: int, rng: np.random.Generator, part: int) -> Draw:
    """One cell of a tumour among cells of none, in bags of one class."""
    X, target = table_rows("breast_cancer", part)
    y = _labels(n, rng)
    bags = [_of_rows(X, target, rng.integers(8, 20), rng, np.array([0.0, 1.0])) for _ in y]
    for bag, label in zip(bags, y, strict=True):
        if label:
            bag[0] = X[rng.choice(np.flatnonzero(target == 0))]
    return bags, y


def wines(n: int, rng: np.random.Generator, part: int) -> Draw:
    """Mixtures of three wines in slightly other shares."""
    X, target = table_rows("wine", part)
    y = _labels(n, rng)
    shares = np.array([[0.3, 0.4, 0.3], [0.4, 0.3, 0.3]])
    return [_of_rows(X, target, rng.integers(6, 16), rng, shares[label]) for label in y], y


def digits(n: int, rng: np.random.Generator, part: int) -> Draw:
    """One seven among 30 digits, in bags of one class; some pixels are nearly constant."""
    X, target = table_rows("digits", part)
    y = _labels(n, rng)
    others = np.array([1 / 9] * 7 + [0] + [1 / 9] * 2)
    bags = [_of_rows(X, target, 30, rng, others) for _ in y]
    for bag, label in zip(bags, y, strict=True):
        if label:
            bag[0] = X[rng.choice(np.flatnonzero(target == 7))]
    return bags, y


def loops(n: int, rng: np.random.Generator, part: int) -> Draw:
    """Digits with loops (0, 6, 8, 9): one in bags of one class, four in bags of the other."""
    X, target = table_rows("digits", part)
    y = _labels(n, rng)
    looped = np.isin(target, (0, 6, 8, 9))
    bags = [X[rng.choice(np.flatnonzero(~looped), rng.integers(8, 16))] for _ in y]
    for bag, label in zip(bags, y, strict=True):
        count = 4 if label else 1
        bag[:count] = X[rng.choice(np.flatnonzero(looped), count)]
    return bags, y


def couples(n: int, rng: np.random.Generator, part: int) -> Draw:
    """A three and a five together, against two of one of them, among other digits."""
    X, target = table_rows("digits", part)
    y = _labels(n, rng)
    others = np.flatnonzero(~np.isin(target, (3, 5)))
    bags = [X[rng.choice(others, rng.integers(8, 14))] for _ in y]
    for bag, label in zip(bags, y, strict=True):
        for place, kind in enumerate((3, 5) if label else 2 * [rng.choice([3, 5])]):
            bag[place] = X[rng.choice(np.flatnonzero(target == kind))]
    return bags, y


def pages(n: int, rng: np.random.Generator, part: int) -> Draw:
    """A three and a seven together, against two of one of them, on pages with blank cells."""
    X, target = table_rows("digits", part)
    y = _labels(n, rng)
    kinds = [(3, 7) if label else 2 * (rng.choice([3, 7]),) for label in y]
    return _pages(X, target, kinds, np.flatnonzero(~np.isin(target, (3, 7))), rng), y


def _pages(
    X: np.ndarray, target: np.ndarray, kinds: list, others: np.ndarray, rng: np.random.Generator
) -> list[np.ndarray]:
    """Return pages of 36 cells, of which 28 are blank; two have digits of given kinds."""
    bags = [np.concatenate([X[rng.choice(others, 8)], np.zeros((28, X.shape[1]))]) for _ in kinds]
    for bag, pair in zip(bags, kinds, strict=True):
        for place, kind in enumerate(pair):
            bag[place] = X[rng.choice(np.flatnonzero(target == kind))]
    return bags


def rings(n: int, rng: np.random.Generator) -> Draw:
    """Two tokens of one class are on a circle, in two of five dimensions."""
    y = _labels(n, rng)
    bags = [rng.standard_normal((rng.integers(6, 14), 5)) for _ in y]
    for bag, label in zip(bags, y, strict=True):
        if label:
            bag[:2, :2] *= 3 / np.linalg.norm(bag[:2, :2], axis=1)[:, None]
    return bags, y


@functools.cache
def photographs() -> list[np.ndarray]:
    """Return the patches of 8 x 8 pixels of two photographs, in grey, in random order."""
    found = []
    for image in datasets.load_sample_images().images:
        grey = image.mean(axis=2)
        rows, columns = (size // 8 for size in grey.shape)
        cut = grey[: 8 * rows, : 8 * columns].reshape(rows, 8, columns, 8)
        patches = cut.swapaxes(1, 2).reshape(-1, 64)
        found.append(np.random.default_rng(1).permutation(patches))
    return found


def textures(n: int, rng: np.random.Generator, part: int) -> Draw:
    """Two patches of one photograph among patches of another, in bags of one class."""
    usual, rare = (patches[part::2] for patches in photographs())
    y = _labels(n, rng)
    bags = [usual[rng.integers(len(usual), size=rng.integers(10, 20))] for _ in y]
    for bag, label in zip(bags, y, strict=True):
        if label:
            bag[:2] = rare[rng.integers(len(rare), size=2)]
    return bags, y


def shares(n: int, rng: np.random.Generator) -> Draw:
    """Tokens of six kinds, Gaussian each, in other shares."""
    centres = 3 * np.random.default_rng(9).standard_normal((6, 8))
    y = _labels(n, rng)
    of_class = np.array([[0.3, 0.1, 0.2, 0.1, 0.2, 0.1], [0.1, 0.3, 0.1, 0.2, 0.1, 0.2]])
    kinds = [rng.choice(6, rng.integers(6, 16), p=of_class[label]) for label in y]
    return [centres[one] + rng.standard_normal((len(one), 8)) for one in kinds], y


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


# Sets of several classes.


def digit_classes(n: int, rng: np.random.Generator, part: int, K: int) -> Draw:
    """Three of a digit, which is the class, among 3 to 10 of any kind."""
    X, target = table_rows("digits", part)
    y = rng.permutation(np.arange(n) % K)
    bags = [X[rng.integers(len(X), size=rng.integers(6, 14))] for _ in y]
    for bag, label in zip(bags, y, strict=True):
        bag[:3] = X[rng.choice(np.flatnonzero(target == label), 3)]
    return bags, y


PAIRS = np.stack(np.triu_indices(5, 1), axis=1)  # of the digits 0 to 4


def digit_pairs(n: int, rng: np.random.Generator, part: int) -> Draw:
    """Which two of five digits are on a page, among five other digits and blank cells."""
    X, target = table_rows("digits", part)
    y = rng.permutation(np.arange(n) % len(PAIRS))
    return _pages(X, target, list(PAIRS[y]), np.flatnonzero(target > 4), rng), y


def digit_patches(n: int, rng: np.random.Generator, part: int) -> Draw:
    """The patches of 3 x 3 pixels of a digit, which is the class."""
    X, target = table_rows("digits", part)
    y = rng.permutation(np.arange(n) % 10)
    images = [X[rng.choice(np.flatnonzero(target == label))].reshape(8, 8) for label in y]
    windows = np.lib.stride_tricks.sliding_window_view(np.stack(images), (3, 3), axis=(1, 2))
    return list(windows.reshape(n, 36, 9)), y


def cultivars(n: int, rng: np.random.Generator, part: int) -> Draw:
    """Mixtures of three wines, of which one has the larger share."""
    X, target = table_rows("wine", part)
    y = rng.permutation(np.arange(n) % 3)
    return [
        _of_rows(X, target, rng.integers(4, 12), rng, np.where(np.arange(3) == label, 0.5, 0.25))
        for label in y
    ], y


def mixtures(n: int, rng: np.random.Generator, K: int) -> Draw:
    """Tokens of twelve Gaussian kinds in other shares in each class."""
    fixed = np.random.default_rng(K)
    centres, of_class = 3 * fixed.standard_normal((12, 8)), fixed.dirichlet(2 * np.ones(12), K)
    y = rng.permutation(np.arange(n) % K)
    kinds = [rng.choice(12, rng.integers(8, 20), p=of_class[label]) for label in y]
    return [centres[one] + rng.standard_normal((len(one), 8)) for one in kinds], y


def directions(n: int, rng: np.random.Generator, K: int) -> Draw:
    """One of ten tokens has a signal of length 5, in another direction in each class."""
    y = rng.permutation(np.arange(n) % K)
    bags = rng.standard_normal((n, 10, 20))
    bags[np.arange(n), 0, y] += 5
    return list(bags), y


def offsets(n: int, rng: np.random.Generator, K: int) -> Draw:
    """All tokens have a weak signal, in another direction in each class."""
    y = rng.permutation(np.arange(n) % K)
    centres = 0.6 * np.random.default_rng(K).standard_normal((K, 12))
    return [c + rng.standard_normal((rng.integers(4, 10), 12)) for c in centres[y]], y


CLASSES: dict[str, tuple[Callable[..., Draw], int]] = {
    "two digits": (functools.partial(digit_classes, K=2), 200),
    "three digits": (functools.partial(digit_classes, K=3), 200),
    "five digits": (functools.partial(digit_classes, K=5), 200),
    "ten digits": (functools.partial(digit_classes, K=10), 200),
    "three cultivars": (cultivars, 150),
    "four mixtures": (functools.partial(mixtures, K=4), 150),
    "eight mixtures": (functools.partial(mixtures, K=8), 240),
    "four directions": (functools.partial(directions, K=4), 200),
    "six directions": (functools.partial(directions, K=6), 300),
    "six offsets": (functools.partial(offsets, K=6), 150),
    "nine offsets": (functools.partial(offsets, K=9), 200),
    "ten pairs of digits": (digit_pairs, 300),
    "patches of digits": (digit_patches, 300),
}
"""Sets of several classes, and of two for comparison, with the number of bags to fit to."""


def class_split(name: str, draw: int) -> Split:
    """Return a draw of a set of several classes; of tables the test has other rows."""
    rng = np.random.default_rng([91, list(CLASSES).index(name), draw])
    make, n = CLASSES[name]
    of_tables = name.endswith(("digits", "cultivars"))
    fit, test = (
        make(k, rng, part) if of_tables else make(k, rng) for part, k in enumerate((n, TEST))
    )
    return Split(as_bags(fit[0]), fit[1], as_bags(test[0]), test[1])


MADE: dict[str, tuple[Callable[..., Draw], int]] = {
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
    "loops": (loops, 200),
    "couples": (couples, 200),
    "rings": (rings, 200),
    "textures": (textures, 150),
    "shares": (shares, 120),
    "pages": (pages, 200),
}
"""Sets with the number of bags to fit to."""


def made_bags(
    name: str, n: int, rng: np.random.Generator
) -> tuple[Bags, np.ndarray, Bags, np.ndarray]:
    """Return n bags of a made set and others to score; of tables these have other rows."""
    make = MADE[name][0]
    of_tables = make in (cells, wines, digits, loops, couples, textures, pages)
    fit = make(n, rng, 0) if of_tables else make(n, rng)
    test = make(TEST, rng, 1) if of_tables else make(TEST, rng)
    return as_bags(fit[0]), fit[1], as_bags(test[0]), test[1]


def made_split(name: str, draw: int) -> Split:
    """Return a draw of a made set."""
    rng = np.random.default_rng([list(MADE).index(name), draw])
    return Split(*made_bags(name, MADE[name][1], rng))


def noise(seed: int) -> Split:
    """Return bags whose labels have nothing to do with their tokens: 60 settings."""
    rng = np.random.default_rng([77, seed])
    n, d = (40, 60, 80, 100, 150, 200)[seed % 6], (5, 20, 100)[seed // 6 % 3]
    rate = (0.5, 0.3, 0.15)[seed // 18 % 3]

    def draw(count: int) -> tuple[Bags, np.ndarray]:
        L = rng.integers(4, 16, count)
        normal = [rng.standard_normal((size, d)) for size in L]
        heavy = [rng.standard_t(3, (size, d)) for size in L]
        return as_bags(heavy if seed % 2 else normal), (rng.random(count) < rate).astype(int)

    bags, y = draw(n)
    y[:6] = 1, 1, 1, 0, 0, 0
    return Split(bags, y, *draw(500))


# The sparse-token model.

MODELS = {  # length, informative, strength, positive rate; dimension; bags
    "L 10, R 1, θ 4, d 100, n 200": ((10, 1, 4.0, 0.5), 100, 200),
    "L 10, R 1, θ 4, d 100, n 600": ((10, 1, 4.0, 0.5), 100, 600),
    "L 20, R 1, θ 5, d 100, n 300": ((20, 1, 5.0, 0.5), 100, 300),
    "L 20, R 1, θ 5, d 200, n 90": ((20, 1, 5.0, 0.5), 200, 90),
    "L 10, R 3, θ 3, d 100, n 300": ((10, 3, 3.0, 0.5), 100, 300),
    "L 10, R 3, θ 2, d 50, n 150": ((10, 3, 2.0, 0.5), 50, 150),
    "L 10, R 1, θ 3, π 0.2, d 50, n 500": ((10, 1, 3.0, 0.2), 50, 500),
}


def model_split(name: str, seed: int) -> Split:
    """Return bags of the model, 4000 of them to score."""
    values, d, n = MODELS[name]
    rng = np.random.default_rng(seed)
    xi = rng.standard_normal(d)
    xi /= np.linalg.norm(xi)
    problem = st.SparseTokenProblem(*values)
    X, y = problem.sample(n + 4000, xi, rng, np.dtype(np.float32))
    y = (y > 0).astype(int)
    return Split(as_bags(X[:n]), y[:n], as_bags(X[n:]), y[n:], seed=seed)


def bayes_errors(name: str) -> tuple[float, float]:
    """Return the Bayes-optimal error of a model, and that of who knows the signal."""
    values, d, n = MODELS[name]
    found = st.oracle.learning_error(st.SparseTokenProblem(*values), n / d)
    return found.test_error, found.oracle_error


TOKENS = {
    "one token of 20": (20, 1, 4.0, 300),
    "any number of 20": (20, 0, 4.0, 300),
    "three of 20": (20, 3, 2.5, 300),
    "lesions, 5% of 800": (800, 40, 3.0, 100),
    "lesions, 1 to 10% of 800": (800, None, 3.0, 100),
    "needles, one of 800": (800, 1, 7.0, 100),
}
"""Tokens of a bag, informative ones of a positive bag (0: any number), their strength, bags."""


def token_split(name: str, seed: int) -> Split:
    """Return bags of tokens in 50 dimensions, and 200 to score, with their true tokens."""
    L, count, strength, n = TOKENS[name]
    rng = np.random.default_rng(seed)
    N = n + 200
    X = rng.standard_normal((N, L, 50), dtype=np.float64 if L == 20 else np.float32)
    each = rng.integers(L // 100, L // 10, (N, 1)) if count is None else count
    true = (np.arange(L) < each) & (np.arange(N) % 2 == 1)[:, None]
    if count == 0:  # in half of the bags there is one or more
        true = rng.random(true.shape) < 1 - 0.5 ** (1 / L)
    X[true, 0] += strength
    y = true.any(axis=1).astype(int)
    return Split(as_bags(X[:n]), y[:n], as_bags(X[n:]), y[n:], true[n:].ravel())


# Slides of patients.

PATIENTS = {  # patients; tokens, informative ones, dimension; strength and shift
    "75 patients, d 64, shift 0.3": (75, 800, 20, 64, 3.0, 0.3),
    "20 patients, d 64, shift 0.3": (20, 800, 20, 64, 3.0, 0.3),
    "75 patients, d 96, shift 0.4": (75, 500, 25, 96, 2.5, 0.4),
    "75 patients, d 96, shift 0.8": (75, 500, 25, 96, 2.5, 0.8),
}


def patient_split(name: str, draw: int) -> Split:
    """Return two slides of each patient, which share a shift, and 200 slides of new patients."""
    n, L, R, d, strength, shift = PATIENTS[name]
    rng = np.random.default_rng([92, list(PATIENTS).index(name), draw])
    xi = rng.standard_normal(d)
    patient = np.repeat(np.arange(n + 100), 2)
    y = patient % 2
    X = rng.standard_normal((len(y), L, d), dtype=np.float32)
    X += np.float32(shift) * rng.standard_normal((n + 100, 1, d), dtype=np.float32)[patient]
    X[y == 1, :R] += (strength * xi / np.linalg.norm(xi)).astype(np.float32)
    k = 2 * n
    return Split(as_bags(X[:k]), y[:k], as_bags(X[k:]), y[k:], groups=patient[:k])


class BagSet(NamedTuple):
    """A set: its group, how many splits it has, and the function that returns one."""

    group: str
    splits: int
    split: Callable[[int], Split]


def sets(folder: Path | None = None) -> dict[str, BagSet]:
    """Return all sets by name; the real ones that are in the folder."""
    found = {}
    for name in real_names(folder):
        group = "newsgroups" if name.startswith("ng_") else "classic"
        found[name] = BagSet(group, 50, functools.partial(real_split, name, folder=folder))
    for group, kinds, make in (
        ("made", MADE, made_split),
        ("classes", CLASSES, class_split),
        ("model", MODELS, model_split),
        ("tokens", TOKENS, token_split),
        ("patients", PATIENTS, patient_split),
    ):
        for name in kinds:
            count = 4 if group in ("made", "classes") else 8
            found[name] = BagSet(group, count, functools.partial(make, name))
    return {**found, "noise": BagSet("noise", 60, noise)}
