"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Theory:
    """The predicted test error among tokens of a covariance.

    Attributes
    ----------
    change : str
        What is changed: between, the size of the covariance that the tokens of a sample share;
        or decay, the power by which the eigenvalues of the covariance within samples fall.
    value : float
        Its value.
    classifier : str
        pooled, attention, or whitened for attention on whitened tokens.
    test_error : Predicted
    """

    change: str
    value: float
    classifier: str
    test_error: Predicted


@dataclasses.dataclass(frozen=True)
class Simulated:
    """The measured test error; columns as in `Theory`."""

    change: str
    value: float
    classifier: str
    test_error: Measured
