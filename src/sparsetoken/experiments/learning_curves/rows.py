"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted

QUANTITIES = ("test_error", "training_loss", "training_error", "auc")


@dataclasses.dataclass(frozen=True)
class Theory:
    """Predictions where a simulation is compared with them.

    Attributes
    ----------
    model, loss : str
    alpha1 : float
    test_error, training_loss, training_error, auc : Predicted
    """

    model: str
    loss: str
    alpha1: float
    test_error: Predicted
    training_loss: Predicted
    training_error: Predicted
    auc: Predicted


@dataclasses.dataclass(frozen=True)
class OnLine(Theory):
    """Predictions on the line between, to a larger tolerance; columns as in `Theory`."""


@dataclasses.dataclass(frozen=True)
class Simulated:
    """Measured means; columns as in `Theory`."""

    model: str
    loss: str
    alpha1: float
    test_error: Measured
    training_loss: Measured
    training_error: Measured
    auc: Measured


@dataclasses.dataclass(frozen=True)
class Effect:
    """The predicted test error of attention with another query.

    Attributes
    ----------
    varied : str
        What is varied: alpha0 or sharpness.
    value : float
        Its value.
    alpha1 : float
    test_error : Predicted
    """

    varied: str
    value: float
    alpha1: float
    test_error: Predicted


@dataclasses.dataclass(frozen=True)
class BestLearner:
    """The floor under every learner on D0 and D1.

    Attributes
    ----------
    alpha1 : float
    test_error : Predicted
    """

    alpha1: float
    test_error: Predicted
