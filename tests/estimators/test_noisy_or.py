"""Noisy-or of tokens: its formula, its gradient, groups and classes.

Equations: noisy-or.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import check_grad
from scipy.special import expit, logit

from sparsetoken.bags import Bags
from sparsetoken.estimators import NoisyOrClassifier
from sparsetoken.estimators.fitting.noisy_or import NoisyOrProblem, log_odds
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens

Draw = Callable[..., tuple[Bags, np.ndarray]]


def test_the_score_is_the_formula(draw: Draw) -> None:
    bags, y = draw(100)
    model = NoisyOrClassifier().fit(bags, y)
    assert model.slope_[0] > 0
    for bag, score in zip(bags, model.decision_function(bags), strict=True):
        p = expit(bag @ model.token_coef_[0] + model.token_intercept_[0])
        negative = np.prod(1 - p)
        expected = model.slope_[0] * logit(1 - negative) + model.intercept_[0]
        assert score == pytest.approx(expected)
    assert model.score(bags, y) > 0.8


def test_log_odds_of_small_and_large_hazards() -> None:
    H = np.array([1e-9, 1e-3, 1.0, 30.0, 800.0])
    expected = [np.log(1e-9), np.log(np.expm1(1e-3)), np.log(np.expm1(1.0)), 30.0, 800.0]
    np.testing.assert_allclose(log_odds(H), expected, rtol=1e-8)
    assert np.isfinite(log_odds(np.zeros(1))).all()


@pytest.mark.parametrize("moved", [0.0, 100.0])
def test_the_gradient_is_that_of_the_loss(draw: Draw, moved: float) -> None:
    """Columns far from 0 are centred for the products, which changes nothing."""
    bags, y = draw(30)
    bags = bags.with_tokens(bags.tokens + moved)
    rng, one = np.random.default_rng(0), np.zeros(1, int)
    tokens = StandardTokens.of(bags, np.ones(30), True)
    share = rng.dirichlet(np.ones(30))
    problem = NoisyOrProblem(tokens, y > 0, share[None], np.array([0.3]))

    def value(at: np.ndarray) -> float:
        return float(problem.value_and_gradient(at[None], one)[0][0])

    def gradient(at: np.ndarray) -> np.ndarray:
        return problem.value_and_gradient(at[None], one)[1][0]

    at = rng.standard_normal(5)
    assert check_grad(value, gradient, at) < 1e-5  # steps of 1.5e-8 leave 1e-7
    z = (bags.tokens - tokens.mean) / tokens.scale
    safe = np.log1p(-expit(z @ at[:-1] + at[-1]))
    negative = np.exp(np.add.reduceat(safe, bags.offsets[:-1]))
    losses = -np.log(np.where(y > 0, 1 - negative, negative))
    assert value(at) == pytest.approx(share @ losses + 0.15 * at[:-1] @ at[:-1])


def test_tokens_of_the_first_class_are_not_what_it_looks_for() -> None:
    """A token that makes bags negative tells it hardly anything: the rate is one half."""
    rng, y = np.random.default_rng(0), np.arange(200) % 2
    X = rng.standard_normal((200, 8, 4))
    X[y == 0, 0, 0] += 5
    right = [
        np.mean((NoisyOrClassifier().fit(X, labels).left_out_scores_[:, 0] > 0) == labels)
        for labels in (y, 1 - y)
    ]
    assert right[0] < 0.7 < 0.95 < right[1]


def test_three_classes_groups_and_float32(draw: Draw) -> None:
    bags, y = draw(150, classes=3, sizes=(3, 8), strength=6.0)
    model = NoisyOrClassifier().fit(bags, y, groups=np.arange(150) // 3)
    assert model.slope_.shape == (3,)
    assert model.score(bags, y) > 0.6  # the third class has no token of its own
    low = bags.with_tokens(bags.tokens.astype(np.float32))
    scores = NoisyOrClassifier().fit(low, y).decision_function(low)
    assert scores.dtype == np.float32
    np.testing.assert_allclose(model.predict_proba(bags).sum(axis=1), 1)


def test_a_class_of_one_bag_trains() -> None:
    X = np.random.default_rng(0).standard_normal((40, 5, 3))
    model = NoisyOrClassifier().fit(X, np.arange(40) == 7)
    assert np.isfinite(model.left_out_scores_).all()
