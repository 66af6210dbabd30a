"""How to spend samples, how sharp to pool, and which steps to take: searches over predictions."""

from sparsetoken.theory.tuning.descents import BestDescent, best_descent
from sparsetoken.theory.tuning.one_number import BestBeta, BestSplit, best_beta, best_split
from sparsetoken.theory.tuning.training import BestTraining, best_training

__all__ = [
    "BestBeta",
    "BestDescent",
    "BestSplit",
    "BestTraining",
    "best_beta",
    "best_descent",
    "best_split",
    "best_training",
]
