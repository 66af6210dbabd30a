"""Estimators in the manner of scikit-learn for bags of embeddings.

Every estimator takes bags in any form that `sparsetoken.bags.as_bags` takes. Padded arrays are
converted once, by ``as_bags(X, mask)``.
"""

import importlib
from types import ModuleType

from sparsetoken.estimators.attention import AttentionClassifier
from sparsetoken.estimators.bag_classifier import BagClassifier
from sparsetoken.estimators.bag_regressor import BagRegressor
from sparsetoken.estimators.forest import PooledForestClassifier
from sparsetoken.estimators.inputs import (
    EmptyBagWarning,
    PaddingWarning,
    QueryWarning,
)
from sparsetoken.estimators.linear import PooledClassifier, VectorizedLinearClassifier
from sparsetoken.estimators.noisy_or import NoisyOrClassifier
from sparsetoken.estimators.normal_scores import TokenNormalScores
from sparsetoken.estimators.pooling import BagPooling
from sparsetoken.estimators.similarities import BagSimilarities
from sparsetoken.estimators.token_table import token_table
from sparsetoken.estimators.token_transformer import TokenTransformer

__all__ = [
    "AttentionClassifier",
    "BagClassifier",
    "BagPooling",
    "BagRegressor",
    "BagSimilarities",
    "EmptyBagWarning",
    "NoisyOrClassifier",
    "PaddingWarning",
    "PooledClassifier",
    "PooledForestClassifier",
    "QueryWarning",
    "TokenNormalScores",
    "TokenTransformer",
    "VectorizedLinearClassifier",
    "saving",
    "token_table",
]
__dir__ = __all__.copy


def __getattr__(name: str) -> ModuleType:
    if name == "saving":  # which names the estimators in turn
        return importlib.import_module(f"{__name__}.saving")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
