"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken.experiments.rows import Measured


@dataclasses.dataclass(frozen=True)
class Forecasted:
    """A forecast test error with its 90% interval.

    Attributes
    ----------
    set : str
    given : bool
        Whether the set was given, or else constructed.
    model : str
        pooled or attention.
    pilot, pilot_bags : int
        Number of the pilot, and how many bags it has.
    bags : int
        Labelled bags that the forecast is for.
    error, low, high : float
    """

    set: str
    given: bool
    model: str
    pilot: int
    pilot_bags: int
    bags: int
    error: float
    low: float
    high: float


@dataclasses.dataclass(frozen=True)
class Simulated:
    """The test error measured on other bags; columns as in `Forecasted`."""

    set: str
    given: bool
    model: str
    bags: int
    test_error: Measured


@dataclasses.dataclass(frozen=True)
class LeftOut:
    """A set that was given and cannot be forecast, and why."""

    set: str
    reason: str
