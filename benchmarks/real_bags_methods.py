"""What is compared on the real sets: our classifiers, and others made of scikit-learn."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.pipeline import Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, StandardScaler

from gated_attention import GatedAttention
from real_bags_instances import FisherVectors, MaxOfTokens, instance_logistic, mi_svm
from sparsetoken import AttentionClassifier, BagClassifier
from sparsetoken.bags import Bags
from sparsetoken.estimators import BagPooling, PooledLinearClassifier, TokenNormalScores

STRENGTHS = np.logspace(-4, 2, 13)  # 1 / penalty, as scikit-learn counts


def logistic(pooling: str, random_state: int) -> Pipeline:
    """Logistic regression on pooled tokens; the penalty of least log-loss in five inner folds."""
    features = {
        "mean": BagPooling("mean"),
        "max": BagPooling("max"),
        "mean and max": make_union(BagPooling("mean"), BagPooling("max")),
        "Fisher": FisherVectors(random_state=random_state),
    }
    model = LogisticRegressionCV(
        Cs=STRENGTHS,
        cv=5,
        scoring="neg_log_loss",
        max_iter=2000,
        use_legacy_attributes=False,
        l1_ratios=(0.0,),
    )
    return make_pipeline(features[pooling], StandardScaler(), model)


def of_scores(pooling: str, random_state: int) -> Pipeline:
    """The same of normal scores of heavy-tailed columns."""
    scores = TokenNormalScores(random_state=random_state)
    return make_pipeline(scores, *logistic(pooling, random_state))


def columns(bags: Bags) -> np.ndarray:
    """Return mean, maximum and standard deviation of the columns of each bag."""
    tokens = [bags[i] for i in range(len(bags))]
    return np.stack([np.concatenate([X.mean(0), X.max(0), X.std(0)]) for X in tokens])


def forest(random_state: int) -> Pipeline:
    """Return 500 trees on pooled columns."""
    trees = RandomForestClassifier(500, random_state=random_state)
    return make_pipeline(FunctionTransformer(columns), trees)


def pooled(random_state: int) -> PooledLinearClassifier:
    """Return the linear classifier of the mean token; nothing in it is random."""
    del random_state
    return PooledLinearClassifier()


METHODS: dict[str, Callable[..., Any]] = {
    "mean, logistic": functools.partial(logistic, "mean"),
    "max, logistic": functools.partial(logistic, "max"),
    "mean and max, logistic": functools.partial(logistic, "mean and max"),
    "forest": forest,
    "scores, mean, logistic": functools.partial(of_scores, "mean"),
    "scores, mean and max, logistic": functools.partial(of_scores, "mean and max"),
    "Fisher vector, logistic": functools.partial(logistic, "Fisher"),
    "tokens, logistic, max": functools.partial(MaxOfTokens, instance_logistic),
    "mi-SVM": functools.partial(MaxOfTokens, mi_svm, (1e-3,)),
    "ABMIL": GatedAttention,  # needs PyTorch, which is no dependency
    "pooled": pooled,
    "bag": BagClassifier,
    "attention": AttentionClassifier,
}
