"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Separable:
    """How many training sets are separable at a multiple of the capacity.

    Attributes
    ----------
    model : str
    features : int
        Feature dimension: d, or L d for the vectorized model.
    ratio : float
        alpha1 over the predicted capacity.
    alpha1 : float
    capacity : Predicted
    share : Measured
        Of separable training sets.
    """

    model: str
    features: int
    ratio: float
    alpha1: float
    capacity: Predicted
    share: Measured
