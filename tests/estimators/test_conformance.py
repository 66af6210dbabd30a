"""The rules of scikit-learn, checked by scikit-learn."""

import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sparsetoken import estimators
from sparsetoken.estimators import (
    AttentionClassifier,
    BagPooling,
    PooledForestClassifier,
    PooledLinearClassifier,
    TokenNormalScores,
    TokenTransformer,
)

KINDS = [getattr(estimators, name) for name in estimators.__all__]
EVERY = [
    kind()
    for kind in KINDS
    if not issubclass(kind, (Warning, TokenTransformer, PooledForestClassifier))
]
OTHERS = [
    TokenTransformer(StandardScaler()),
    TokenNormalScores(-3.0),
    PooledForestClassifier(10),
    BagPooling("sum"),
    BagPooling("max"),
    PooledLinearClassifier(ridge=0.1, loss="hinge", class_weight="balanced"),
    AttentionClassifier(2.0, loss="square", standardize=False, class_weight="balanced"),
]


# Copies of a bag are other bags to leave-one-out and to a bootstrap; its weight is left out whole.
COPIES = {"check_sample_weight_equivalence_on_dense_data": "choices keep the copies together"}


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.TableWarning")
@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
@pytest.mark.parametrize("estimator", EVERY + OTHERS, ids=str)
def test_scikit_learn_finds_nothing_wrong(estimator: BaseEstimator) -> None:
    chooses = (
        not isinstance(estimator, TransformerMixin)
        and getattr(estimator, "ridge", "auto") == "auto"
    )
    check_estimator(estimator, on_skip=None, expected_failed_checks=COPIES if chooses else {})
