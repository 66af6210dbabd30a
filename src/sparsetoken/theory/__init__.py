"""The exact predictions: one file for each result."""

from sparsetoken.theory.alignment import align, sign_margin
from sparsetoken.theory.capacity import capacity
from sparsetoken.theory.feature_law import FeatureLaw, feature_law
from sparsetoken.theory.predict import predict
from sparsetoken.theory.score_law import ScoreLaw

__all__ = [
    "FeatureLaw",
    "ScoreLaw",
    "align",
    "capacity",
    "feature_law",
    "predict",
    "sign_margin",
]
