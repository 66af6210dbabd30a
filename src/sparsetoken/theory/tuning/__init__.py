"""Searches over predictions for the best split of samples, step sizes, sharpness and ridge."""

from sparsetoken.theory.tuning.training import BestTraining, best_training

__all__ = [
    "BestTraining",
    "best_training",
]
__dir__ = __all__.copy
