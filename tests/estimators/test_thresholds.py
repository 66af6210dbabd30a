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
    assert model.threshold_ == pytest.approx(sensitive(share, left_out(model), y), rel=1e-12)
    found = left_out(model) >= model.threshold_
    assert share <= found[y].mean() < share + 4 / y.sum()  # one more, and those down to the middle


def sensitive(share: float, chances: np.ndarray, y: np.ndarray, **more: np.ndarray) -> float:
    weight = more.pop("weight", np.ones(len(y)))
    return threshold_of({"sensitivity": share}, chances, y, weight, **more)


@pytest.mark.parametrize(("n", "share"), [(10, 0.8), (20, 0.9), (40, 0.9)])
def test_a_new_bag_is_found_with_the_wished_probability(n: int, share: float) -> None:
    """Of n uniform scores that of rank k is exceeded by a share k / (n + 1) of new ones.

    Negative scores so close together that the middle of a gap is its end. The rank n s finds .727,
    .857 and .878 in place of .8, .9 and .9; the standard error of 4000 draws is .002.
    """
    rng = np.random.default_rng(0)
    negative, y = np.linspace(0, 1, 20001), np.arange(n + 20001) < n
    drawn = [np.concatenate([rng.random(n), negative]) for _ in range(400)]
    found = np.mean([1 - sensitive(share, chances, y) for chances in drawn])
    rank = np.ceil(share * (n + 1))
    assert found == pytest.approx(rank / (n + 1), abs=0.02)  # three standard errors of 400
    assert found > share - 0.02


def test_the_threshold_is_in_the_middle_of_a_gap() -> None:
    chances = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.65, 0.2, 0.1])
    y = np.arange(8) < 5
    assert sensitive(0.5, chances, y) == (0.7 + 0.65) / 2  # rank 3 of 5
    assert sensitive(0.6, chances, y) == (0.6 + 0.2) / 2  # rank 4
    assert sensitive(0.9, chances, y) == (0.5 + 0.2) / 2  # rank 6, of which there is none
    assert sensitive(1.0, chances[:6], y[:6]) == 0.25  # and none below: of all negatives none


def test_weights_and_groups_count_in_the_share() -> None:
    rng = np.random.default_rng(0)
    chances, y = rng.random(20), np.arange(20) % 2 == 0
    once = sensitive(0.77, chances, y)  # rank 9 of 10
    assert sensitive(0.77, chances, y, weight=np.full(20, 7.0)) == once
    assert sensitive(0.77, chances, y, groups=np.arange(20)) == once
    # Three copies of each bag tell what one does if they are of one group: else 24 of 30 are found.
    copies = np.repeat(np.arange(20), 3)
    assert sensitive(0.77, chances[copies], y[copies], groups=copies) == once
    assert sensitive(0.77, chances[copies], y[copies]) > once
    # Bags of hardly any weight are none.
    few = ~y | (rng.random(20) < 0.6)
    weight = np.where(few, 1.0, 1e-9)
    assert sensitive(0.5, chances, y, weight=weight) == sensitive(0.5, chances[few], y[few])


def test_separated_classes_are_found_on_new_bags() -> None:
    """Of 30 bags of a class the score of rank 27 was exceeded by .87 of new ones."""
    shares = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.standard_normal((360, 6, 4)), np.arange(360) % 2 == 0
        X[y, 0, 0] += 8.0
        model = BagClassifier(threshold={"sensitivity": 0.9}, progress=False)
        predicted = model.fit(X[:60], y[:60]).predict(X[60:])
        shares.append(predicted[y[60:]].mean())
        assert predicted[~y[60:]].mean() < 0.05
    assert np.mean(shares) > 0.97


@pytest.mark.parametrize("threshold", ["auto", 0.2, {"sensitivity": 0.9}])
def test_the_positive_class_is_the_one_that_is_named(weak: tuple, threshold: object) -> None:
    X, names, y = weak
    usual = BagClassifier(threshold=threshold).fit(X, names)
    model = BagClassifier(threshold=threshold, positive="no").fit(X, names)
    assert model.classes_.tolist() == ["no", "yes"]
    chances = model.predict_proba(X)
    np.testing.assert_array_equal(chances, usual.predict_proba(X))
    wanted = {"auto": 0.5}.get(str(threshold), 0.2)
    if isinstance(threshold, dict):
        wanted = sensitive(0.9, 1 - left_out(model), ~y)
    assert model.threshold_ == pytest.approx(wanted)
    assert ((model.predict(X) == "no") == (chances[:, 0] >= model.threshold_)).all()
    assert ((usual.predict(X) == "yes") == (chances[:, 1] >= usual.threshold_)).all()
    assert "Predicted no, the positive class, from a probability" in model.summary()
    assert "Predicted yes, the positive class, from a probability" in usual.summary()


def test_a_positive_class_that_is_none_is_refused(weak: tuple, draw: Draw) -> None:
    X, names, _ = weak
    with pytest.raises(InvalidInput, match="positive must be one of the two classes, 'no' or 'yes"):
        BagClassifier(positive="maybe").fit(X, names)
    bags, y = draw(60, classes=3)
    with pytest.raises(InvalidInput, match="positive must be None for 3 classes; got 1"):
        BagClassifier(positive=1).fit(bags, y)


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
