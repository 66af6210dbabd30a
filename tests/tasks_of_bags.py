"""Two-class problems and regressions of bags, for tests of fits."""

from typing import Any

import numpy as np

from sparsetoken.bags import as_bags
from sparsetoken.estimators.fitting.standard_tokens import StandardTokens
from sparsetoken.estimators.fitting.targets import Samples
from sparsetoken.estimators.fitting.task import Task
from sparsetoken.losses import get_loss


def task_of(
    bags: Any,
    y: np.ndarray,
    weight: np.ndarray | None = None,
    loss: str = "logistic",
    ridge: Any = "auto",
    rescale: bool = False,
    standardize: bool = True,
) -> Task:
    """Return the task of labels in {-1, 1}, or of numbers."""
    flat, ones = as_bags(bags), np.ones(len(y))
    weight = ones if weight is None else weight
    tokens = StandardTokens.of(flat, weight, standardize)
    return Task(tokens, Samples(y, weight, ones), get_loss(loss), ridge, rescale)
