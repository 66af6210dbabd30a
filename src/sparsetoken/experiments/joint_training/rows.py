"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted

QUANTITIES = ("test_error", "training_loss", "cosine")


@dataclasses.dataclass(frozen=True)
class AtStep:
    """The predicted course of a descent at one step.

    Attributes
    ----------
    ratio : float
        eta_q / eta_w.
    start : float
        Length of query and readout before the first step.
    step : int
    test_error, training_loss, cosine : Predicted
    """

    ratio: float
    start: float
    step: int
    test_error: Predicted
    training_loss: Predicted
    cosine: Predicted


@dataclasses.dataclass(frozen=True)
class Followed:
    """Means over trials of one engine at one step; columns as in `AtStep`.

    Attributes
    ----------
    rise : Measured
        The test error after the last step less that at this one, in the same trial.
    fall : Measured
        The training loss at this step less that after the last one, in the same trial.
    """

    ratio: float
    start: float
    step: int
    test_error: Measured
    training_loss: Measured
    cosine: Measured
    rise: Measured
    fall: Measured
