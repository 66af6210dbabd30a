"""The rows of the experiment: of the query (setting, alpha0), and of the data (model, alpha1)."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured, Predicted


@dataclasses.dataclass(frozen=True)
class Gap:
    """The predicted 1 - |s| of the query."""

    setting: str
    alpha0: float
    gap: Predicted


@dataclasses.dataclass(frozen=True)
class MeasuredGap:
    """The measured 1 - |s| of the query."""

    setting: str
    alpha0: float
    gap: Measured


@dataclasses.dataclass(frozen=True)
class Rate:
    """The predicted C of 1 - |s| = C/alpha0 + o(1/alpha0).

    Attributes
    ----------
    setting : str
    rate : Predicted
    away : bool
        Whether the query turns away from the signal.
    """

    setting: str
    rate: Predicted
    away: bool


@dataclasses.dataclass(frozen=True)
class Excess:
    """The predicted test error above its limit of infinite data."""

    model: str
    alpha1: float
    excess: Predicted


@dataclasses.dataclass(frozen=True)
class MeasuredExcess:
    """The measured test error less its predicted limit; the dimension counts weights."""

    model: str
    alpha1: float
    excess: Measured


@dataclasses.dataclass(frozen=True)
class Approach:
    """The limit of infinite data, and the rate of first-order theory."""

    model: str
    limit: Predicted
    rate: Predicted


@dataclasses.dataclass(frozen=True)
class Abundant:
    """The measured test error at so many samples that a line in 1/load leads to the limit.

    Attributes
    ----------
    model : str
    load : float
        Samples over weights.
    test_error : Measured
        The dimension counts weights.
    """

    model: str
    load: float
    test_error: Measured
