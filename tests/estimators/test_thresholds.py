"""Thresholds by probability and by sensitivity, and those of scikit-learn for other aims."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import make_scorer
from sklearn.model_selection import FixedThresholdClassifier, TunedThresholdClassifierCV

from sparsetoken import BagClassifier
from sparsetoken.bags import Bags, as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import PooledClassifier
from sparsetoken.estimators.thresholds import threshold_of

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
    # The bag at the threshold is found, but for rounding.
    found = left_out(model) >= model.threshold_ * (1 - ROUNDING)
    assert share <= found[y].mean() < share + 2 / y.sum()


def test_weights_count_in_the_share() -> None:
    chances, weight = np.array([0.9, 0.6, 0.3]), np.array([1.0, 1.0, 8.0])
    assert threshold_of({"sensitivity": 0.2}, chances, weight) == 0.6
    assert threshold_of({"sensitivity": 0.3}, chances, weight) == 0.3


def test_scikit_learn_tunes_a_threshold_for_costs(weak: tuple) -> None:
    """A bag of the second class that is missed costs nine times as much as a false alarm."""
    X, names, _ = weak

    def gain(truth: np.ndarray, predicted: np.ndarray) -> float:
        return -float(np.where(truth == "yes", 9, 1)[truth != predicted].sum())

    tuned = TunedThresholdClassifierCV(PooledClassifier(), scoring=make_scorer(gain), cv=3)
    tuned.fit(as_bags(X), names)
    usual = PooledClassifier().fit(X, names)
    assert tuned.best_threshold_ < 0.4
    assert gain(names, tuned.predict(X)) > gain(names, usual.predict(X))


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
        {"sensitivity": True},
        {"sensitivity": 0.9, "specificity": 0.9},
        {"recall": 0.9},
        {"costs": {"no": 1, "yes": 9}},
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
