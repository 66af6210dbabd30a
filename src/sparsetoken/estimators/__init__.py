"""Estimators in the manner of scikit-learn for bags of embeddings.

Every estimator takes bags in any form that `sparsetoken.bags.as_bags` takes. Classifiers take a
mask in fit and predict; elsewhere convert once: ``as_bags(X, mask)``.
"""

from sparsetoken.estimators.attention import AttentionClassifier
from sparsetoken.estimators.bag_classifier import BagClassifier
from sparsetoken.estimators.elementwise import ElementwiseAttentionClassifier
from sparsetoken.estimators.inputs import PaddingWarning, TableWarning
from sparsetoken.estimators.linear import (
    MaxPooledClassifier,
    PooledLinearClassifier,
    VectorizedLinearClassifier,
)
from sparsetoken.estimators.normal_scores import TokenNormalScores
from sparsetoken.estimators.query_warning import QueryWarning
from sparsetoken.estimators.token_transformer import TokenTransformer
from sparsetoken.estimators.transformers import BagPooling, TokenPCA, TokenScaler

__all__ = [
    "AttentionClassifier",
    "BagClassifier",
    "BagPooling",
    "ElementwiseAttentionClassifier",
    "MaxPooledClassifier",
    "PaddingWarning",
    "PooledLinearClassifier",
    "QueryWarning",
    "TableWarning",
    "TokenNormalScores",
    "TokenPCA",
    "TokenScaler",
    "TokenTransformer",
    "VectorizedLinearClassifier",
]
