"""The rows of all figures: one point of one curve."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable

__all__ = ["THEORY", "Point", "curve", "select"]

THEORY = "theory"


@dataclasses.dataclass(frozen=True)
class Point:
    """One value of one curve.

    Attributes
    ----------
    curve : str
        The model, or another name of the curve.
    quantity : str
        What is measured, such as test_error.
    x : float
    value : float
    error : float
        Standard error of a simulation, numerical error of a theory.
    source : str
        theory, or the engine of a simulation: reduced or tensors.
    group : str
        The panel or figure, such as the loss.
    dimension, trials : int
        Of a simulation.
    status : str
        converged, or what stopped the computation.
    y : float
        Second coordinate, for a map.
    """

    curve: str
    quantity: str
    x: float
    value: float
    error: float = 0.0
    source: str = THEORY
    group: str = ""
    dimension: int = 0
    trials: int = 0
    status: str = "converged"
    y: float = 0.0

    @property
    def converged(self) -> bool:
        """Whether the point may be trusted."""
        return self.status == "converged" and math.isfinite(self.value)


def select(points: Iterable[Point], **wanted: object) -> list[Point]:
    """Return the points whose fields have the wanted values, sorted by x."""
    kept = (p for p in points if all(getattr(p, key) == value for key, value in wanted.items()))
    return sorted(kept, key=lambda point: point.x)


def curve(points: Iterable[Point], **wanted: object) -> tuple[list[Point], list[Point]]:
    """Return (theory, simulation) of the wanted points."""
    kept = select(points, **wanted)
    return [p for p in kept if p.source == THEORY], [p for p in kept if p.source != THEORY]
