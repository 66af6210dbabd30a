"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken import presets
from sparsetoken.experiments.rows import Measured, Predicted

_BASE = presets.capacity()


@dataclasses.dataclass(frozen=True)
class Place:
    """A setting of the task and of the query; R = 1, pi = 1/2, k = 1.

    Attributes
    ----------
    name : str
    length, strength, cosine
        L, theta and s.
    """

    name: str = "base"
    length: int = _BASE.problem.length
    strength: float = _BASE.problem.strength
    cosine: float = _BASE.query.cosine


@dataclasses.dataclass(frozen=True)
class OnLine:
    """The predicted capacity on a line of theory.

    Attributes
    ----------
    panel : str
        The coordinate of the base that is changed: cosine, strength or length.
    x : float
        Its value.
    model : str
    capacity : Predicted
    """

    panel: str
    x: float
    model: str
    capacity: Predicted


@dataclasses.dataclass(frozen=True)
class Crossing:
    """Where on a line of theory the capacity of attention meets that of another model."""

    panel: str
    other: str
    x: Predicted


@dataclasses.dataclass(frozen=True)
class AtPlace:
    """The predicted capacity at a place that is measured."""

    place: Place
    model: str
    capacity: Predicted


@dataclasses.dataclass(frozen=True)
class Separable:
    """How many training sets are separable at one load.

    Attributes
    ----------
    place : Place
    model : str
    features : int
        d, or L d for the vectorized model.
    alpha1 : float
    share : Measured
    """

    place: Place
    model: str
    features: int
    alpha1: float
    share: Measured
