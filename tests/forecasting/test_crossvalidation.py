"""Held-out predictions are those of scikit-learn; intervals are over bags, or over groups."""

import numpy as np
import pytest
from scipy.stats import binomtest, norm
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import balanced_accuracy_score, log_loss, r2_score, roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import sparsetoken as st
from sparsetoken.bags import as_bags
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import BagPooling, PooledClassifier
from sparsetoken.estimators.bag_regressor import PooledRegressor
from sparsetoken.forecasting.scores import Bootstrap, class_scores, number_scores, wilson
from sparsetoken.numerics.ranks import clustered_covariance, influences, placements

HALF = norm.isf(0.05)  # of a 90% interval, in standard errors


@pytest.fixture(scope="module")
def weak():
    """Return 90 bags that are hard to tell, two thirds of them of class a, labels, patients."""
    rng, y = np.random.default_rng(0), np.arange(90) % 3 == 0
    X = rng.standard_normal((90, 5, 4))
    X[y, :, 0] += 0.7
    order = np.argsort(y, kind="stable")  # three bags of a patient have one label
    patients = np.empty(90, int)
    patients[order] = np.arange(90) // 3
    return as_bags(X), np.where(y, "b", "a"), patients


@pytest.mark.parametrize(
    "model", [PooledClassifier(), make_pipeline(BagPooling(), LogisticRegression())], ids=str
)
def test_predictions_are_those_of_scikit_learn(weak, model):
    bags, y, _ = weak
    found = st.cross_validated(model, bags, y, random_state=3, progress=False)
    folds = StratifiedKFold(5, shuffle=True, random_state=3)
    chances = cross_val_predict(model, bags, y, cv=folds, method="predict_proba")
    np.testing.assert_array_equal(found.bags.probability, chances)
    predicted, scores = cross_val_predict(model, bags, y, cv=folds), found.bags.scores
    assert found.bags.predicted.tolist() == predicted.tolist()
    assert scores["accuracy"].value == pytest.approx(np.mean(predicted == y))
    assert scores["balanced_accuracy"].value == pytest.approx(balanced_accuracy_score(y, predicted))
    assert scores["sensitivity"].value == pytest.approx(np.mean(predicted[y == "b"] == "b"))
    assert scores["specificity"].value == pytest.approx(np.mean(predicted[y == "a"] == "a"))
    assert scores["log_loss"].value == pytest.approx(log_loss(y, chances))
    tests = [found.bags.fold == k for k in range(5)]
    areas = [roc_auc_score(y[rows], chances[rows, 1]) for rows in tests]
    assert scores["auc"].value == pytest.approx(np.mean(areas))
    assert found.groups is None
    frame = found.to_frame()
    assert frame["probability_b"].tolist() == chances[:, 1].tolist()
    assert found.positive == "b"
    assert "sensitivity (b)" in str(found)
    turned = st.cross_validated(
        model, bags, y, random_state=3, progress=False, positive="a", groups=np.arange(90)
    )
    whole = st.cross_validated(model, bags, y, random_state=3, progress=False, groups=np.arange(90))
    for by in ("bags", "groups"):
        one, other = (getattr(half, by).scores for half in (turned, whole))
        assert one["sensitivity"] == other["specificity"]
        assert one["specificity"] == other["sensitivity"]
        assert one["auc"] == other["auc"]
    assert "specificity (b)" in str(turned)
    assert "accuracy  0." in str(found).replace("balanced ", "")


