"""Queries against slow formulas and differences, folds, and how near to the Bayes error.

Equations: likelihood-pooling, spectral-query.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eig
from scipy.special import logsumexp

from sparsetoken import AttentionClassifier, SparseTokenProblem
from sparsetoken.bags import as_bags
from sparsetoken.bags.segments import segment_log_mean_exp
from sparsetoken.estimators.fitting import queries
from sparsetoken.estimators.fitting.folds import fold_numbers
from sparsetoken.estimators.fitting.queries import STEP, LikelihoodProblem, spectral, two_steps
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.losses import get_loss
from sparsetoken.theory.oracle import learning_error
from tasks_of_bags import task_of

OFFSET = np.array([0.3, -0.5, 0.1])


def differences(function, x: np.ndarray, h: float = 1e-5) -> np.ndarray:
    """Return the gradient by central differences; their error is about 1e-10."""
    return np.array([(function(x + h * e) - function(x - h * e)) / (2 * h) for e in np.eye(len(x))])


def slow_query(bags: list, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the query of two gradient steps from 0, all gradients by differences."""
    zero = np.zeros(bags[0].shape[1])

    def loss_of(w: np.ndarray, b: float, q: np.ndarray) -> float:
        a = [np.exp(bag @ q) for bag in bags]
        z = np.array([one @ bag @ w / one.sum() + b for one, bag in zip(a, bags, strict=True)])
        return float(weight @ np.log1p(np.exp(-y * z)) / weight.sum())

    w = -STEP * differences(lambda w: loss_of(w, 0.0, zero), zero)
    b = -STEP * differences(lambda b: loss_of(zero, b[0], zero), np.zeros(1))[0]
    return -differences(lambda q: loss_of(w, b, q), zero)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_two_steps_are_gradient_steps_of_each_subset(seed: int, standardize: bool) -> None:
    rng, y = np.random.default_rng(seed), np.where(np.arange(12) % 2, 1.0, -1.0)
    bags = [rng.standard_normal((rng.integers(2, 7), 3)) + OFFSET for _ in y]
    for bag, label in zip(bags, y, strict=True):
        bag[0] += 2 * (label > 0)
    weight = rng.uniform(0.5, 2.0, 12)
    task = task_of(bags, y, weight, standardize=standardize)
    tokens = task.tokens
    subsets = [rng.random(12) < 0.7, np.ones(12, dtype=bool)]
    scaled = [(bag - tokens.mean) / tokens.scale for bag in bags]
    for q, rows in zip(two_steps(task, subsets).T, subsets, strict=True):
        chosen = [bag for bag, row in zip(scaled, rows, strict=True) if row]
        # Differences err by 1e-10 each.
        np.testing.assert_allclose(q, slow_query(chosen, y[rows], weight[rows]), atol=1e-9)


