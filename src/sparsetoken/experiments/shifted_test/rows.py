"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Theory:
    """The predicted test error on data of another law.

    Attributes
    ----------
    model : str
    shift : str
        The parameter of the problem that is changed: length, positive_rate or strength.
    value : float
        Its value in the test data.
    test_error : Predicted
    """

    model: str
    shift: str
    value: float
    test_error: Predicted


@dataclasses.dataclass(frozen=True)
class Simulated:
    """The measured test error on data of another law; columns as in `Theory`."""

    model: str
    shift: str
    value: float
    test_error: Measured