def test_groups_are_whole_and_scored(weak):
    bags, y, patients = weak
    names = np.array([f"p{k:02d}" for k in patients])
    found = st.cross_validated(PooledClassifier(), bags, y, groups=names, progress=False)
    by_bag, by_group = found.bags, found.groups
    assert by_group.names.tolist() == sorted(set(names))
    for name, label, fold, row in zip(
        by_group.names, by_group.y, by_group.fold, by_group.probability, strict=True
    ):
        own = names == name
        assert set(by_bag.fold[own]) == {fold}
        assert set(y[own]) == {label}
        np.testing.assert_allclose(row, by_bag.probability[own].mean(axis=0))
    right = by_group.predicted == by_group.y
    assert by_group.scores["accuracy"] == wilson(right.mean(), 30)
    assert found.to_frame("groups")["group"].tolist() == by_group.names.tolist()
    # Of bags of a group the interval is about that of clustered errors.
    right = (by_bag.predicted == y).astype(float)
    error = np.sqrt(clustered_covariance(right[None], patients)[0, 0])
    interval = by_bag.scores["accuracy"]
    assert interval.high - interval.low == pytest.approx(2 * HALF * error, rel=0.15)


def test_fits_get_their_groups(weak):
    """A fit to the parts by hand, whose ridge is chosen with whole groups left out."""
    bags, y, patients = weak
    found = st.cross_validated(PooledClassifier(), bags, y, groups=patients, progress=False)
    train = found.bags.fold != 0
    by_hand = PooledClassifier().fit(bags[train], y[train], groups=patients[train])
    np.testing.assert_array_equal(
        found.bags.probability[~train], by_hand.predict_proba(bags[~train])
    )


def test_groups_with_several_labels_have_no_scores(weak):
    bags, y, _ = weak
    found = st.cross_validated(
        PooledClassifier(), bags, y, groups=np.arange(90) // 6, folds=3, progress=False
    )
    assert found.groups is None
    with pytest.raises(InvalidInput, match="by must be bags, or groups"):
        found.to_frame("groups")


def test_numbers_by_bag_and_by_group(weak):
    bags, _, patients = weak
    y = np.array([bag[:, 0].mean() for bag in bags]) + np.random.default_rng(1).standard_normal(90)
    found = st.cross_validated(PooledRegressor(), bags, y, groups=patients, progress=False)
    assert found.bags.scores["r2"].value == pytest.approx(r2_score(y, found.bags.predicted))
    assert found.bags.probability is None
    mean = [found.bags.predicted[patients == k].mean() for k in range(30)]
    np.testing.assert_allclose(found.groups.predicted, mean)
    error = found.groups.scores["root_mean_squared_error"].value
    assert error == pytest.approx(np.sqrt(np.mean((found.groups.y - mean) ** 2)))


def test_rare_classes_and_several(weak):
    bags, y, _ = weak
    three = np.where(np.arange(90) == 7, "c", y)  # held out, c is not known
    found = st.cross_validated(PooledClassifier(), bags, three, folds=3, progress=False)
    assert found.classes.tolist() == ["a", "b", "c"]
    assert found.bags.predicted[7] != "c"
    assert found.bags.probability[7, 2] == 0
    assert set(found.bags.scores) == {"accuracy", "balanced_accuracy", "auc", "log_loss"}
    alone = st.cross_validated(PooledClassifier(), bags, np.arange(90) == 7, progress=False)
    assert alone.bags.scores["accuracy"].value == 89 / 90
    few = st.cross_validated(PooledClassifier(), bags, np.arange(90) < 3, progress=False)
    assert few.folds == 3


@pytest.mark.parametrize(("right", "n"), [(0, 10), (7, 10), (10, 10), (45, 90)])
def test_shares_have_wilsons_interval(right, n):
    expected = binomtest(right, n).proportion_ci(0.9, method="wilson")
    found = wilson(right / n, n)
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
    over = Bootstrap(2 * n, np.arange(2 * n), 0)  # groups of one bag
    rows = np.arange(2 * n) < n
    found = over.share(np.arange(2 * n) < right, rows)
    if 0 < right < n:  # percentiles of a bootstrap have steps of one bag
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=0.11)
    else:
        assert (found.low, found.high) == pytest.approx((expected.low, expected.high))


