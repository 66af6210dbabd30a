"""Bayes-optimal tests and learners, and the best weights of each model."""

from sparsetoken.theory.oracle.bayes import BayesError, bayes_error
from sparsetoken.theory.oracle.learning import LearningError, learning_error
from sparsetoken.theory.oracle.representation import Representation, best_error
from sparsetoken.theory.oracle.strength import CriticalStrength, critical_strength

__all__ = [
    "BayesError",
    "CriticalStrength",
    "LearningError",
    "Representation",
    "bayes_error",
    "best_error",
    "critical_strength",
    "learning_error",
]
__dir__ = __all__.copy
