"""Likelihood pooling: its objective, its gradient, its distance from the floor.

Equations: likelihood-pooling.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.special import logsumexp

from sparsetoken import AttentionClassifier, SparseTokenProblem
from sparsetoken.bags import as_bags
from sparsetoken.bags.segments import segment_log_mean_exp
from sparsetoken.estimators.fitting.queries import LikelihoodProblem
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.losses import get_loss
from sparsetoken.numerics.descents import descend_together
from sparsetoken.theory.oracle import learning_error

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
    found, _ = problem(loss, sign)
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


def test_descents_find_the_minima_of_several_functions() -> None:
    rng = np.random.default_rng(4)
    roots = rng.standard_normal((3, 5, 5))
    A, b = roots @ roots.transpose(0, 2, 1) + 0.1 * np.eye(5), rng.standard_normal((3, 5))

    def evaluate(x: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        moved = np.einsum("sij,sj->si", A[of], x)
        return 0.5 * (x * moved).sum(axis=1) - (b[of] * x).sum(axis=1), moved - b[of]

    found = descend_together(evaluate, np.zeros((3, 5)), 200, 1e-15)
    expected = np.stack([np.linalg.solve(a, r) for a, r in zip(A, b, strict=True)])
    # Values are exact to 1e-15, so that points are to the root of it, times the condition.
    np.testing.assert_allclose(found.points, expected, rtol=1e-4, atol=1e-5)


def test_descents_never_rise_and_do_not_touch_one_another() -> None:
    def evaluate(x: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return Rosenbrock's valley."""
        a, b = x.T
        value = (1 - a) ** 2 + 100 * (b - a**2) ** 2
        return value, np.stack([2 * (a - 1) - 400 * a * (b - a**2), 200 * (b - a**2)], axis=1)

    starts = np.array([[-1.2, 1.0], [2.0, -1.0], [1.0, 1.0]])
    values = [descend_together(evaluate, starts, steps, 1e-16).values for steps in (1, 5, 20, 200)]
    assert (np.diff([evaluate(starts, np.arange(3))[0], *values], axis=0) <= 0).all()
    assert values[-1].max() < 1e-8
    alone = descend_together(evaluate, starts[:1], 5, 1e-16).values
    assert alone[0] == values[1][0]


def test_a_finished_function_is_not_evaluated_again() -> None:
    counts = np.zeros(2, dtype=int)

    def evaluate(x: np.ndarray, of: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return 1 + |x|^2 / 2, and the same of a long valley, which needs more steps."""
        counts[of] += 1
        steep = np.stack([np.ones(2), [1.0, 1e4]])[of]
        return 1 + 0.5 * (steep * x**2).sum(axis=1), steep * x

    found = descend_together(evaluate, np.ones((2, 2)), 30, 1e-12)
    np.testing.assert_allclose(found.values, 1, rtol=1e-10)
    assert counts[0] <= 4  # one step reaches the minimum, another gains nothing
    assert counts[1] > 2 * counts[0]


def test_many_bags_per_dimension_come_near_the_floor() -> None:
    """With 12 bags per dimension the best ridge is not the weakest one."""
    problem = SparseTokenProblem(length=10, informative=3, strength=2.0)
    floor = learning_error(problem, 12).test_error
    errors = []
    for seed in range(3):
        rng = np.random.default_rng(seed)
        xi = rng.standard_normal(25) / 5
        X, y = problem.sample(300 + 2000, xi / np.linalg.norm(xi), rng)
        model = AttentionClassifier(random_state=seed).fit(X[:300], y[:300])
        errors.append(1 - model.score(X[300:], y[300:]))
    # 0.116 here, the floor is 0.113 and the standard error 0.003; the weakest ridge has 0.125.
    assert floor - 0.009 < np.mean(errors) < floor + 0.009
