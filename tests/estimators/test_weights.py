"""Weights: a bag of weight 2 is two bags, one of weight 1e-12 is none, classes balance."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from sparsetoken import AttentionClassifier, BagClassifier, PooledLinearClassifier
from sparsetoken.bags import Bags
from sparsetoken.fitting.features import BagFeatures
from sparsetoken.fitting.linear_fit import LinearFit, gain
from sparsetoken.fitting.queries import unit_queries
from sparsetoken.fitting.samples import Samples
from sparsetoken.fitting.standardization import Standardization
from sparsetoken.fitting.task import Task
from sparsetoken.losses import get_loss

Draw = Callable[..., tuple[Bags, np.ndarray]]


def weighted(draw: Draw) -> tuple[Bags, Samples, np.ndarray]:
    """Return bags of weight 1, 2 or 3, and which bags make as many copies."""
    bags, labels = draw(40)
    weight = np.random.default_rng(0).integers(1, 4, 40)
    class_weight = np.where(labels, 2.5, 1.0)
    samples = Samples(2.0 * labels - 1, weight * class_weight, class_weight)
    return bags, samples, np.repeat(np.arange(40), weight)


def copied(samples: Samples, copies: np.ndarray) -> Samples:
    part = samples.take(copies)
    return dataclasses.replace(part, weight=part.class_weight)


def unit_scores(bags: Bags, samples: Samples) -> np.ndarray:
    """Return the scores of two queries, divided so that their deviation is 1."""
    scaling = Standardization(np.zeros(4), np.ones(4))
    task = Task(BagFeatures(bags, scaling), samples, get_loss("logistic"), 0.1)
    return unit_queries(task, np.array([[1.0, 2], [0, 1], [0, 3], [1, 0]])).scores


def test_the_unit_of_scores_counts_copies(draw: Draw) -> None:
    bags, samples, copies = weighted(draw)
    found = bags.with_tokens(np.tile(unit_scores(bags, samples), 2))[copies]
    expected = unit_scores(bags[copies], copied(samples, copies))
    np.testing.assert_allclose(found.tokens[:, :2], expected, rtol=1e-12)  # rounding


def test_the_standard_error_of_a_gain_counts_copies(draw: Draw) -> None:
    _, samples, copies = weighted(draw)
    losses = np.random.default_rng(1).uniform(size=(2, 40))
    both = [LinearFit(np.zeros(1), 0.0, 1.0, one) for one in losses]
    more = [LinearFit(np.zeros(1), 0.0, 1.0, one[copies]) for one in losses]
    expected = gain(*more, copied(samples, copies))
    assert gain(*both, samples) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("model", [AttentionClassifier(), BagClassifier()], ids=str)
def test_bags_of_tiny_weight_are_as_good_as_absent(model: BaseEstimator) -> None:
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    X = rng.standard_normal((120, 8, 5))
    X[y == 1, 0, 0] += 5
    odd = X.copy()
    odd[:4] *= 1000
    tiny, none = np.ones(120), np.ones(120)
    tiny[:4], none[:4] = 1e-12, 0
    scores = [model.fit(odd, y, w).score(X[4:], y[4:]) for w in (tiny, none)]
    # Folds differ by four bags of 120: that moves a few bags beside the boundary.
    assert scores[1] > 0.9
    assert abs(scores[0] - scores[1]) < 0.05


@pytest.mark.parametrize("rates", [(1, 1, 1), (6, 2, 1)])
def test_balanced_counts_positives_like_the_rest(draw: Draw, rates: tuple[int, ...]) -> None:
    bags, _ = draw(90)
    y = np.resize(np.repeat([0, 1, 2], rates), 90)
    model = PooledLinearClassifier(0.1, standardize=False, class_weight="balanced").fit(bags, y)
    F = np.stack([bag.mean(axis=0) for bag in bags])
    oracle = LogisticRegression(
        C=1 / (0.1 * 90), tol=1e-10, solver="newton-cholesky", class_weight="balanced"
    )
    expected = np.stack([oracle.fit(F, y == c).decision_function(F) for c in range(3)], axis=1)
    # Both stop at a relative gradient of 1e-8.
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)
    plain = PooledLinearClassifier(0.1, standardize=False).fit(bags, y)
    assert np.abs(plain.decision_function(bags) - expected).min() > 0.1
