"""The rows of the experiment."""

from __future__ import annotations

import dataclasses

from sparsetoken import presets
from sparsetoken.experiments.rows import Measured, Predicted

_BASE = presets.anti_alignment()


@dataclasses.dataclass(frozen=True)
class Place:
    """A place of one of the two maps.

    Attributes
    ----------
    panel : str
        The map: rate (over positive_rate and strength) or step (over eta_b and alpha0).
    positive_rate, strength, eta_b, alpha0 : float
    """

    panel: str
    positive_rate: float = _BASE.problem.positive_rate
    strength: float = _BASE.problem.strength
    eta_b: float = _BASE.query.eta_b
    alpha0: float = _BASE.query.alpha0

    @property
    def along(self) -> float:
        """The coordinate along the boundary: the positive rate, or alpha0."""
        return self.positive_rate if self.panel == "rate" else self.alpha0

    @property
    def across(self) -> float:
        """The coordinate that crosses the boundary: the strength, or eta_b."""
        return self.strength if self.panel == "rate" else self.eta_b


@dataclasses.dataclass(frozen=True)
class Cell:
    """The predicted cosine of the query at a cell of a map."""

    place: Place
    cosine: Predicted


@dataclasses.dataclass(frozen=True)
class Edge:
    """Where the predicted cosine is 0.

    Attributes
    ----------
    panel : str
    along : float
        Coordinate along the boundary.
    across : Predicted
        Coordinate across it, at which the sign changes.
    """

    panel: str
    along: float
    across: Predicted


@dataclasses.dataclass(frozen=True)
class SmallStepEdge:
    """The strength at which the sign changes, in the limit of small steps.

    Attributes
    ----------
    positive_rate : float
    condition : float
        By the small-step condition.
    tiny_steps : Predicted
        By the sign condition with tiny steps.
    """

    positive_rate: float
    condition: float
    tiny_steps: Predicted


@dataclasses.dataclass(frozen=True)
class Trials:
    """Predicted and measured cosine at a place beside the boundary."""

    place: Place
    predicted: Predicted
    measured: Measured


@dataclasses.dataclass(frozen=True)
class SmallStepTrials(Trials):
    """The same with small steps, at a multiple of the strength of the small-step condition."""
