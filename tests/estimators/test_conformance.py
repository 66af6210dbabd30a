"""The rules of scikit-learn, checked by scikit-learn."""

import inspect

import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

from sparsetoken import estimators
from sparsetoken.estimators import (
    AttentionClassifier,
    BagClassifier,
    BagPooling,
    BagRegressor,
    PooledClassifier,
    TokenNormalScores,
    TokenTransformer,
)

NAMED = [getattr(estimators, name) for name in estimators.__all__]
KINDS = [one for one in NAMED if isinstance(one, type)]

# One of each way to read and to fit: the members of `BagClassifier` are the other classifiers.
REPRESENTATIVES = [
    PooledClassifier(),
    PooledClassifier(ridge=0.1, loss="hinge", class_weight="balanced"),
    AttentionClassifier(2.0, loss="square", standardize=False, class_weight="balanced"),
    pytest.param(BagClassifier(), marks=pytest.mark.slow),
    pytest.param(BagRegressor(), marks=pytest.mark.slow),
    BagPooling("max"),
    TokenNormalScores(-3.0),
    TokenTransformer(StandardScaler()),
]

# Copies of a bag are other bags to leave-one-out and to a bootstrap; its weight is left out whole.
COPIES = {"check_sample_weight_equivalence_on_dense_data": "choices keep the copies together"}


@pytest.fixture(autouse=True)
def _quick_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less of what takes most of the time of a fit, and what no rule is about."""
    fitting = "sparsetoken.estimators.fitting"
    monkeypatch.setattr(f"{fitting}.stacking.FOLDS", 2)
    monkeypatch.setattr(f"{fitting}.attention.GRID", (1.0,))


@pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")
@pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning")  # of repeated rows
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.EstimatorCheckFailedWarning")
@pytest.mark.parametrize("estimator", REPRESENTATIVES, ids=str)
def test_scikit_learn_finds_nothing_wrong(estimator: BaseEstimator) -> None:
    chooses = (
        not isinstance(estimator, TransformerMixin)
        and getattr(estimator, "ridge", "auto") == "auto"
    )
    check_estimator(estimator, on_skip=None, expected_failed_checks=COPIES if chooses else {})


@pytest.mark.parametrize("kind", KINDS)
def test_every_constructor_keeps_its_parameters_and_no_more(kind: type) -> None:
    if not issubclass(kind, Warning):
        given: dict[str, list] = {name: [] for name in inspect.signature(kind).parameters}
        kept = vars(kind(**given))
        assert kept.keys() == given.keys()
        assert all(kept[name] is value for name, value in given.items())
