"""The rules of scikit-learn, checked by scikit-learn."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sparsetoken import estimators
from sparsetoken.estimators import (
    AttentionClassifier,
    BagPooling,
    PooledLinearClassifier,
    TokenNormalScores,
    TokenTransformer,
)

KINDS = [getattr(estimators, name) for name in estimators.__all__]
EVERY = [kind() for kind in KINDS if not issubclass(kind, Warning) and kind != TokenTransformer]
OTHERS = [
    TokenTransformer(StandardScaler()),
    TokenNormalScores(-3.0),
    BagPooling("sum"),
    BagPooling("max"),
    PooledLinearClassifier(ridge=0.1, loss="hinge", class_weight="balanced"),
    AttentionClassifier(2.0, loss="square", standardize=False, class_weight="balanced"),
]


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.TableWarning")
@pytest.mark.parametrize("estimator", EVERY + OTHERS, ids=str)
def test_scikit_learn_finds_nothing_wrong(estimator: BaseEstimator) -> None:
    check_estimator(estimator, on_skip=None)
