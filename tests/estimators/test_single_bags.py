"""A class of one bag, or of one group, is fitted: its fold is scored without it."""

from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from sparsetoken import AttentionClassifier, BagClassifier
from sparsetoken.base.validation import InvalidInput
from sparsetoken.estimators import BagPooling
from sparsetoken.estimators.fitting.attention import attend
from sparsetoken.estimators.fitting.folds import fold_numbers
from sparsetoken.estimators.stack import TAKEN
from tasks_of_bags import task_of

pytestmark = pytest.mark.filterwarnings("ignore::sparsetoken.estimators.QueryWarning")

OWN = ("own", make_pipeline(BagPooling(), LogisticRegression()))


def _bags(counts: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(len(counts)), counts)
    X = rng.standard_normal((len(y), 5, 3))
    X[:, 0] += 5.0 * np.eye(len(counts), 4)[y, 1:]  # one token, in a direction of its class
    return X, y


class OneColumn(ClassifierMixin, BaseEstimator):
    """Its probabilities are those of the second class alone."""

    def fit(self, X: Any, y: Any) -> "OneColumn":
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        return np.full(len(X), 0.5)


def test_a_member_gives_a_column_for_each_class() -> None:
    X, y = _bags((15, 15))
    with pytest.raises(InvalidInput, match=r"predict_proba of OneColumn must be of shape \(\d+, 2"):
        BagClassifier(members=[("own", OneColumn())], progress=False).fit(X, y)


@pytest.mark.parametrize(
    ("counts", "grouped"),
    [
        ((15, 15, 1), True),
        ((20, 1), False),
        ((1, 1), True),
        pytest.param((15, 15, 1), False, marks=pytest.mark.slow),
        pytest.param((20, 1), True, marks=pytest.mark.slow),
        pytest.param((1, 1), False, marks=pytest.mark.slow),
        pytest.param((15, 15, 1, 1), False, marks=pytest.mark.slow),
        pytest.param((15, 15, 1, 1), True, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_a_class_of_one_bag_trains(counts: tuple[int, ...], grouped: bool) -> None:
    X, y = _bags(counts)
    groups = np.arange(len(y)) if grouped else None
    model = BagClassifier(members=[OWN], progress=False).fit(X, y, groups=groups)
    assert np.isfinite(model.left_out_scores_).all()
    assert model.classes_.tolist() == list(range(len(counts)))
    # Whatever is known of the rare class, the others are told apart.
    common = np.isin(y, [c for c, count in enumerate(counts) if count > 1])
    assert not common.any() or model.score(X[common], y[common]) >= 0.9


def test_attention_alone() -> None:
    X, y = _bags((15, 15, 1))
    model = AttentionClassifier().fit(X, y)
    assert model.score(X[y < 2], y[y < 2]) >= 0.9


def test_the_fold_of_the_only_bag_says_nothing_of_it() -> None:
    X, y = _bags((15, 1))
    folds = fold_numbers(y, 8, np.random.RandomState(0))
    assert folds.max() == 7
    scores = attend(task_of(X, 2.0 * y - 1), folds).token_scores.reshape(16, 5, 2)
    assert not scores[folds == folds[15]].any()
    assert scores[folds != folds[15]].any()


@pytest.mark.filterwarnings("ignore::sparsetoken.bags.LeakWarning")  # a class of one group
@pytest.mark.parametrize("centred", [False, True])
@pytest.mark.parametrize("count", [1, 8])
def test_the_only_group_of_a_class_is_not_known_by_its_fold(count: int, centred: bool) -> None:
    """In noise: queries that know nothing of the class give its bags no score of their own."""
    y = np.r_[np.zeros(24, int), np.ones(count, int)]
    groups = np.r_[np.arange(24) // 2, np.full(count, 99)]
    for seed in range(3):
        X = np.random.default_rng(seed).standard_normal((len(y), 6, 4))
        model = AttentionClassifier(centred=centred).fit(X, y, groups=groups)
        # Without the class there is none to answer: they have the lowest scores.
        assert model.left_out_auc_[0] <= 0.5
        assert model.gain_[0] <= 0


@pytest.mark.parametrize("member", ["prototypes", "own"])
def test_the_only_bag_of_a_class_is_not_known_by_a_constant(member: str) -> None:
    """In noise: a class rate is above or below nearly all scores of members that are too sure."""
    y = np.r_[np.zeros(24, int), 1]
    neighbours = ("own", make_pipeline(BagPooling(), KNeighborsClassifier()))
    for seed in range(4):
        X = np.random.default_rng(seed).standard_normal((25, 6, 4))
        gone = [one for one in TAKEN[1:] if one != member]
        model = BagClassifier([neighbours] * (member == "own"), progress=False, exclude=gone)
        # The bag is in the middle of the others, up to the rank of a mean: 0.7 to 0.95 before.
        assert model.fit(X, y).left_out_auc_[0] < 0.65
