"""The rules of scikit-learn, checked by scikit-learn."""

from typing import get_args

import pytest
from sklearn.base import BaseEstimator
from sklearn.utils.estimator_checks import check_estimator

from sparsetoken import (
    AttentionClassifier,
    BagClassifier,
    ElementwiseAttentionClassifier,
    PooledLinearClassifier,
    VectorizedLinearClassifier,
)
from sparsetoken.attention import ACTIVATIONS
from sparsetoken.estimators import MaxPooledClassifier, parameters
from sparsetoken.fitting.training import TRAININGS

CLASSIFIERS = [
    PooledLinearClassifier(),
    PooledLinearClassifier(ridge=0.1, loss="hinge", class_weight="balanced"),
    VectorizedLinearClassifier(),
    AttentionClassifier(),
    BagClassifier(),
    MaxPooledClassifier(),
    AttentionClassifier(presence="strict"),
    AttentionClassifier("joint", loss="square", standardize=False),
    AttentionClassifier("four_stage", temperature=1.0, split=0.5, ridge=0.1),
    ElementwiseAttentionClassifier(),
    ElementwiseAttentionClassifier("sigmoid", "reuse", temperature=1.0, ridge=0.1),
]


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.TableWarning")
@pytest.mark.parametrize("classifier", CLASSIFIERS, ids=str)
def test_scikit_learn_finds_nothing_wrong(classifier: BaseEstimator) -> None:
    check_estimator(classifier, on_skip=None)


def test_types_name_the_words_that_are_legal() -> None:
    assert set(get_args(parameters.Training)) == set(TRAININGS)
    assert set(get_args(parameters.Activation)) == set(ACTIVATIONS)
