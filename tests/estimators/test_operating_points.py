"""Thresholds by probability, sensitivity, specificity and cost; rates of classes elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from scipy.special import logit
from sklearn.model_selection import FixedThresholdClassifier

from sparsetoken import BagClassifier
from sparsetoken.bags import Bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators.operating import threshold_of

Draw = Callable[..., tuple[Bags, np.ndarray]]
CLASSES = np.array(["no", "yes"])
ROUNDING = 1e-12  # a few steps of floating-point numbers, far below how much bags differ


@pytest.fixture(scope="module")
def weak(few_trees: None) -> tuple[Bags, np.ndarray, np.ndarray]:
    """Return bags that are hard to tell, a quarter of them of the second class, and labels."""
    rng, y = np.random.default_rng(0), np.arange(160) % 4 == 0
    X = rng.standard_normal((160, 5, 4))
    X[y, :, 0] += 0.5
    return X, CLASSES[y.astype(int)], y


def left_out(model: BagClassifier) -> np.ndarray:
    n = model.n_bags_
    return (n / (1 + np.exp(-model.left_out_scores_[:, 0])) + 1) / (n + 2)


@pytest.mark.parametrize("share", [0.5, 0.9, 1.0])
def test_a_wished_share_of_left_out_bags_is_found(weak: tuple, share: float) -> None:
    X, names, y = weak
    model = BagClassifier(threshold={"sensitivity": share}).fit(X, names)
    # The bag at the threshold is found, and with a specificity not; but for rounding.
    found = left_out(model) >= model.threshold_ * (1 - ROUNDING)
    assert share <= found[y].mean() < share + 2 / y.sum()
    model = BagClassifier(threshold={"specificity": share}).fit(X, names)
    found = left_out(model) >= model.threshold_ * (1 + ROUNDING)
    assert share <= 1 - found[~y].mean() < share + 2 / (~y).sum()


def test_weights_count_in_the_share() -> None:
    chances, positive = np.array([0.9, 0.6, 0.3, 0.2]), np.array([True, True, True, False])
    weight = np.array([1.0, 1.0, 8.0, 1.0])
    assert threshold_of({"sensitivity": 0.2}, chances, positive, weight, CLASSES) == 0.6
    assert threshold_of({"sensitivity": 0.3}, chances, positive, weight, CLASSES) == 0.3


def test_the_threshold_of_least_cost(weak: tuple) -> None:
    """Both answers cost as much in the mean at the threshold."""
    X, names, _ = weak
    model = BagClassifier(threshold={"costs": {"no": 1, "yes": 9}}).fit(X, names)
    assert model.threshold_ == pytest.approx(0.1)
    chances = model.predict_proba(X)[:, 1]
    assert (model.predict(X) == CLASSES[(chances >= 0.1).astype(int)]).all()


def test_a_number_is_that_of_scikit_learn(weak: tuple) -> None:
    X, names, _ = weak
    own = BagClassifier(threshold=0.2).fit(X, names)
    theirs = FixedThresholdClassifier(BagClassifier().fit(X, names), threshold=0.2)
    assert (own.predict(X) == theirs.predict(X)).all()
    usual = BagClassifier().fit(X, names)
    assert usual.threshold_ == 0.5
    assert (usual.predict(X) == CLASSES[(usual.decision_function(X) > 0).astype(int)]).all()


@pytest.mark.parametrize(
    "threshold",
    [
        "best",
        0,
        1.0,
        True,
        {"sensitivity": 0},
        {"sensitivity": 0.9, "specificity": 0.9},
        {"recall": 0.9},
        {"costs": {"no": 1}},
        {"costs": {"no": 1, "yes": 0}},
        {"costs": (1, 2)},
    ],
)
def test_illegal_thresholds(weak: tuple, threshold: object) -> None:
    X, names, _ = weak
    with pytest.raises(InvalidInput, match="threshold must be 'auto', a probability"):
        BagClassifier(threshold=threshold).fit(X, names)


def test_more_classes_have_no_threshold(draw: Draw) -> None:
    bags, y = draw(60, classes=3)
    with pytest.raises(InvalidInput, match="'auto' for more than two classes"):
        BagClassifier(threshold=0.3).fit(bags, y)


def test_rates_of_another_site_move_the_log_odds(weak: tuple) -> None:
    X, names, _ = weak
    usual = BagClassifier().fit(X, names)
    moved = BagClassifier(class_prior={"no": 0.9, "yes": 0.1}).fit(X, names)
    shift = logit(0.1) - logit(0.25)
    for scores in ("decision_function", None):
        before, after = (
            model.decision_function(X) if scores else model.left_out_scores_[:, 0]
            for model in (usual, moved)
        )
        np.testing.assert_allclose(after - before, shift)
    assert moved.empty_score_ == pytest.approx(logit(0.1))
    same = BagClassifier(class_prior=[0.75, 0.25]).fit(X, names)
    np.testing.assert_allclose(same.decision_function(X), usual.decision_function(X))


def test_rates_of_three_classes(draw: Draw) -> None:
    bags, y = draw(90, classes=3, strength=5.0)
    usual = BagClassifier().fit(bags, y)
    moved = BagClassifier(class_prior=[0.8, 0.1, 0.1]).fit(bags, y)
    ratio = moved.predict_proba(bags) / usual.predict_proba(bags)
    # But for the bounds that n bags set on probabilities.
    np.testing.assert_allclose(
        moved.decision_function(bags) - usual.decision_function(bags),
        np.tile(np.log([2.4, 0.3, 0.3]), (90, 1)),
    )
    assert (ratio[:, 0] > 1 - 1e-9).all()


@pytest.mark.parametrize(
    "prior", [[0.5, 0.6], [1.0, 0.0], [0.2, 0.3, 0.5], {"no": 1.0}, "even", [np.nan, 0.5]]
)
def test_illegal_rates(weak: tuple, prior: object) -> None:
    X, names, _ = weak
    with pytest.raises(InvalidInput, match="class_prior must be a rate > 0 for each"):
        BagClassifier(class_prior=prior).fit(X, names)


def test_rates_and_weights_of_classes_are_one_too_many(weak: tuple) -> None:
    X, names, _ = weak
    with pytest.raises(InvalidInput, match="None with class_prior"):
        BagClassifier(class_weight="balanced", class_prior=[0.5, 0.5]).fit(X, names)
