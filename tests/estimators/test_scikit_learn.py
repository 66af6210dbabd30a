"""The habits of scikit-learn: pipelines, searches, weights, copies, over ragged bags."""

from collections.abc import Callable

import joblib
import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, clone
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.metrics import accuracy_score, make_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sparsetoken import AttentionClassifier, BagClassifier
from sparsetoken.bags import Bags, as_bags
from sparsetoken.estimators import (
    TokenTransformer,
    VectorizedLinearClassifier,
)

Draw = Callable[..., tuple[Bags, np.ndarray]]
GIVEN = AttentionClassifier(temperature=2.0, ridge=0.1)
SCALER = TokenTransformer(StandardScaler())
EVERY = [VectorizedLinearClassifier(), BagClassifier()]  # whose members are the others


def test_ragged_bags_in_a_pipeline_and_a_search(draw: Draw) -> None:
    bags, y = draw(90, strength=6.0)
    names = np.array(["no", "yes"])[y]
    pipeline = make_pipeline(SCALER, TokenTransformer(PCA(whiten=True)), GIVEN)
    grid = {
        "tokentransformer-2__transformer__whiten": [True, False],
        "attentionclassifier__temperature": [0.1, 2.0],
    }
    search = GridSearchCV(pipeline, grid, error_score="raise", scoring="roc_auc", cv=3)
    scores = [search.fit(X, names).best_score_ for X in (list(bags), bags)]
    assert scores[0] == scores[1]
    assert search.best_params_["attentionclassifier__temperature"] == 2
    assert search.score(bags, names) > 0.9
    assert set(search.predict(list(bags))) == {"no", "yes"}


def test_ragged_bags_in_cross_validation(draw: Draw) -> None:
    bags, y = draw(90, strength=6.0)
    found = cross_validate(GIVEN, list(bags), y, scoring=("accuracy", "neg_log_loss"), cv=3)
    folds = StratifiedKFold(3).split(np.zeros(90), y)
    slow = [clone(GIVEN).fit(bags[a], y[a]).score(bags[b], y[b]) for a, b in folds]
    assert found["test_accuracy"].tolist() == slow
    assert np.isfinite(found["test_neg_log_loss"]).all()
    with joblib.parallel_config("threading"):
        two = cross_validate(GIVEN, list(bags), y, n_jobs=2, cv=3)
    assert two["test_score"].tolist() == slow


def test_weights_are_routed(draw: Draw) -> None:
    bags, y = draw(90)
    weight = np.random.default_rng(0).uniform(0.1, 5, 90)
    with config_context(enable_metadata_routing=True):
        model = clone(GIVEN).set_fit_request(sample_weight=True)
        scoring = make_scorer(accuracy_score).set_score_request(sample_weight=True)
        found = cross_validate(
            make_pipeline(SCALER, model),
            bags,
            y,
            params={"sample_weight": weight},
            scoring=scoring,
            cv=3,
            return_estimator=True,
            error_score="raise",
        )["estimator"]
    for (train, _), one in zip(StratifiedKFold(3).split(np.zeros(90), y), found, strict=True):
        part, last = clone(SCALER).fit_transform(bags[train]), one[-1]
        expected = clone(GIVEN).fit(part, y[train], sample_weight=weight[train])
        assert np.array_equal(last.coef_, expected.coef_)
        assert not np.allclose(last.coef_, clone(GIVEN).fit(part, y[train]).coef_, rtol=1e-3)


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_bags_without_weight_do_not_count(draw: Draw, model: BaseEstimator) -> None:
    bags, y = draw(sizes=(4, 4))
    weight = (np.arange(60) % 5 > 0).astype(float)
    used = weight > 0
    expected = clone(model).fit(bags[used], y[used]).decision_function(bags)
    for scale in (1, 0.01):
        found = clone(model).fit(bags, y, sample_weight=scale * weight).decision_function(bags)
        # Rounding, before searches that end at a relative gradient of 1e-5.
        np.testing.assert_allclose(found, expected, atol=1e-4 * np.abs(expected).max())
    odd = clone(model).fit(bags, np.where(used, y, 2), sample_weight=weight)
    assert odd.classes_.tolist() == [0, 1]


@pytest.mark.parametrize("model", EVERY, ids=str)
def test_labels_of_any_kind_and_weights_of_any_size(draw: Draw, model: BaseEstimator) -> None:
    """Equal weights of any size change nothing."""
    bags, y = draw(sizes=(4, 4))
    expected = clone(model).fit(bags, y)
    kinds = [np.array(["b", "a"], object)[::-1], np.array([-1, 1]), np.array([False, True])]
    for kind, weight in zip(kinds, (1.0, 2.0, 0.3), strict=True):
        found = clone(model).fit(bags, kind[y], sample_weight=np.full(60, weight))
        assert found.n_bags_ == 60
        assert found.classes_.tolist() == kind.tolist()
        assert np.array_equal(found.predict(bags), kind[expected.predict(bags)])
        assert np.array_equal(found.predict_proba(bags), expected.predict_proba(bags))


def test_tools_that_insist_on_a_table_take_a_column_of_bags(draw: Draw) -> None:
    bags, y = draw(90, strength=6.0)
    some = BaggingClassifier(GIVEN, n_estimators=5, max_samples=0.8, random_state=0)
    column = bags.to_column()
    some.fit(column, y)
    assert some.predict_proba(column).shape == (90, 2)
    assert some.score(column, y) > 0.7
    # Each member is one fit to the bags that were drawn for it.
    weights = np.bincount(some.estimators_samples_[0], minlength=90)
    alone = clone(some.estimators_[0]).fit(bags, y, sample_weight=weights)
    np.testing.assert_allclose(
        alone.decision_function(bags), some.estimators_[0].decision_function(bags), atol=1e-9
    )


def test_a_column_is_the_bags(draw: Draw) -> None:
    for dtype in (np.float32, np.float64):
        bags = draw()[0]
        bags = bags.with_tokens(bags.tokens.astype(dtype))
        column = bags.to_column()
        assert column.shape == (len(bags), 1)
        assert as_bags(column).equals(bags)
        assert as_bags(column[::-2]).equals(bags[::-2])
        assert np.shares_memory(column[3, 0].tokens, bags.tokens)
