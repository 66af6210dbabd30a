"""Weights: copies of a bag are left out together, one of weight 1e-12 is none, classes balance."""

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline

from sparsetoken import AttentionClassifier, BagClassifier
from sparsetoken.bags import Bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import BagPooling, PooledClassifier
from sparsetoken.estimators.fitting.queries import unit_queries
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.fitting.task import Task
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
    task = Task(StandardTokens(bags, np.zeros(4), np.ones(4)), samples, get_loss("logistic"), 0.1)
    return unit_queries(task, np.array([[1.0, 2], [0, 1], [0, 3], [1, 0]]))[1]


def test_the_unit_of_scores_counts_copies(draw: Draw) -> None:
    bags, samples, copies = weighted(draw)
    found = bags.with_tokens(np.tile(unit_scores(bags, samples), 2))[copies]
    expected = unit_scores(bags[copies], copied(samples, copies))
    np.testing.assert_allclose(found.tokens[:, :2], expected, rtol=1e-12)  # rounding


def test_a_bag_is_left_out_with_all_its_copies(draw: Draw) -> None:
    """At a ridge that is given; for the square loss left-out scores are exact."""
    bags, y = draw(30, sizes=(3, 3))
    weight = np.random.default_rng(0).integers(1, 4, 30).astype(float)
    model = PooledClassifier(ridge=0.3, loss="square", standardize=False).fit(
        bags, y, sample_weight=weight
    )
    for i in (0, 7, 20):
        rest = np.arange(30) != i
        # The losses of the others keep their size beside the penalty.
        ridge = 0.3 * weight.sum() / weight[rest].sum()
        others = PooledClassifier(ridge=ridge, loss="square", standardize=False)
        others.fit(bags[rest], y[rest], sample_weight=weight[rest])
        expected = others.decision_function(bags[[i]])
        np.testing.assert_allclose(model.left_out_scores_[i], expected, atol=1e-6)


def test_weights_of_classes_move_the_log_odds_alone(draw: Draw) -> None:
    bags, y = draw(120)
    y = y * (np.arange(120) % 3 == 0)
    plain = BagClassifier().fit(bags, y)
    for given, odds in (({0: 1, 1: 5}, 5.0), ("balanced", (y == 0).sum() / (y == 1).sum())):
        model = BagClassifier(class_weight=given).fit(bags, y)
        moved = plain.decision_function(bags) + np.log(odds)
        np.testing.assert_allclose(model.decision_function(bags), moved, atol=1e-12)
        np.testing.assert_allclose(model.left_out_scores_, plain.left_out_scores_ + np.log(odds))
    weighted = BagClassifier().fit(bags, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    moved = plain.decision_function(bags) + np.log(5)
    np.testing.assert_allclose(weighted.decision_function(bags), moved, atol=1e-12)


def test_with_three_classes_weights_enter_the_fits() -> None:
    """No constant says what other weights make of the rest of the classes."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [20, 60, 20])
    X = rng.standard_normal((100, 5, 3)) + 0.8 * np.eye(3)[y][:, None]
    model = BagClassifier(class_weight={0: 1, 1: 1, 2: 9}).fit(X, y)
    assert model.intercept_.tolist() == [0, 0, 0]
    plain = BagClassifier().fit(X, y).predict_proba(X)
    assert model.predict_proba(X)[:, 2].mean() > plain[:, 2].mean() + 0.1


@pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning")  # the odd bags are alike
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
    scores = [model.fit(odd, y, sample_weight=w).score(X[4:], y[4:]) for w in (tiny, none)]
    # Folds differ by four bags of 120: that moves a few bags beside the boundary.
    assert scores[1] > 0.9
    assert abs(scores[0] - scores[1]) < 0.05


@pytest.mark.parametrize("rates", [(1, 1, 1), (6, 2, 1)])
def test_balanced_counts_positives_like_the_rest(draw: Draw, rates: tuple[int, ...]) -> None:
    bags, _ = draw(90)
    y = np.resize(np.repeat([0, 1, 2], rates), 90)
    model = PooledClassifier(ridge=0.1, standardize=False, class_weight="balanced").fit(bags, y)
    F = np.stack([bag.mean(axis=0) for bag in bags])
    oracle = LogisticRegression(
        C=1 / (0.1 * 90), tol=1e-10, solver="newton-cholesky", class_weight="balanced"
    )
    expected = np.stack([oracle.fit(F, y == c).decision_function(F) for c in range(3)], axis=1)
    # Both stop at a relative gradient of 1e-8.
    np.testing.assert_allclose(model.decision_function(bags), expected, atol=1e-6)
    plain = PooledClassifier(ridge=0.1, standardize=False).fit(bags, y)
    assert np.abs(plain.decision_function(bags) - expected).min() > 0.1


def test_weights_reach_the_last_step_of_a_pipeline() -> None:
    X, y = np.random.default_rng(0).standard_normal((40, 4, 3)), np.arange(40) % 2
    X[y == 1, 0, 0] += 3
    weight = np.random.default_rng(1).integers(1, 4, 40).astype(float)
    inner = make_pipeline(BagPooling(), LogisticRegression())
    model = BagClassifier([("own", Pipeline([("all", inner)]))], class_weight={0: 1, 1: 1})
    own = model.fit(X, y, sample_weight=weight).members_["own"]
    rows = X.mean(axis=1)
    # Weights of two classes count within each: their sums are the numbers of bags they amount to.
    scaled = weight.copy()
    for c in range(2):
        one = weight[y == c]
        scaled[y == c] *= one.sum() / np.square(one).sum()
    expected = LogisticRegression().fit(rows, y, scaled)
    np.testing.assert_allclose(own[-1][-1].coef_, expected.coef_, rtol=1e-5)
    refused = make_pipeline(BagPooling(), KNeighborsClassifier())
    with pytest.raises(InvalidInput, match=r"a member must be fitted .*; got 'KNeighborsClassif"):
        BagClassifier([("own", refused)]).fit(X, y, sample_weight=weight)
    BagClassifier([("own", refused)]).fit(X, y, sample_weight=np.full(40, 2.0))  # all alike