def test_intervals_of_aucs_and_numbers_are_of_their_standard_errors():
    rng, y = np.random.default_rng(0), np.arange(2000) % 2
    z = y + rng.standard_normal(2000)
    chances = 1 / (1 + np.exp(-z))
    placed, over = placements(z, y == 1), Bootstrap(2000, None, 0)
    found = class_scores(
        y, (z > 0.5).astype(int), np.stack([1 - chances, chances], axis=1), placed[:, None], over
    )
    error = influences(placed, y == 1).std() / np.sqrt(2000)
    width = found["auc"].high - found["auc"].low
    assert width == pytest.approx(2 * HALF * error, rel=0.1)  # of a thousand samples
    assert found["auc"].value == pytest.approx(roc_auc_score(y, z))
    moved = number_scores(y + 1e8, z + 1e8, over)  # no digits cancel
    assert moved["r2"].value == pytest.approx(r2_score(y, z), abs=1e-6)
    placed = placements(3.0 * y, y == 1)
    sure = class_scores(y, y, np.eye(2)[y], placed[:, None], over)
    assert sure["auc"] == sure["balanced_accuracy"] == wilson(1.0, 1000)
    equal = number_scores(np.ones(2000), z, over)
    assert np.isnan(equal["r2"].value)


def test_refusals(weak):
    bags, y, _ = weak
    no_chances = make_pipeline(BagPooling(), LinearSVC())
    for model in (no_chances, BagPooling()):
        with pytest.raises(InvalidInput, match="classifier with predict_proba"):
            st.cross_validated(model, bags, y)
    with pytest.raises(InvalidInput, match="folds must be an integer >= 2"):
        st.cross_validated(PooledClassifier(), bags, y, folds=1)
    for labels, groups, told in (
        (np.arange(90), None, "90 classes, each in one bag"),
        (y, y, "2 classes, each in one group"),
    ):
        with pytest.raises(InvalidInput, match=told):
            st.cross_validated(PooledClassifier(), bags, labels, groups=groups)


def test_the_positive_class_is_that_of_the_model(weak, monkeypatch):
    bags, y, _ = weak
    model = PooledClassifier()
    monkeypatch.setattr(PooledClassifier, "positive", "a", raising=False)
    assert st.cross_validated(model, bags, y, folds=2, progress=False).positive == "a"
    found = st.cross_validated(model, bags, y, folds=2, progress=False, positive="b")
    assert found.positive == "b"
    with pytest.raises(InvalidInput, match="positive must be one of the two classes, 'a' or 'b'"):
        st.cross_validated(model, bags, y, positive="c", progress=False)
    three = np.array(list("abc"))[np.arange(90) % 3]
    monkeypatch.undo()
    assert st.cross_validated(model, bags, three, folds=2, progress=False).positive is None


def test_groups_are_called_by_the_threshold_of_their_bags():
    rng, groups = np.random.default_rng(0), np.arange(60) // 2
    y, X = groups % 2, rng.standard_normal((60, 4, 3))
    X[:, 0, 0] += 2.0 * y
    model = st.BagClassifier(threshold=0.9, progress=False)
    found = st.cross_validated(model, X, y, groups=groups, folds=3).groups
    np.testing.assert_array_equal(found.predicted, found.probability[:, 1] >= 0.9)
    assert (found.predicted != found.probability.argmax(axis=1)).any()


def test_groups_are_predicted_by_the_threshold_of_the_model(weak):
    bags, y, patients = weak
    gone = ["forest", "prototypes", "attention", "maxima", "statistics"]
    model = st.BagClassifier(threshold=0.2, positive="a", exclude=gone, progress=False)
    found = st.cross_validated(model, bags, y, groups=patients, folds=2, progress=False)
    chances, predicted = found.groups.probability[:, 0], found.groups.predicted
    assert np.mean((chances >= 0.2) & (chances < 0.5)) > 0
    assert predicted.tolist() == np.where(chances >= 0.2, "a", "b").tolist()
