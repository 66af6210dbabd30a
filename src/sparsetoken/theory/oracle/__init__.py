"""Bayes-optimal tests and learners, and the best weights of each model."""

from sparsetoken.theory.oracle.bayes import BayesError, bayes_error
from sparsetoken.theory.oracle.growth import GrowthFit, best_growth, fit_growth, growth_exponent
from sparsetoken.theory.oracle.learning import LearningError, learning_error
from sparsetoken.theory.oracle.representation import Representation, best_error
from sparsetoken.theory.oracle.strength import CriticalStrength, critical_strength

__all__ = [
    "BayesError",
    "CriticalStrength",
    "GrowthFit",
    "LearningError",
    "Representation",
    "bayes_error",
    "best_error",
    "best_growth",
    "critical_strength",
    "fit_growth",
    "growth_exponent",
    "learning_error",
]
__dir__ = __all__.copy
