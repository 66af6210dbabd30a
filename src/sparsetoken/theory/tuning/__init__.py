"""Searches over predictions for the best split of samples, sharpness and steps."""

from sparsetoken.theory.tuning.descents import BestDescent, best_descent
from sparsetoken.theory.tuning.training import BestTraining, best_training

__all__ = [
    "BestDescent",
    "BestTraining",
    "best_descent",
    "best_training",
]
__dir__ = __all__.copy
