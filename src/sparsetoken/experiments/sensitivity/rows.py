"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Choice:
    """One choice of a training.

    Attributes
    ----------
    panel : str
        What is varied: sharpness (beta and alpha0), bias (eta_b and the positive rate) or
        split (alpha0 and alpha1 of a fixed total).
    positive_rate, alpha0, alpha1, beta, eta_b : float
    """

    panel: str
    positive_rate: float = 0.5
    alpha0: float = 1.0
    alpha1: float = 2.0
    beta: float = 1.0
    eta_b: float = 0.5

    @property
    def total(self) -> float:
        """All samples over the dimension; rounded, since the parts are computed from it."""
        return round(self.alpha0 + self.alpha1, 9)

    @property
    def share(self) -> float:
        """The share of the samples that find the query."""
        return self.alpha0 / (self.alpha0 + self.alpha1)


@dataclasses.dataclass(frozen=True)
class OnMap:
    """The theory at one place of a map.

    Attributes
    ----------
    choice : Choice
    test_error : Predicted
    cosine : float
        Of the query.
    """

    choice: Choice
    test_error: Predicted
    cosine: float


@dataclasses.dataclass(frozen=True)
class Floor:
    """The test error of the best learner from all samples, however they are split.

    Attributes
    ----------
    total : float
        All samples over the dimension.
    test_error : Predicted
    """

    total: float
    test_error: Predicted


@dataclasses.dataclass(frozen=True)
class Spot:
    """Theory and simulation at one place.

    Attributes
    ----------
    choice : Choice
    predicted, measured : Predicted, Measured
        Test errors.
    shift : float
        What the bias that the cosine of the query has at finite dimension may move.
    """

    choice: Choice
    predicted: Predicted
    measured: Measured
    shift: float


@dataclasses.dataclass(frozen=True)
class Best:
    """The best choice of the search.

    Attributes
    ----------
    choice : Choice
    sharpness : float
        k of the query there.
    test_error : Predicted
    status : str
        Of the search.
    """

    choice: Choice
    sharpness: float
    test_error: Predicted
    status: str


@dataclasses.dataclass(frozen=True)
class Neighbour:
    """The predicted best choice, measured against one beside it.

    Attributes
    ----------
    best, beside : Choice
    side : str
        below or above.
    gain : Measured
        Test error of the best less that of its neighbour, in trials that share their
        random numbers; positive where the neighbour is better.
    status : str
        Of the search.
    """

    best: Choice
    beside: Choice
    side: str
    gain: Measured
    status: str