def slow_spectral(bags: list, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Return the two directions, bag by bag, of length 1."""
    share = weight / weight.sum()
    C = [np.cov(bag.T, bias=True) for bag in bags]
    W = sum(s * one for s, one in zip(share, C, strict=True))
    D = sum(s * (label - share @ y) * one for s, label, one in zip(share, y, C, strict=True))
    values, V = (part.real for part in eig(D, W + 0.1 * np.trace(W) / len(W) * np.eye(len(W))))
    V = V[:, np.argsort(-np.abs(values))[:2]]
    V /= np.linalg.norm(V, axis=0)
    third = np.array([(((bag - bag.mean(axis=0)) @ V) ** 3).mean(axis=0) for bag in bags])
    return (V * np.sign((share * (y - share @ y)) @ third)).T


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("numbers", [False, True])
def test_spectral_queries_are_eigenvectors_of_each_subset(seed: int, numbers: bool) -> None:
    rng, folds = np.random.default_rng(seed), np.arange(24) % 3
    y = rng.standard_normal(24) if numbers else np.where(np.arange(24) % 2, 1.0, -1.0)
    bags = [rng.standard_normal((rng.integers(3, 9), 4)) + OFFSET[0] for _ in y]
    weight = rng.uniform(0.5, 2.0, 24)
    task = task_of(bags, y, weight, loss="square")
    scaled = [(bag - task.tokens.mean) / task.tokens.scale for bag in bags]
    subsets = [*(folds != j for j in range(3)), np.ones(24, dtype=bool)]
    found = np.stack(spectral(task, subsets, folds))
    for s, rows in enumerate(subsets):
        chosen = [bag for bag, row in zip(scaled, rows, strict=True) if row]
        unit = found[:, :, s] / np.linalg.norm(found[:, :, s], axis=1, keepdims=True)
        expected = slow_spectral(chosen, y[rows], weight[rows])
        np.testing.assert_allclose(unit, expected, atol=1e-8)  # of nearly equal eigenvalues


def test_spectral_queries_do_not_see_what_tokens_of_a_bag_share(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rng, y, folds = np.random.default_rng(0), np.where(np.arange(40) % 2, 1.0, -1.0), np.zeros(40)
    X = rng.standard_normal((40, 30, 6))
    X[y > 0, :3, 2] += 4.0
    moved = X + 5 * rng.standard_normal((40, 1, 6))
    folds, subsets = folds.astype(int), [np.arange(40) > 0, np.ones(40, dtype=bool)]
    first, second = (
        spectral(task_of(one, y, standardize=False), subsets, folds)[0][:, 1] for one in (X, moved)
    )
    np.testing.assert_allclose(first, second, atol=1e-10)
    assert first[2] > 0.95 * np.linalg.norm(first)
    # A random part of the tokens tells nearly as much.
    monkeypatch.setattr(queries, "WORK", X.size * 6 / 2)
    part = spectral(task_of(X, y, standardize=False), subsets, folds)[0][:, 1]
    assert not np.allclose(part, first)
    assert part[2] > 0.9 * np.linalg.norm(part)


@pytest.mark.parametrize(("n_folds", "expected"), [(4, 4), (8, 8), (30, 12)])
def test_folds_have_their_share_of_each_class(n_folds: int, expected: int) -> None:
    y = np.random.default_rng(0).permutation(np.repeat([0, 1], [50, 12]))
    folds = fold_numbers(y, n_folds, np.random.RandomState(0))
    assert np.unique(folds).tolist() == list(range(expected))
    for count in (np.bincount(folds), np.bincount(folds[y == 1]), np.bincount(folds[y == 0])):
        assert np.ptp(count) <= 1
    assert np.array_equal(folds, fold_numbers(y, n_folds, np.random.RandomState(0)))
    assert not np.array_equal(folds, fold_numbers(y, n_folds, np.random.RandomState(1)))


BOTH = np.arange(2)  # problems


def drawn(seed: int, n: int, d: int, strength: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Return ragged bags off the origin; one token of the second class is shifted."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    bags = [rng.standard_normal((rng.integers(4, 12), d)) + 0.3 for _ in range(n)]
    for bag, label in zip(bags, y, strict=True):
        bag[0, 0] += strength * label
    return bags, y


def problem(loss: str, sign: float, standardize: bool = True) -> tuple[LikelihoodProblem, list]:
    bags, y = drawn(0, 10, 3, 2.0)
    flat, rng = as_bags(bags), np.random.default_rng(1)
    shares = rng.dirichlet(np.ones(10), 2)
    ridges = np.array([0.3, 0.05])
    labels, tokens = 2.0 * y - 1, StandardTokens.of(flat, np.ones(10), standardize)
    return LikelihoodProblem(tokens, labels, shares, ridges, sign, get_loss(loss)), bags


@pytest.mark.parametrize("loss", ["logistic", "square", "squared_hinge"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_gradient_is_that_of_differences(loss: str, sign: float) -> None:
    found, _ = problem(loss, sign, standardize=sign > 0)
    at = np.random.default_rng(2).standard_normal((2, 4))
    _, gradient = found.value_and_gradient(at, BOTH)
    h = 1e-5
    for j, e in enumerate(np.eye(4)):
        up, down = (found.value_and_gradient(at + s * h * e, BOTH)[0] for s in (1, -1))
        slope = (up - down) / (2 * h)
        np.testing.assert_allclose(gradient[:, j], slope, atol=1e-8)  # differences err by 1e-9


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_objective_is_the_formula(sign: float) -> None:
    found, bags = problem("logistic", sign, standardize=False)
    at = np.random.default_rng(3).standard_normal((2, 4))
    for row, share, ridge, value in zip(
        at, found.shares, found.ridges, found.value_and_gradient(at, BOTH)[0], strict=True
    ):
        v, b = row[:3], row[3]
        f = np.array([sign * (logsumexp(bag @ v) - np.log(len(bag))) + b for bag in bags])
        slow = share @ np.logaddexp(0, -found.y * f) + 0.5 * ridge * v @ v
        assert value == pytest.approx(slow, rel=1e-12)


def test_log_mean_exp_stands_large_scores() -> None:
    scores = np.array([1e4, 1e4, -1e4, 3.0])
    found = segment_log_mean_exp(scores, np.array([0, 3, 4]))
    np.testing.assert_allclose(found, [1e4 + np.log(2 / 3), 3.0], rtol=1e-14)


def test_many_bags_per_dimension_come_near_the_bayes_error() -> None:
    """With 12 bags per dimension the best ridge is not the weakest one."""
    problem = SparseTokenProblem(length=10, informative=3, strength=2.0)
    bayes = learning_error(problem, 12).test_error
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        xi = rng.standard_normal(25) / 5
        X, y = problem.sample(300 + 2000, xi / np.linalg.norm(xi), rng)
        model = AttentionClassifier(random_state=seed).fit(X[:300], y[:300])
        errors.append(1 - model.score(X[300:], y[300:]))
    # 0.116 here, the Bayes error is 0.113 and the standard error 0.003; the weakest ridge
    # has 0.125.
    assert bayes - 0.009 < np.mean(errors) < bayes + 0.009
