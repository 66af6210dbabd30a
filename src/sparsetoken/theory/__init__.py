"""The exact predictions: one file for each result."""

from sparsetoken.theory.advice import QueryWarning
from sparsetoken.theory.alignment import align, sign_margin
from sparsetoken.theory.bayes import BayesError, bayes_error
from sparsetoken.theory.capacity import capacity
from sparsetoken.theory.critical import CriticalStrength, critical_strength
from sparsetoken.theory.crossing import (
    CriticalCosine,
    QueryVerdict,
    check_query,
    critical_cosine,
)
from sparsetoken.theory.design import BestBeta, BestSplit, best_beta, best_split
from sparsetoken.theory.feature_law import FeatureLaw, feature_law
from sparsetoken.theory.growth import GrowthFit, fit_growth, growth_exponent
from sparsetoken.theory.infinite_data import Approach, approach_to_infinite_data
from sparsetoken.theory.predict import predict
from sparsetoken.theory.representation import Representation, best_error
from sparsetoken.theory.score_law import ScoreLaw
from sparsetoken.theory.sign_boundary import SignBoundary, sign_boundary, small_step_margin

__all__ = [
    "Approach",
    "BayesError",
    "BestBeta",
    "BestSplit",
    "CriticalCosine",
    "CriticalStrength",
    "FeatureLaw",
    "GrowthFit",
    "QueryVerdict",
    "QueryWarning",
    "Representation",
    "ScoreLaw",
    "SignBoundary",
    "align",
    "approach_to_infinite_data",
    "bayes_error",
    "best_beta",
    "best_error",
    "best_split",
    "capacity",
    "check_query",
    "critical_cosine",
    "critical_strength",
    "feature_law",
    "fit_growth",
    "growth_exponent",
    "predict",
    "sign_boundary",
    "sign_margin",
    "small_step_margin",
]
