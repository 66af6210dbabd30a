"""The rules of scikit-learn, checked by scikit-learn."""

import inspect
from collections.abc import Callable

import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from sparsetoken import estimators
from sparsetoken.estimators import (
    AttentionClassifier,
    BagClassifier,
    BagRegressor,
    BagSimilarities,
    PooledClassifier,
    TokenTransformer,
)

NAMED = [getattr(estimators, name) for name in estimators.__all__]
KINDS = [one for one in NAMED if isinstance(one, type) and issubclass(one, BaseEstimator)]
AVERAGES = (BagClassifier, BagRegressor)  # of all others, whose checks take a minute
MORE = [
    TokenTransformer(StandardScaler()),
    PooledClassifier("statistics", ridge=0.1, loss="hinge", class_weight="balanced"),
    AttentionClassifier(2.0, loss="square", standardize=False, class_weight="balanced"),
]

# Copies of a bag are other bags to leave-one-out and to a bootstrap; its weight is left out whole.
COPIES = {"check_sample_weight_equivalence_on_dense_data": "choices keep the copies together"}


def copies(estimator: BaseEstimator) -> dict[str, str]:
    """Return the checks that an estimator is expected to fail: whatever is left out, copies are."""
    if isinstance(estimator, BagSimilarities):
        return dict.fromkeys(COPIES, "k-means starts from random tokens")
    chooses = getattr(estimator, "ridge", "auto") == "auto"
    return {} if isinstance(estimator, TransformerMixin) or not chooses else COPIES


@pytest.fixture(autouse=True)
def _quick_fits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Less of what takes most of the time of a fit, and what no rule is about."""
    fitting = "sparsetoken.estimators.fitting"
    monkeypatch.setattr(f"{fitting}.stacking.FOLDS", 2)
    monkeypatch.setattr(f"{fitting}.attention.GRID", (1.0,))


pytestmark = [
    pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning"),
    pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning"),  # of repeated rows
]


@parametrize_with_checks(
    [kind() for kind in KINDS if kind not in (*AVERAGES, TokenTransformer)] + MORE,
    expected_failed_checks=copies,
)
def test_scikit_learn_finds_nothing_wrong(estimator: BaseEstimator, check: Callable) -> None:
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([kind() for kind in AVERAGES], expected_failed_checks=copies)
def test_scikit_learn_finds_nothing_wrong_with_averages(
    estimator: BaseEstimator, check: Callable
) -> None:
    check(estimator)


@pytest.mark.parametrize("kind", KINDS)
def test_every_constructor_keeps_its_parameters_and_no_more(kind: type) -> None:
    given: dict[str, list] = {name: [] for name in inspect.signature(kind).parameters}
    kept = vars(kind(**given))
    assert kept.keys() == given.keys()
    assert all(kept[name] is value for name, value in given.items())
