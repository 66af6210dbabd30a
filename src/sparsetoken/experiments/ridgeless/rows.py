"""The rows of the experiment.

Those of the square loss have the columns model, ridge and load; a load is n1 over the number
of weights. Those of hinge and logistic loss, all of attention, have the columns loss and
ratio; a ratio is alpha1 over the predicted capacity.
"""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Load:
    """Predictions for the square loss."""

    model: str
    ridge: float
    load: float
    test_error: Predicted
    training_loss: Predicted
    susceptibility: Predicted


@dataclasses.dataclass(frozen=True)
class SimulatedLoad:
    """Measurements for the square loss; their dimension is the number of weights."""

    model: str
    ridge: float
    load: float
    test_error: Measured
    training_loss: Measured


@dataclasses.dataclass(frozen=True)
class SimulatedSusceptibility:
    """The susceptibility, measured as the trace of a resolvent."""

    model: str
    ridge: float
    load: float
    susceptibility: Measured


@dataclasses.dataclass(frozen=True)
class Divergence:
    """How the susceptibility chi diverges.

    Attributes
    ----------
    model : str
    limit : Predicted
        The mean of 1/C^2, to which (load - 1) chi tends above the threshold.
    near : float
        A load just above the threshold.
    above : Predicted
        (near - 1) chi there, without a ridge.
    far : float
        A load below the threshold.
    below : Predicted
        chi there times the small ridge with which it is predicted.
    """

    model: str
    limit: Predicted
    near: float
    above: Predicted
    far: float
    below: Predicted


@dataclasses.dataclass(frozen=True)
class Margin:
    """Predictions around the capacity.

    Attributes
    ----------
    loss : str
    ratio, ridge : float
    test_error, training_loss : Predicted
    length : float
        |w| of the readout.
    capacity : Predicted
    """

    loss: str
    ratio: float
    ridge: float
    test_error: Predicted
    training_loss: Predicted
    length: float
    capacity: Predicted


@dataclasses.dataclass(frozen=True)
class SimulatedMargin:
    """Measurements around the capacity, with a small ridge that stands for none."""

    loss: str
    ratio: float
    test_error: Measured
    training_loss: Measured


@dataclasses.dataclass(frozen=True)
class Distance:
    """1 - cosine of the logistic readout with that of largest margin, on the same data."""

    ridge: float
    distance: Measured


ROWS = (
    *(Load, SimulatedLoad, SimulatedSusceptibility, Divergence),
    *(Margin, SimulatedMargin, Distance),
)
